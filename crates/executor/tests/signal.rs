//! `SIGUSR1` brings a dump, also in the middle of a push, and while all workers hang.
#![cfg(unix)]

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::sync::mpsc::channel;
use std::time::Duration;

use signal_hook::consts::SIGUSR1;
use signal_hook::low_level::raise;
use terrace_executor::{Builder, Executor, dump_on_signal};
use terrace_testing::{this_program, watchdog};

/// Set in the child process.
const CHILD: &str = "TERRACE_SIGNAL_CHILD";

/// The child: its only worker is blocked, and threads push and signal without end. Its parent ends it.
fn child() -> ! {
    std::mem::forget(watchdog());
    dump_on_signal().unwrap();
    let executor = Builder::new()
        .workers(1)
        .thread_name(|_| "culprit".to_owned())
        .build();
    let (started, starts) = channel();
    let hangs = async move {
        started.send(()).unwrap();
        loop {
            std::thread::park();
        }
    };
    executor.spawn(hangs).detach();
    starts.recv().unwrap();
    std::thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| pushes(&executor));
        }
        // The signal is handled on this thread: in the middle of a push.
        pushes(&executor)
    })
}

fn pushes(executor: &Executor<'static>) -> ! {
    loop {
        // Cancelled at once, so that the queue stays short enough.
        drop(
            (0..20)
                .map(|_| executor.spawn(async {}))
                .collect::<Vec<_>>(),
        );
        raise(SIGUSR1).unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_signal_brings_a_dump_while_threads_push() {
    if std::env::var_os(CHILD).is_some() {
        child();
    }
    let _watchdog = watchdog();
    let mut command = this_program();
    command.args([
        "a_signal_brings_a_dump_while_threads_push",
        "--exact",
        "--nocapture",
    ]);
    command
        .env(CHILD, "1")
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut heads = 0;
    let mut since = 0;
    for line in lines.map_while(Result::ok) {
        since += 1;
        if line.starts_with("terrace: ") {
            since = 1;
        }
        if line.contains("worker 0 (culprit)") && since <= 10 {
            heads += 1;
        }
        if heads == 20 {
            break;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(heads, 20, "the child has ended by itself");
}
