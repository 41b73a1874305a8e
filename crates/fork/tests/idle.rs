//! Idle costs nothing: once no task runs, no thread of the pool wakes any more. In a process of its own, so that the
//! threads are the pool's.

#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use terrace_executor::{Builder, block_on};
use terrace_fork::scope;
use terrace_testing::{Watchdog, signal};

/// Context switches of the threads of this name, by thread.
fn switches(name: &str) -> BTreeMap<String, u64> {
    let mut switches = BTreeMap::new();
    for task in fs::read_dir("/proc/self/task").unwrap() {
        let path = task.unwrap().path();
        let Ok(status) = fs::read_to_string(path.join("status")) else {
            continue;
        };
        if !status
            .lines()
            .next()
            .is_some_and(|line| line.ends_with(name))
        {
            continue;
        }
        let count = status
            .lines()
            .filter(|line| line.contains("ctxt_switches"))
            .filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok())
            .sum();
        switches.insert(path.display().to_string(), count);
    }
    switches
}

#[test]
fn an_idle_pool_does_not_wake() {
    // Longer than the test itself looks.
    let _watchdog = Watchdog::within(Duration::from_secs(120));
    let executor = Builder::new()
        .workers(4)
        .thread_name(|_| "idle-pool".to_owned())
        .build();
    for children in [1, 100, 1_000] {
        scope(&executor, |s| {
            for _ in 0..children {
                s.spawn(async {});
            }
        });
        block_on(executor.spawn(async {}));
    }
    see_rest("idle-pool", 4);
}

/// A child, and the body of its scope, block their threads; then the scope has children that wait.
#[test]
fn threads_that_sleep_in_a_scope_keep_no_worker_awake() {
    let _watchdog = Watchdog::within(Duration::from_secs(120));
    let executor = Builder::new()
        .workers(3)
        .thread_name(|_| "beside-sleep".to_owned())
        .build();
    scope(&executor, |s| {
        let (go_on, blocks) = channel::<()>();
        let (started, starts) = channel();
        s.spawn(async move {
            started.send(()).unwrap();
            blocks.recv().unwrap_err();
        });
        starts.recv().unwrap();
        see_rest("beside-sleep", 3);
        drop(go_on);
        for _ in 0..100 {
            s.spawn(async {});
        }
        let (signalled, signal) = signal();
        s.spawn(signalled);
        see_rest("beside-sleep", 3);
        signal.set();
    });
}

/// Waits until so many threads have this name, and none of them wakes for half a second.
fn see_rest(name: &str, threads: usize) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while switches(name).len() < threads {
        // Not every thread has set its name yet.
        thread::yield_now();
    }
    loop {
        let before = switches(name);
        thread::sleep(Duration::from_millis(500));
        if switches(name) == before {
            return;
        }
        assert!(
            Instant::now() < deadline,
            "the idle pool keeps waking: {before:?}, {:?}",
            switches(name)
        );
    }
}
