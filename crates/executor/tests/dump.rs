//! What `Executor::dump` and `dump_all` say, and that they never hang. Each test with `dump_all` has a process of its own, in which
//! no other test has executors.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use terrace_executor::{Builder, Dump, Executor, Shutdown, block_on, dump_all};
use terrace_testing::{in_own_process, watchdog};

/// How long a test waits for something that takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(50);

/// The first ten lines.
fn head(dump: &Dump) -> String {
    let text = dump.to_string();
    text.lines().take(10).collect::<Vec<_>>().join("\n")
}

/// Waits until a dump is as it should be.
#[track_caller]
fn until(take: impl Fn() -> Dump, is: impl Fn(&Dump) -> bool) -> Dump {
    let start = Instant::now();
    loop {
        let dump = take();
        if is(&dump) {
            return dump;
        }
        assert!(start.elapsed() < PATIENCE, "not as expected:\n{dump}");
        thread::sleep(Duration::from_millis(1));
    }
}

fn json(dump: &Dump) -> Value {
    serde_json::from_str(&dump.to_json()).expect("it is JSON")
}

/// A task that blocks its worker until the sender is dropped; the receiver gets its start.
fn blocks(executor: &Executor<'static>) -> (Sender<()>, Receiver<()>) {
    let (release, blocked) = channel::<()>();
    let (started, starts) = channel();
    executor
        .spawn(async move {
            started.send(()).unwrap();
            let _released = blocked.recv();
        })
        .detach();
    (release, starts)
}

#[test]
fn an_idle_executor_has_nothing_stuck() {
    let _watchdog = watchdog();
    for workers in [0, 1, 3] {
        let executor = Builder::new().workers(workers).build();
        let parked = |dump: &Dump| dump.to_string().matches(" is parked").count() == workers;
        let dump = until(|| executor.dump(), parked);
        assert!(dump.suspects().is_empty(), "{dump}");
        assert!(
            dump.to_string()
                .starts_with("terrace: nothing looks stuck\n")
        );
        let json = json(&dump);
        let pool = &json["pools"][0];
        assert_eq!(pool["workers"].as_array().unwrap().len(), workers);
        assert_eq!(
            (&pool["active"], &pool["phase"]),
            (&0.into(), &"open".into())
        );
    }
}

#[test]
fn an_executor_that_was_never_used_has_no_pool() {
    let executor = Executor::new();
    assert_eq!(json(&executor.dump())["pools"], Value::Array(Vec::new()));
    assert_eq!(executor.dump(), Executor::new().dump());
}

#[test]
fn a_blocked_worker_is_named_with_what_waits_behind_it() {
    let _watchdog = watchdog();
    let executor = Builder::new()
        .workers(1)
        .thread_name(|index| format!("crew-{index}"))
        .build();
    let (release, starts) = blocks(&executor);
    starts.recv().unwrap();
    let _behind = executor.spawn(async {});
    let dump = until(|| executor.dump(), |dump| !dump.suspects().is_empty());
    assert!(head(&dump).contains("(crew-0)"), "{dump}");
    assert_eq!(json(&dump)["pools"][0]["injected"], 1);
    drop(release);
}

#[test]
fn a_task_takes_a_dump_of_its_own_executor() {
    let _watchdog = watchdog();
    let executor = Arc::new(Builder::new().workers(1).build());
    let own = Arc::clone(&executor);
    let dump = block_on(executor.spawn(async move { own.dump() }));
    assert!(dump.suspects().is_empty(), "{dump}");
    assert!(dump.to_string().contains("and takes this dump"), "{dump}");
    assert_eq!(json(&dump)["pools"][0]["workers"][0]["here"], true);
}

#[test]
fn tasks_without_a_thread_are_named() {
    let _watchdog = watchdog();
    let executor = Executor::new();
    let _task = executor.spawn(async {});
    let dump = executor.dump();
    assert!(
        head(&dump).contains("1 task is queued, and the pool has no workers: no thread runs it"),
        "{dump}"
    );
}

#[test]
fn a_limit_that_runs_out_brings_a_dump() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(1).build();
    let (release, starts) = blocks(&executor);
    starts.recv().unwrap();
    let limit = Some(Duration::from_millis(5));
    let idle = executor.wait_idle(limit).unwrap_err();
    let down = executor.shutdown(Shutdown::FinishAll, limit).unwrap_err();
    let threads = executor.shutdown(Shutdown::RunQueued, limit).unwrap_err();
    for error in [idle, down, threads] {
        assert_eq!(json(error.dump())["pools"][0]["active"], 1);
        assert!(format!("{error:?}").ends_with(&error.dump().to_string()));
        assert_eq!(error.to_string().lines().count(), 1);
    }
    drop(release);
}

