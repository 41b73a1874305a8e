//! `Builder::report_long_polls`: each long poll is reported once, and no short one.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use terrace_executor::scope::{OpenScope, ScopeKind};
use terrace_executor::{Builder, Executor, block_on, named};
use terrace_testing::watchdog;

const LIMIT: Duration = Duration::from_millis(5);
/// So long that no poll here reaches it, and the watchdog comes before it.
const NEVER: Duration = Duration::from_secs(3_600);

/// What a report says.
#[derive(Debug)]
struct Told {
    name: Option<String>,
    site: String,
    worker: Option<usize>,
    thread: Option<String>,
    elapsed: Duration,
    waits_in: Option<&'static str>,
    text: String,
}

fn reporting(workers: usize, limit: Duration) -> (Arc<Executor<'static>>, Receiver<Told>) {
    let (sender, reports) = channel();
    let builder = Builder::new()
        .workers(workers)
        .report_long_polls(limit, move |poll| {
            let told = Told {
                name: poll.name().map(ToOwned::to_owned),
                site: poll.site().to_string(),
                worker: poll.worker(),
                thread: poll.thread().map(ToOwned::to_owned),
                elapsed: poll.elapsed(),
                waits_in: poll.waits_in(),
                text: poll.to_string(),
            };
            // The test may have ended.
            let _received = sender.send(told);
        });
    (Arc::new(builder.build()), reports)
}

#[test]
fn a_long_poll_is_reported_once_with_its_name_and_place() {
    let _watchdog = watchdog();
    let (executor, reports) = reporting(1, LIMIT);
    let (release, blocked) = channel::<()>();
    let task = executor.spawn(named("reader", async move { blocked.recv().is_err() }));
    let told = reports.recv().unwrap();
    assert_eq!(told.name.as_deref(), Some("reader"));
    assert_eq!(
        (told.worker, told.thread.as_deref()),
        (Some(0), Some("terrace-0"))
    );
    assert!(told.site.contains("tests/long_polls.rs:"), "{told:?}");
    assert!(told.elapsed > LIMIT && told.waits_in.is_none(), "{told:?}");
    assert!(
        told.text
            .starts_with("terrace-0 has been in one poll of task 1 `reader` (spawned at "),
        "{told:?}"
    );
    // It goes on being long, past several looks.
    thread::sleep(LIMIT * 6);
    drop(release);
    assert!(block_on(task));
    executor.wait_idle(None).unwrap();
    drop(executor);
    assert!(reports.try_iter().next().is_none(), "it was reported twice");
}

#[test]
fn each_long_poll_of_a_task_is_reported() {
    let _watchdog = watchdog();
    let (executor, reports) = reporting(1, LIMIT);
    let (release, blocked) = channel::<()>();
    let task = executor.spawn(async move {
        for _ in 0..2 {
            blocked.recv().unwrap();
            smol::future::yield_now().await;
        }
    });
    for _ in 0..2 {
        reports.recv().unwrap();
        release.send(()).unwrap();
    }
    block_on(task);
}

#[test]
fn short_polls_are_not_reported() {
    let _watchdog = watchdog();
    let (executor, reports) = reporting(2, NEVER);
    let yields = || async {
        for _ in 0..100 {
            smol::future::yield_now().await;
        }
    };
    let tasks: Vec<_> = (0..100).map(|_| executor.spawn(yields())).collect();
    tasks.into_iter().for_each(block_on);
    // A task that waits is in no poll.
    executor.spawn(pending::<()>()).detach();
    drop(executor);
    assert!(
        reports.recv().is_err(),
        "the closure was dropped with the executor"
    );
}

