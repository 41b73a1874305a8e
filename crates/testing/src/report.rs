//! A report on a process that hangs.

use std::fs;
use std::io::Write as _;
use std::process::Command;

use crate::watchdog::Describe;

/// How many frames of each stack are shown.
const FRAMES: &str = "thread apply all backtrace 40";
/// How long gdb may take.
const GDB_SECONDS: &str = "20";

/// Writes past the test harness, which captures what is printed by macros and loses it when the process aborts.
pub(crate) fn write(text: &str) {
    // If this write fails, there is no other place for the report.
    let _written = std::io::stderr().write_all(text.as_bytes());
}

/// Name, state, and place in the kernel, of each thread, as far as the system tells.
pub(crate) fn threads() {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else {
        return;
    };
    write("threads:\n");
    for task in tasks.flatten() {
        let read = |file| fs::read_to_string(task.path().join(file)).unwrap_or_default();
        let status = read("status");
        let state = status.lines().find_map(|line| line.strip_prefix("State:"));
        write(&format!(
            "  {} {:16} {} in {}\n",
            task.file_name().to_string_lossy(),
            read("comm").trim(),
            state.unwrap_or("?").trim(),
            read("wchan").trim(),
        ));
    }
}

/// What all executors of the process do, if it has any.
pub(crate) fn executors() {
    if let Some(report) = terrace_sync::report::make() {
        write(&report);
    }
}

/// The values that the test wants in the report.
pub(crate) fn values(shown: &[Describe]) {
    for describe in shown {
        write(&format!("{}\n", describe()));
    }
}

/// The stacks of all threads, by gdb if there is one. It stops the process while it looks, so another process limits its time.
pub(crate) fn stacks() {
    let output = Command::new("timeout")
        .args([
            GDB_SECONDS,
            "gdb",
            "-nx",
            "-batch",
            "-p",
            &std::process::id().to_string(),
        ])
        .args(["-ex", "set print frame-arguments none", "-ex", FRAMES])
        .output();
    match output {
        Ok(output) if !output.stdout.is_empty() => {
            let text = String::from_utf8_lossy(&output.stdout);
            let is_stack = |line: &&str| line.starts_with('#') || line.starts_with("Thread ");
            for line in text.lines().filter(is_stack) {
                write(&format!("{line}\n"));
            }
        }
        _ => write("no stacks: gdb is not here\n"),
    }
}
