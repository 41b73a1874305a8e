//! What raw jobs, broadcasts and blocking closures allocate on the thread that asks for them. Amortised over many, after a warm-up.
//! With `inspect` each task has a record besides.
#![cfg(not(feature = "inspect"))]

use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

use terrace_executor::{Builder, Executor, RawJob, Worker, block_on};
use terrace_testing::{CountingAllocator, Yields, allocations, least, watchdog};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Jobs of a round: few enough for the worker's ring.
const ROUND: usize = 100;
const ROUNDS: usize = 100;

static RAW_RUNS: AtomicUsize = AtomicUsize::new(0);

/// # Safety
/// None is needed.
unsafe fn run_raw(_: NonNull<RawJob>, _: &Worker) {
    RAW_RUNS.fetch_add(1, Ordering::Relaxed);
}

/// # Safety
/// None is needed.
unsafe fn drop_raw(_: NonNull<RawJob>) {
    unreachable!("the executor of this test does not end");
}

/// They lie in the worker's ring: a push into the injector would allocate.
#[test]
fn a_raw_job_of_a_worker_allocates_nothing() {
    static JOBS: [RawJob; ROUND] = [const { RawJob::new(run_raw, drop_raw) }; ROUND];

    async fn rounds(rounds: usize) {
        for _ in 0..rounds {
            for job in &JOBS {
                // SAFETY: the job is in a static. The round before has run it, as it lay before this task in the ring.
                Worker::with_current(|worker| unsafe { worker.spawn_raw(NonNull::from(job)) });
            }
            let ran = RAW_RUNS.load(Ordering::Relaxed);
            Yields(1).await;
            assert_eq!(RAW_RUNS.load(Ordering::Relaxed), ran + ROUND);
        }
    }

    let _watchdog = watchdog();
    let executor = Builder::new().workers(1).try_build_static().unwrap();
    let mut counts = 0;
    let count = || {
        counts += 1;
        block_on(executor.spawn(async {
            rounds(4).await;
            let before = allocations();
            rounds(ROUNDS).await;
            allocations() - before
        }))
    };
    // If the worker stands still for long, the watch looks at the pool, and is told of it anew, at first by an allocation.
    assert_eq!(least(count), 0);
    let runs = RAW_RUNS.load(Ordering::Relaxed);
    assert_eq!(runs, counts * ROUND * (4 + ROUNDS));
}

/// What `calls` calls allocate here, after as many.
fn counted(calls: usize, call: impl Fn()) -> usize {
    (0..calls).for_each(|_| call());
    let before = allocations();
    (0..calls).for_each(|_| call());
    allocations() - before
}

/// One for each worker. The least of many calls counts: `block_on` makes a new waker while a worker still holds that of the call
/// before.
#[test]
fn a_broadcast_allocates_once_a_worker() {
    const CALLS: usize = 1_240;
    let _watchdog = watchdog();
    let of = |workers| {
        let executor: Executor<'static> = Builder::new().workers(workers).build();
        let call = || drop(executor.broadcast(|part| part.index));
        (0..CALLS).map(|_| counted(1, call)).min().unwrap()
    };
    let more = of(4) - of(1);
    assert!(more <= 3, "{more}");
}

#[cfg(feature = "blocking")]
#[test]
fn a_blocking_closure_allocates_twice() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(1).build();
    let counted = counted(ROUND, || block_on(executor.spawn_blocking(|| ())));
    // The rest is for threads and queues, once in a while.
    assert_eq!(counted / ROUND, 2, "{counted}");
}