/// A task that waits for long is not reported: it is in no poll.
#[test]
fn a_long_wait_is_no_poll() {
    let _watchdog = watchdog();
    let (executor, reports) = reporting(1, Duration::from_millis(100));
    let begin = Instant::now();
    let waits = executor.spawn(named(
        "waits",
        smol::Timer::after(Duration::from_millis(300)),
    ));
    block_on(waits);
    let waited = begin.elapsed();
    assert!(waited >= Duration::from_millis(300));
    let waits = |told: &Told| told.name.as_deref() == Some("waits") && told.elapsed > waited;
    assert!(!reports.try_iter().any(|told| waits(&told)));
    drop(executor);
}

#[test]
fn a_wait_inside_of_a_poll_is_told() {
    let _watchdog = watchdog();
    let (executor, reports) = reporting(2, LIMIT);
    let (release, blocked) = channel::<()>();
    let own = Arc::clone(&executor);
    let outer = executor.spawn(named("outer", async move {
        let open = OpenScope::open(&own, ScopeKind::of::<()>());
        let child = named("inner", async move {
            let _released = blocked.recv();
        });
        // SAFETY: the scope is open, and is waited for below; the child owns what it uses.
        unsafe { open.handle().spawn(child) };
        assert!(open.wait(&[]).is_none());
    }));
    let mut told = [reports.recv().unwrap(), reports.recv().unwrap()];
    told.sort_by_key(|told| told.name.clone());
    let waits = told
        .each_ref()
        .map(|told| (told.name.as_deref(), told.waits_in));
    assert_eq!(waits[0], (Some("inner"), None));
    // On a machine that is busy the outer poll may be a long one before it comes to its wait.
    let outer_waits = [None, Some("a scope")];
    assert!(
        waits[1].0 == Some("outer") && outer_waits.contains(&waits[1].1),
        "{waits:?}"
    );
    drop(release);
    block_on(outer);
    // Both were in one poll each.
    executor.wait_idle(None).unwrap();
    assert!(reports.try_iter().next().is_none());
}

/// A report that panics, and one that is slow, end nothing.
#[test]
fn a_report_may_panic() {
    let _watchdog = watchdog();
    let calls = Arc::new(AtomicUsize::new(0));
    let own = Arc::clone(&calls);
    let builder = Builder::new()
        .workers(1)
        .report_long_polls(LIMIT, move |_| {
            own.fetch_add(1, Ordering::Relaxed);
            std::panic::resume_unwind(Box::new("on purpose"));
        });
    let executor = builder.build();
    for polls in 1..=3 {
        let own = Arc::clone(&calls);
        block_on(executor.spawn(async move {
            while own.load(Ordering::Relaxed) < polls {
                thread::yield_now();
            }
        }));
    }
}

/// After the drop no report begins, also if a poll goes on: here that of the worker that drops its own executor.
#[test]
fn no_report_after_the_end() {
    let _watchdog = watchdog();
    loop {
        let (executor, reports) = reporting(1, LIMIT);
        let (sender, owner) = channel::<(Arc<Executor<'static>>, Instant)>();
        let (ended, end) = channel();
        executor
            .spawn(async move {
                let (executor, start) = owner.recv().unwrap();
                drop(Arc::into_inner(executor).expect("the last one"));
                let (dropped, before) = (start.elapsed(), Instant::now());
                while before.elapsed() < LIMIT * 6 {
                    thread::yield_now();
                }
                ended.send(dropped).unwrap();
            })
            .detach();
        sender.send((executor, Instant::now())).unwrap();
        let dropped = end.recv().unwrap();
        let count = reports.iter().count();
        assert!(count <= 1);
        // Else the poll may have been a long one before the drop: once more.
        if dropped < LIMIT / 2 {
            assert_eq!(count, 0);
            break;
        }
    }
}

/// The thread ends with the last executor that wants reports, and comes again.
#[test]
fn the_thread_comes_and_goes() {
    let _watchdog = watchdog();
    for _ in 0..3 {
        let (executor, reports) = reporting(1, LIMIT);
        let (release, blocked) = channel::<()>();
        let task = executor.spawn(async move { blocked.recv().is_err() });
        reports.recv().unwrap();
        drop(release);
        assert!(block_on(task));
    }
}
