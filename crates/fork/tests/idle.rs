//! Idle costs nothing: once no task runs, no thread of the pool wakes any more. In a process of its own, so that the
//! threads are the pool's.

#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use terrace_executor::{Builder, block_on};
use terrace_fork::scope;
use terrace_testing::Watchdog;

/// Context switches of the pool's threads, by thread.
fn switches() -> BTreeMap<String, u64> {
    let mut switches = BTreeMap::new();
    for task in fs::read_dir("/proc/self/task").unwrap() {
        let path = task.unwrap().path();
        let Ok(status) = fs::read_to_string(path.join("status")) else {
            continue;
        };
        if !status
            .lines()
            .next()
            .is_some_and(|name| name.ends_with("idle-pool"))
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
    let deadline = Instant::now() + Duration::from_secs(60);
    while switches().len() < 4 {
        // Not every thread has set its name yet.
        thread::yield_now();
    }
    loop {
        let before = switches();
        thread::sleep(Duration::from_millis(500));
        if switches() == before {
            return;
        }
        assert!(
            Instant::now() < deadline,
            "the idle pool keeps waking: {before:?}, {:?}",
            switches()
        );
    }
}