#[test]
fn all_pools_are_shown_while_they_live() {
    in_own_process("all_pools_are_shown_while_they_live", || {
        let count = || json(&dump_all())["pools"].as_array().unwrap().len();
        assert_eq!(count(), 0);
        let first = Builder::new().workers(1).build();
        let second = Executor::new();
        assert_eq!(count(), 1);
        let task = second.spawn(async {});
        assert_eq!(count(), 2);
        assert_eq!(json(&dump_all())["partial"], false);
        drop((task, second, first));
        assert_eq!(count(), 0);
    });
}

#[test]
fn a_pool_is_seen_in_its_drop_and_in_its_shutdown() {
    in_own_process("a_pool_is_seen_in_its_drop_and_in_its_shutdown", || {
        for drops in [true, false] {
            let executor = Builder::new().workers(2).build();
            let (release, starts) = blocks(&executor);
            starts.recv().unwrap();
            let ends = thread::spawn(move || match drops {
                true => drop(executor),
                false => executor.shutdown(Shutdown::RunQueued, None).unwrap(),
            });
            let ending = |dump: &Dump| match drops {
                true => json(dump)["pools"][0]["phase"] == "being dropped",
                false => dump.to_string().contains("it was asked to end"),
            };
            let dump = until(dump_all, ending);
            assert!(dump.to_string().contains("worker"), "{dump}");
            drop(release);
            ends.join().unwrap();
        }
    });
}

/// The name of the test below.
const HANGS: &str = "the_watchdog_of_a_test_prints_the_dump";

#[test]
fn the_watchdog_of_a_test_prints_the_dump() {
    if std::env::var_os("TERRACE_DUMP_CHILD").is_some() {
        let _watchdog = watchdog();
        let executor = Builder::new().workers(1).build();
        let (_release, starts) = blocks(&executor);
        starts.recv().unwrap();
        executor.wait_idle(None).unwrap();
    }
    let mut command = terrace_testing::this_program();
    command.args([HANGS, "--exact"]);
    command
        .env("TERRACE_DUMP_CHILD", "1")
        .env("TERRACE_TEST_SECONDS", "1");
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(
        text.contains("terrace: this may be stuck:")
            || text.contains("terrace: nothing looks stuck"),
        "{text}"
    );
    assert!(
        text.contains("worker 0 (terrace-0) runs something"),
        "{text}"
    );
    assert!(text.contains("1 thread in wait_idle"), "{text}");
}

/// Dumps go on while the pool spawns, wakes, joins, opens scopes of its tasks, changes its workers, shuts down and is dropped.
#[test]
fn dumps_beside_everything_else() {
    in_own_process("dumps_beside_everything_else", || {
        let ended = AtomicBool::new(false);
        thread::scope(|threads| {
            let dumper = || {
                let mut dumps = 0;
                while !ended.load(Ordering::Relaxed) {
                    let dump = dump_all();
                    let json: Value = serde_json::from_str(&dump.to_json()).unwrap();
                    assert!(json["pools"].is_array() && !dump.to_string().is_empty());
                    dumps += 1;
                }
                dumps
            };
            let dumpers = [threads.spawn(dumper), threads.spawn(dumper)];
            let mut random = terrace_testing::Random::new(17);
            for _ in 0..60 {
                act(&mut random);
            }
            ended.store(true, Ordering::Relaxed);
            for dumper in dumpers {
                assert!(dumper.join().unwrap() > 0);
            }
        });
    });
}

/// The life of one executor.
fn act(random: &mut terrace_testing::Random) {
    let executor = Builder::new().workers(random.below(4)).build();
    for _ in 0..random.below(20) {
        match random.below(5) {
            0 => (0..50).for_each(|_| executor.spawn(smol::future::yield_now()).detach()),
            1 => block_on(executor.spawn(smol::future::yield_now())),
            2 => {
                drop(executor.with_worker(|worker| {
                    worker.join(|_| thread::yield_now(), |_| executor.dump())
                }))
            }
            3 => executor.set_workers(random.below(3)).unwrap(),
            _ => {
                let _left = executor.wait_idle(Some(Duration::from_micros(50)));
            }
        }
    }
    if random.below(2) == 0 {
        executor.shutdown(Shutdown::FinishAll, None).unwrap();
    }
}
