//! Ends a scenario that hangs, and says what every thread was doing.

use std::fs;
use std::process::{Command, exit};
use std::thread;
use std::time::Duration;

/// The exit code of a scenario that did not end.
const STALLED: i32 = 124;

/// Gives the process `limit` from now.
pub(crate) fn start(limit: Duration) {
    thread::Builder::new()
        .name("watchdog".to_owned())
        .spawn(move || {
            thread::sleep(limit);
            eprintln!("STALLED: not done after {limit:?}; the threads:");
            dump_threads();
            dump_stacks();
            exit(STALLED);
        })
        .expect("the watchdog's thread starts");
}

/// Name, state, and where in the kernel, of each thread (as far as the system tells).
fn dump_threads() {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else {
        eprintln!("  (this system has no /proc/self/task)");
        return;
    };
    for task in tasks.flatten() {
        let read = |file| fs::read_to_string(task.path().join(file)).unwrap_or_default();
        let status = read("status");
        let state = status.lines().find_map(|line| line.strip_prefix("State:"));
        eprintln!(
            "  {} {:16} state {}, in {}, system call {}",
            task.file_name().to_string_lossy(),
            read("comm").trim(),
            state.unwrap_or("?").trim(),
            or_unknown(read("wchan").trim()),
            or_unknown(read("syscall").split(' ').next().unwrap_or_default()),
        );
    }
}

fn or_unknown(text: &str) -> &str {
    if text.is_empty() { "?" } else { text }
}

/// Backtraces by gdb, if there is one.
fn dump_stacks() {
    let status = Command::new("gdb")
        .args(["-nx", "-batch", "-p", &std::process::id().to_string()])
        .args(["-ex", "set print frame-arguments none"])
        .args(["-ex", "thread apply all backtrace 40"])
        .status();
    if status.is_err() {
        eprintln!("  (gdb is not here: no backtraces)");
    }
}
