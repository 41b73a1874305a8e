//! An executor that has little to do costs little: one spawn a millisecond on eight workers, or one tiny join.
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
const ACTS: u32 = 500;
/// How often a worker may fall asleep, or be interrupted, for each spawn. A woken worker runs the task, looks around
/// and parks, as the sentinel or for good. While it looks, another one may be up.
const SWITCHES: u64 = 4;
/// The same for a tiny join: no thread is woken for it. The sentinel looks around now and then.
const SWITCHES_OF_A_JOIN: u64 = 2;
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

/// Calls `act` once a millisecond, and returns how often the workers have slept, and their share of a core.
fn cost(threads: &[PathBuf], act: impl Fn()) -> (u64, f64) {
    // Long enough for all to have fallen asleep.
    thread::sleep(Duration::from_millis(100));
    let (before, start) = (used(threads), Instant::now());
    for _ in 0..ACTS {
        act();
        thread::sleep(Duration::from_millis(1));
    }
    let (after, elapsed) = (used(threads), start.elapsed());
    let share = (after.0 - before.0).as_secs_f64() / elapsed.as_secs_f64();
    (after.1 - before.1, share)
}

#[test]
fn one_spawn_or_join_a_millisecond_costs_little() {
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
    let spawn = || block_on(executor.spawn(async {}));
    let join = || {
        executor.join(|_| (), |_| ());
    };
    // Unoptimised and instrumented code is slower.
    let most = if cfg!(debug_assertions) || cfg!(terrace_tsan) {
        4.0 * SHARE
    } else {
        SHARE
    };
    let acts: [(&str, &dyn Fn(), u64); 2] = [
        ("spawn", &spawn, SWITCHES),
        ("join", &join, SWITCHES_OF_A_JOIN),
    ];
    for (name, act, switches_each) in acts {
        let (switches, share) = cost(&threads, act);
        assert!(
            switches <= switches_each * u64::from(ACTS),
            "{switches} context switches for {ACTS} times a {name}"
        );
        assert!(
            share <= most,
            "{share:.3} of a core for one {name} a millisecond"
        );
        println!("a {name} a millisecond: {switches} context switches, {share:.4} of a core");
    }
    // The watch over guests ends when none comes.
    thread::sleep(Duration::from_millis(400));
    let before = used(&threads).1;
    thread::sleep(Duration::from_millis(200));
    assert_eq!(used(&threads).1, before, "a worker wakes up without work");
}
