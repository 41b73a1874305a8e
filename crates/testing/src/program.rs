//! Test programs that start themselves again.

use std::process::Command;

/// The words before a test program where it is for another machine: an emulator and its options. `cargo xtask targets --run` sets it.
const RUNNER: &str = "TERRACE_TEST_RUNNER";

/// The call that starts this test program again, without arguments.
///
/// # Panics
/// If the program has no path.
#[must_use]
pub fn this_program() -> Command {
    let program = std::env::current_exe().expect("a test program has a path");
    let runner = std::env::var(RUNNER).unwrap_or_default();
    let mut words = runner.split_whitespace();
    match words.next() {
        None => Command::new(program),
        Some(emulator) => {
            let mut command = Command::new(emulator);
            command.args(words).arg(program);
            command
        }
    }
}

/// Runs `command` to its end, and shows what it prints if it fails.
///
/// # Panics
/// If it fails, or cannot be started.
#[track_caller]
pub fn succeeds(name: &str, command: &mut Command) {
    let ended = command.output().expect("a process can be started");
    assert!(
        ended.status.success(),
        "{name}: {}\n{}{}",
        ended.status,
        String::from_utf8_lossy(&ended.stdout),
        String::from_utf8_lossy(&ended.stderr),
    );
}
