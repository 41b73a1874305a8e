//! Idle costs nothing: two seconds without work leave every thread's CPU time and context switches as they were.
//!
//! Alone in its program: other tests' threads would be seen, too.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::future::pending;
use std::thread;
use std::time::Duration;

use terrace_executor::{Builder, Executor, StaticExecutor, block_on};

const NAME: &str = "idle-worker";

/// For each thread whose name begins with `NAME`: its CPU time in ns, and its context switches of both kinds.
fn threads() -> BTreeMap<String, (String, Vec<String>)> {
    let mut threads = BTreeMap::new();
    for entry in std::fs::read_dir("/proc/self/task").unwrap() {
        let path = entry.unwrap().path();
        let Ok(name) = std::fs::read_to_string(path.join("comm")) else {
            continue;
        };
        if !name.starts_with(NAME) {
            continue;
        }
        let status = std::fs::read_to_string(path.join("status")).unwrap();
        let switches = status
            .lines()
            .filter(|line| line.contains("ctxt_switches"))
            .map(str::to_owned)
            .collect();
        // The first number is the time spent on a CPU.
        let time = std::fs::read_to_string(path.join("schedstat")).unwrap_or_default();
        let time = time.split(' ').next().unwrap_or_default().to_owned();
        threads.insert(path.display().to_string(), (time, switches));
    }
    threads
}

#[test]
fn every_kind_is_idle_for_nothing() {
    static STATIC: StaticExecutor = StaticExecutor::new();
    let build = || {
        Builder::new()
            .workers(3)
            .thread_name(|index| format!("{NAME}-{index}"))
    };
    let executor = build().build();
    let leaked = build().try_build_static().unwrap();
    // A thread that drives one executor by `run` and waits in another's `tick`.
    let bare: &'static Executor<'static> = Box::leak(Box::new(Executor::new()));
    for number in 0..2 {
        thread::Builder::new()
            .name(format!("{NAME}-run-{number}"))
            .spawn(move || match number {
                0 => block_on(bare.run(pending::<()>())),
                _ => block_on(async {
                    loop {
                        STATIC.tick().await;
                    }
                }),
            })
            .unwrap();
    }
    for _ in 0..100 {
        block_on(executor.spawn(async {}));
        block_on(leaked.spawn(async {}));
        block_on(bare.spawn(async {}));
        block_on(STATIC.spawn(async {}));
    }
    // Until everybody has lain down: the guard looks for some milliseconds after the last was active.
    let mut before = threads();
    loop {
        thread::sleep(Duration::from_millis(100));
        let now = threads();
        if now == before && now.len() == 8 {
            break;
        }
        before = now;
    }
    thread::sleep(Duration::from_secs(2));
    assert_eq!(threads(), before);
}
