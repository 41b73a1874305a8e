//! What a spawn costs: allocations, and with `--cfg terrace_count` our own read-modify-writes, fences and locks.
//! Amortised over many spawns after a warm-up, since two cores hide contention and counts do not.

use std::alloc::{GlobalAlloc, Layout, System};
use std::future::Future;
use std::pin::Pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use terrace_executor::{Builder, StaticExecutor, block_on};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: forwards to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: forwarded to the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: forwarded to the caller.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The allocations are the whole process's, so one test counts at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Spawns a round: few enough for the worker's ring.
const ROUND: usize = 100;
const ROUNDS: usize = 100;

/// Goes to the back of the worker's queue once.
struct Yield(bool);
impl Future for Yield {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

async fn rounds(executor: StaticExecutor, rounds: usize) {
    for _ in 0..rounds {
        for _ in 0..ROUND {
            executor.spawn(async {}).detach();
        }
        Yield(false).await;
    }
}

#[test]
fn a_spawn_on_a_worker_allocates_once() {
    let _alone = ALONE.lock().unwrap_or_else(|error| error.into_inner());
    let executor = Builder::new().workers(1).try_build_static().unwrap();
    let allocations = block_on(executor.spawn(async move {
        rounds(executor, 4).await;
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        rounds(executor, ROUNDS).await;
        ALLOCATIONS.load(Ordering::Relaxed) - before
    }));
    assert_eq!(allocations, ROUND * ROUNDS);
}

#[test]
fn a_spawn_from_elsewhere_allocates_once_and_a_block_now_and_then() {
    let _alone = ALONE.lock().unwrap_or_else(|error| error.into_inner());
    let executor = Builder::new().workers(1).try_build_static().unwrap();
    let spawn = |count: usize| {
        for _ in 0..count {
            executor.spawn(async {}).detach();
        }
        block_on(executor.spawn(async {}));
    };
    spawn(1_000);
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let count = 10_000;
    spawn(count);
    let allocations = ALLOCATIONS.load(Ordering::Relaxed) - before;
    // One a task, one for each block of 31 of the injector, one more task that is waited for with its waker.
    assert!(allocations <= count + count / 31 + 4, "{allocations}");
}

#[cfg(terrace_count)]
#[test]
fn a_spawn_on_a_worker_adds_one_rmw_and_one_fence() {
    use terrace_sync::count::Counts;

    let _alone = ALONE.lock().unwrap_or_else(|error| error.into_inner());
    let executor = Builder::new().workers(1).try_build_static().unwrap();
    let counts = block_on(executor.spawn(async move {
        rounds(executor, 4).await;
        let before = Counts::now();
        rounds(executor, ROUNDS).await;
        Counts::now() - before
    }));
    let tasks = (ROUND * ROUNDS) as u64;
    // The pop from the ring; each round's own turn, and every 61st turn's look at the injector, are the rest.
    assert!(counts.rmws <= tasks + tasks / 20, "{counts:?}");
    assert!(counts.fences <= tasks + tasks / 20, "{counts:?}");
    assert_eq!(counts.locks, 0, "{counts:?}");
}
