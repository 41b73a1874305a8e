//! An executor that has little to do costs little: one spawn a millisecond on eight workers.
//!
//! This test is alone in its program: it would count the threads of other tests, too.
#![cfg(target_os = "linux")]

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use terrace_executor::{Builder, block_on};
use terrace_testing::watchdog;

const NAME: &str = "idle-cost";
const WORKERS: usize = 8;
const SPAWNS: u32 = 500;
/// How often a worker may fall asleep, or be interrupted, for each spawn. A woken worker runs the task, looks around
/// and parks, as the sentinel or for good. While it looks, another one may be up.
const SWITCHES: u64 = 4;
/// The part of a core that all workers together may use.
const SHARE: f64 = 0.05;

/// The workers' directories under `/proc`.
fn workers() -> Vec<PathBuf> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    tasks
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            std::fs::read_to_string(path.join("comm")).is_ok_and(|name| name.starts_with(NAME))
        })
        .collect()
}

/// What the workers have used so far: time on a CPU, and voluntary context switches.
fn used(workers: &[PathBuf]) -> (Duration, u64) {
    let mut sums = (Duration::ZERO, 0);
    for path in workers {
        let times = std::fs::read_to_string(path.join("schedstat")).unwrap();
        let time = times.split(' ').next().unwrap().parse().unwrap();
        sums.0 += Duration::from_nanos(time);
        let status = std::fs::read_to_string(path.join("status")).unwrap();
        let switches = status
            .lines()
            .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        sums.1 += switches.unwrap().trim().parse::<u64>().unwrap();
    }
    sums
}

#[test]
fn one_spawn_a_millisecond_costs_little() {
    let _watchdog = watchdog();
    let executor = Builder::new()
        .workers(WORKERS)
        .thread_name(|index| format!("{NAME}-{index}"))
        .build();
    let mut threads = workers();
    while threads.len() < WORKERS {
        thread::sleep(Duration::from_millis(1));
        threads = workers();
    }
    // Long enough for all to have fallen asleep.
    thread::sleep(Duration::from_millis(100));
    let (before, start) = (used(&threads), Instant::now());
    for _ in 0..SPAWNS {
        block_on(executor.spawn(async {}));
        thread::sleep(Duration::from_millis(1));
    }
    let (after, elapsed) = (used(&threads), start.elapsed());
    let switches = after.1 - before.1;
    assert!(
        switches <= SWITCHES * u64::from(SPAWNS),
        "{switches} context switches for {SPAWNS} spawns"
    );
    // Unoptimised and instrumented code is slower.
    let share = if cfg!(debug_assertions) || cfg!(terrace_tsan) {
        4.0 * SHARE
    } else {
        SHARE
    };
    let used = (after.0 - before.0).as_secs_f64() / elapsed.as_secs_f64();
    assert!(
        used <= share,
        "{used:.3} of a core for one spawn a millisecond"
    );
}
