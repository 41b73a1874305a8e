//! The costs of the hot paths: allocations here, and with `--cfg terrace_count` all atomics, fences and locks.

mod eager;

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::thread;

use terrace_local::settle::{IS_GLIBC, POLLS};
use terrace_local::{LocalExecutor, StaticLocalExecutor};
use terrace_sync::count::Counts;
use terrace_testing::{CountingAllocator, allocations, on_stack_of, watchdog};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Rounds of a measurement, after as many of warm-up.
const ROUNDS: u64 = 10_000;

/// Allocations and other costs of all rounds.
fn measure(round: impl FnMut()) -> (u64, Counts) {
    measure_rounds(ROUNDS, round)
}

/// As `measure`, of so many rounds.
fn measure_rounds(rounds: u64, mut round: impl FnMut()) -> (u64, Counts) {
    for _ in 0..rounds {
        round();
    }
    let before = allocations();
    let counts = Counts::of(|| {
        for _ in 0..rounds {
            round();
        }
    });
    ((allocations() - before) as u64, counts)
}

fn leaked() -> &'static StaticLocalExecutor {
    Box::leak(Box::default())
}

#[test]
fn spawn_run_detach_on_the_static_kind() {
    let _watchdog = watchdog();
    let executor = leaked();
    let (allocations, counts) = measure(|| {
        executor.spawn(async {}).detach();
        assert!(executor.try_tick());
    });
    assert_eq!(allocations, ROUNDS, "one a spawn");
    assert_eq!(counts, Counts::default(), "nothing of our own");
}

#[test]
fn spawn_run_detach_on_the_droppable_kind() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let (allocations, counts) = measure(|| {
        executor.spawn(async {}).detach();
        assert!(executor.try_tick());
    });
    assert_eq!(allocations, ROUNDS, "one a spawn");
    assert_eq!(
        counts,
        Counts::default(),
        "nothing of our own, and no reference counted, see `tests/kinds.rs`"
    );
}

/// Never ends, and wakes itself through a clone of its waker in each poll.
struct Ping;

impl Future for Ping {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

#[test]
fn a_wake_on_the_owner_adds_nothing() {
    let _watchdog = watchdog();
    let executor = leaked();
    executor.spawn(Ping).detach();
    let (allocations, counts) = measure(|| assert!(executor.try_tick()));
    assert_eq!(allocations, 0);
    assert_eq!(counts, Counts::default());
}

/// A task's first `Pending` allocates nothing, once the lists have grown.
#[test]
fn the_first_pending_allocates_nothing() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let (allocations, counts) = measure(|| {
        let task = executor.spawn(std::future::pending::<()>());
        assert!(executor.try_tick());
        drop(task);
        assert!(executor.try_tick());
    });
    assert_eq!(allocations, ROUNDS, "one a spawn");
    assert_eq!(counts, Counts::default());
    let executor = leaked();
    let (allocations, counts) = measure(|| {
        let task = executor.spawn(std::future::pending::<()>());
        assert!(executor.try_tick());
        drop(task);
        assert!(executor.try_tick());
    });
    assert_eq!(allocations, ROUNDS, "one a spawn");
    assert_eq!(counts, Counts::default());
}

/// Counts of so many read-modify-writes, in a counting build, and no other costs.
fn rmws(rmws: u64) -> Counts {
    let mut counts = Counts::default();
    if cfg!(terrace_count) {
        counts.rmws = rmws;
    }
    counts
}

/// A task with a waiting handle hands over its outcome by one read-modify-write. If it has to wake the awaiter, it
/// gives its reference back by another.
#[test]
fn a_task_that_is_waited_for() {
    let _watchdog = watchdog();
    let executor = leaked();
    let (allocations, counts) = measure(|| {
        let mut task = executor.spawn(async { 42 });
        assert!(executor.try_tick());
        assert_eq!(task.try_take(), Some(42));
    });
    assert_eq!((allocations, counts), (ROUNDS, rmws(ROUNDS)));
    let (allocations, counts) = measure(|| {
        let mut task = executor.spawn(async { 42 });
        let waker = &mut Context::from_waker(Waker::noop());
        for _ in 0..3 {
            assert!(Pin::new(&mut task).poll(waker).is_pending());
        }
        assert!(executor.try_tick());
        assert!(task.is_finished());
        assert_eq!(Pin::new(&mut task).poll(waker), Poll::Ready(42));
    });
    assert_eq!((allocations, counts), (ROUNDS, rmws(2 * ROUNDS)));
    // Awaited when it is pending already.
    let (allocations, counts) = measure(|| {
        let mut left = false;
        let mut task = executor.spawn(poll_fn(move |context| {
            if std::mem::replace(&mut left, true) {
                return Poll::Ready(42);
            }
            LEFT.set(Some(context.waker().clone()));
            Poll::Pending
        }));
        let waker = &mut Context::from_waker(Waker::noop());
        assert!(executor.try_tick());
        assert!(Pin::new(&mut task).poll(waker).is_pending());
        LEFT.take().expect("it was polled").wake();
        assert!(executor.try_tick());
        assert_eq!(Pin::new(&mut task).poll(waker), Poll::Ready(42));
    });
    assert_eq!((allocations, counts), (ROUNDS, rmws(3 * ROUNDS)));
}

