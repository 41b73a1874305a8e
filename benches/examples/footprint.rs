//! How many bytes of heap a pool, a worker and a task take, in three executors, by a counting allocator. Prints one JSON
//! object; `cargo xtask footprint` reads it.
//!
//! A pool is measured with one worker that has run a task and sleeps again; stacks of threads are no heap.

use std::alloc::{GlobalAlloc, Layout, System};
use std::future::{Future, pending, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::thread;
use std::time::Duration;

/// The system's allocator, which knows how many bytes are in use.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all of it is the system's; counting changes nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller promises that the layout is not empty, as `System` requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller gives back a block of this allocator, all of which come from `System`,
        // with its layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Workers beyond the first that the price of one is taken from, and tasks.
const MORE_WORKERS: usize = 8;
const TASKS: usize = 10_000;

/// A project's executor.
trait Pool {
    fn start(workers: usize) -> Self;
    /// Spawns a task and forgets its handle.
    fn spawn(&self, future: impl Future<Output = ()> + Send + 'static);
}

struct Terrace(terrace_executor::Executor<'static>);

impl Pool for Terrace {
    fn start(workers: usize) -> Self {
        Self(terrace_executor::Builder::new().workers(workers).build())
    }

    fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.0.spawn(future).detach();
    }
}

/// It has no workers of its own: threads that `run` it.
struct AsyncExecutor(Arc<async_executor::Executor<'static>>);

impl Pool for AsyncExecutor {
    fn start(workers: usize) -> Self {
        let executor = Arc::new(async_executor::Executor::new());
        for _ in 0..workers {
            let executor = Arc::clone(&executor);
            thread::spawn(move || futures_lite::future::block_on(executor.run(pending::<()>())));
        }
        Self(executor)
    }

    fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.0.spawn(future).detach();
    }
}

struct Tokio(tokio::runtime::Runtime);

impl Pool for Tokio {
    fn start(workers: usize) -> Self {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        Self(builder.worker_threads(workers).build().expect("threads"))
    }

    fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        drop(self.0.spawn(future));
    }
}

/// The bytes in use, once they do not change any more.
fn settled() -> usize {
    loop {
        let before = LIVE.load(Ordering::Relaxed);
        thread::sleep(Duration::from_millis(50));
        if LIVE.load(Ordering::Relaxed) == before {
            return before;
        }
    }
}

/// Spawns tasks that wait without end once they were polled, and waits until they were.
fn park_tasks<P: Pool>(pool: &P, count: usize) {
    let polled = Arc::new(AtomicUsize::new(0));
    for _ in 0..count {
        let polled = Arc::clone(&polled);
        pool.spawn(poll_fn(move |_| {
            polled.fetch_add(1, Ordering::Relaxed);
            Poll::Pending
        }));
    }
    while polled.load(Ordering::Relaxed) < count {
        thread::yield_now();
    }
}

/// Bytes of a pool with one worker, of each further worker, and of a task. It leaks the measured values.
fn measure<P: Pool>() -> [usize; 3] {
    let pool = |workers| {
        let before = settled();
        let pool = P::start(workers);
        park_tasks(&pool, 1);
        let bytes = settled() - before;
        (pool, bytes)
    };
    let (one, pool_bytes) = pool(1);
    let (more, more_bytes) = pool(1 + MORE_WORKERS);
    let before = settled();
    park_tasks(&one, TASKS);
    let task_bytes = settled() - before;
    std::mem::forget((one, more));
    [
        pool_bytes,
        more_bytes.saturating_sub(pool_bytes) / MORE_WORKERS,
        task_bytes / TASKS,
    ]
}

fn main() {
    // The standard library's one-time allocations come first.
    thread::spawn(|| ()).join().expect("it does nothing");
    let rows = [
        ("terrace-executor", measure::<Terrace>()),
        ("async-executor", measure::<AsyncExecutor>()),
        ("tokio", measure::<Tokio>()),
    ];
    let rows = rows.map(|(name, [pool, worker, task])| {
        format!(r#""{name}":{{"pool":{pool},"worker":{worker},"task":{task}}}"#)
    });
    println!("{{{}}}", rows.join(","));
}