/// A batch costs what its tasks cost one by one.
#[test]
fn a_batch_allocates_once_a_task() {
    let _watchdog = watchdog();
    const TASKS: usize = 10;
    let executor = LocalExecutor::new();
    let mut tasks = Vec::with_capacity(TASKS);
    let (allocations, counts) = measure(|| {
        executor.spawn_many((0..TASKS).map(|_| async {}), &mut tasks);
        assert_eq!(executor.run_until_stalled(), TASKS);
        tasks.clear();
    });
    assert_eq!(allocations, ROUNDS * TASKS as u64);
    assert_eq!(
        counts,
        rmws(ROUNDS * TASKS as u64),
        "their handles were kept"
    );
}

/// A driver allocates once where many tasks were polled since the last time: before it sleeps, or between two of its polls.
#[test]
fn a_driver_lets_the_allocator_settle() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let settles = usize::from(IS_GLIBC);
    let mut run = std::pin::pin!(executor.run(std::future::pending::<()>()));
    let context = &mut Context::from_waker(Waker::noop());
    assert!(run.as_mut().poll(context).is_pending());
    let mut sleep = |tasks: usize| {
        for _ in 0..tasks {
            executor.spawn(async {}).detach();
        }
        let parks = executor.metrics().park_count();
        let before = allocations();
        while executor.metrics().park_count() == parks {
            assert!(run.as_mut().poll(context).is_pending());
        }
        allocations() - before
    };
    // Without optimisation the waker is not known again, and its driver makes a new node.
    let node = sleep(1);
    assert!(node <= 1);
    for (tasks, due) in [(1, 0), (POLLS - 3, 0), (1, 1), (1, 0), (3 * POLLS, 2)] {
        assert_eq!(sleep(tasks), node + due * settles, "{tasks} tasks");
    }
    // One that never sleeps.
    let executor = LocalExecutor::new();
    executor.spawn(Ping).detach();
    let mut run = std::pin::pin!(executor.run(std::future::pending::<()>()));
    assert!(run.as_mut().poll(context).is_pending());
    let before = allocations();
    while executor.metrics().poll_count() < 3 * POLLS {
        assert!(run.as_mut().poll(context).is_pending());
    }
    assert_eq!(allocations() - before, 2 * settles);
}

/// Leaves its waker in a thread-local.
struct Leave;

thread_local! {
    static LEFT: Cell<Option<Waker>> = const { Cell::new(None) };
}

impl Future for Leave {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        LEFT.set(Some(context.waker().clone()));
        Poll::Pending
    }
}

/// From another thread: the task's own word, the inbox, two counts, one fence; no lock.
#[test]
fn a_remote_wake() {
    let _watchdog = watchdog();
    let executor = leaked();
    for _ in 0..100 {
        executor.spawn(Leave).detach();
        assert!(executor.try_tick());
        let waker = LEFT.take().expect("it was polled");
        let wake = move || {
            // A thread gets its id in the first call, which costs one more.
            let _id = terrace_local::thread_id();
            Counts::of(|| waker.wake())
        };
        let counts = thread::spawn(wake).join().expect("a wake does not panic");
        if cfg!(terrace_count) {
            assert_eq!((counts.rmws, counts.fences), (4, 1));
        }
        assert_eq!((counts.heavy_fences, counts.locks), (0, 0));
        // Its waker was the last reference but the item's, which arrives.
        let counts = Counts::of(|| assert!(executor.try_tick()));
        assert_eq!(counts, rmws(2), "the swap, and the task's own word");
        drop(LEFT.take());
        executor.try_tick();
    }
}

/// A future of 2 KiB and more takes a box of its own, before anything else.
#[test]
fn large_futures_are_boxed() {
    let _watchdog = watchdog();
    let executor = leaked();
    let big = [1_u8; 4096];
    let (allocations, _) = measure(|| {
        let task = executor.spawn(async move { std::hint::black_box(&big).len() });
        task.detach();
        assert!(executor.try_tick());
    });
    assert_eq!(allocations, 2 * ROUNDS);
}

/// A 48 KiB future on a 256 KiB stack, in a debug build as well.
#[test]
fn large_futures_do_not_overflow_small_stacks() {
    let _watchdog = watchdog();
    const SIZE: usize = 48 * 1024;
    on_stack_of(256 * 1024, || {
        let executor = LocalExecutor::new();
        let mut task = executor.spawn(async {
            let big = [1_u8; SIZE];
            futures_lite::future::yield_now().await;
            std::hint::black_box(&big).len()
        });
        while executor.try_tick() {}
        assert_eq!(task.try_take(), Some(SIZE));
    });
}
