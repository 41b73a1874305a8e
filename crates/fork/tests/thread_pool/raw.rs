//! Raw jobs: each is called once, run or dropped, on whatever thread and pool.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use terrace_executor::{Builder, Executor, Payload};
use terrace_fork::{MemberScope, RawJob, ThreadPool, Worker, Yield};
use terrace_testing::{text, watchdog};

/// What the calls of some jobs leave.
#[derive(Default)]
struct Calls {
    ran: AtomicUsize,
    dropped: AtomicUsize,
}

impl Calls {
    fn seen(&self) -> (usize, usize) {
        let seen = [&self.ran, &self.dropped].map(|count| count.load(Ordering::SeqCst));
        (seen[0], seen[1])
    }
}

/// A job in a box, which its call frees.
#[repr(C)]
struct Boxed {
    job: RawJob,
    calls: Arc<Calls>,
    act: fn(&Worker),
}

impl Boxed {
    fn queueable(calls: &Arc<Calls>, act: fn(&Worker)) -> NonNull<RawJob> {
        let boxed = Box::new(Self {
            job: RawJob::new(Self::run, Self::drop),
            calls: Arc::clone(calls),
            act,
        });
        NonNull::from(Box::leak(boxed)).cast()
    }

    /// # Safety
    /// The job is one of [`queueable`](Self::queueable), and the caller's.
    unsafe fn run(job: NonNull<RawJob>, worker: &Worker) {
        // SAFETY: the job is the first field of a `Boxed` out of `Box::leak`, and the caller's.
        let this = unsafe { Box::from_raw(job.cast::<Self>().as_ptr()) };
        this.calls.ran.fetch_add(1, Ordering::SeqCst);
        (this.act)(worker);
    }

    /// # Safety
    /// As [`run`](Self::run).
    unsafe fn drop(job: NonNull<RawJob>) {
        // SAFETY: the job is the first field of a `Boxed` out of `Box::leak`, and the caller's.
        let this = unsafe { Box::from_raw(job.cast::<Self>().as_ptr()) };
        let before = this.calls.dropped.fetch_add(1, Ordering::SeqCst);
        assert!(before > 0, "dropped");
    }
}

fn nothing(_: &Worker) {}

/// Queues a new job by the handle of a member.
fn by_handle(worker: &Worker, calls: &Arc<Calls>, act: fn(&Worker)) {
    // SAFETY: the job is new, and its functions free it.
    unsafe { worker.spawn_raw(Boxed::queueable(calls, act)) };
}

/// Queues a new job on the pool itself.
fn by_pool(pool: &ThreadPool, calls: &Arc<Calls>, act: fn(&Worker)) {
    // SAFETY: the job is new, and its functions free it.
    unsafe { pool.spawn_raw(Boxed::queueable(calls, act)) };
}

/// Yields until the pool has no task. Without workers, this thread runs them.
fn drain(pool: &ThreadPool) {
    while !pool.executor().is_empty() {
        if pool.yield_now() == Yield::Idle {
            thread::yield_now();
        }
    }
}

fn joins(worker: &Worker) {
    assert!(worker.is_in_pool());
    assert_eq!(worker.join(|_| 1, |_| 2), (1, 2));
}

#[test]
fn they_run_from_every_place() {
    let _watchdog = watchdog();
    for workers in [0, 1, 2] {
        let pool = ThreadPool::new();
        pool.resize_to(workers);
        let calls = Arc::new(Calls::default());
        // A thread of no pool; guests of this and of another pool; children of scopes; tasks; other threads.
        by_pool(&pool, &calls, joins);
        pool.with_worker(|worker| {
            by_handle(worker, &calls, joins);
            worker.scope(|scope| scope.spawn(async { by_pool(&pool, &calls, joins) }));
        });
        ThreadPool::new().with_worker(|_| by_pool(&pool, &calls, joins));
        let theirs = Arc::clone(&calls);
        pool.spawn(move |worker: &Worker| by_handle(worker, &theirs, joins));
        thread::scope(|threads| {
            threads.spawn(|| by_pool(&pool, &calls, joins));
        });
        drain(&pool);
        assert_eq!(calls.seen(), (6, 0), "{workers} workers");
    }
}

#[test]
fn a_panic_goes_to_the_handler() {
    let _watchdog = watchdog();
    for workers in [0, 1, 2] {
        let pool = ThreadPool::new();
        pool.resize_to(workers);
        let said = Arc::new(Mutex::new(Vec::new()));
        let theirs = Arc::clone(&said);
        pool.set_panic_handler(move |payload| {
            theirs.lock().unwrap().push(text(&*payload).to_owned())
        });
        let calls = Arc::new(Calls::default());
        by_pool(&pool, &calls, |_| panic!("a raw job"));
        by_pool(&pool, &calls, nothing);
        drain(&pool);
        assert_eq!(calls.seen(), (2, 0));
        assert_eq!(*said.lock().unwrap(), ["a raw job"]);
    }
}

/// Queues new jobs, and leaves the last reference to the executor.
fn queue_and_leave(executor: Arc<Executor<'static>>, calls: &Arc<Calls>) {
    let spawner = executor.spawner();
    for _ in 0..100 {
        // SAFETY: the job is new, and its functions free it.
        unsafe { spawner.spawn_raw(Boxed::queueable(calls, nothing)) };
    }
    drop(executor);
}

/// No thread drives the first executor; the worker of the second is in the middle of a task when it ends.
#[test]
fn a_dropped_executor_drops_them() {
    let _watchdog = watchdog();
    for workers in [0, 1] {
        let said = Arc::new(AtomicUsize::new(0));
        let calls = Arc::new(Calls::default());
        let spawner = if workers == 0 {
            let executor = Executor::new();
            let spawner = executor.spawner();
            queue_and_leave(Arc::new(executor), &calls);
            spawner
        } else {
            let panics = Arc::clone(&said);
            let handler = move |payload: Payload| {
                assert_eq!(text(&*payload), "dropped");
                panics.fetch_add(1, Ordering::SeqCst);
            };
            let executor = Builder::new().workers(1).panic_handler(handler).build();
            let (executor, theirs) = (Arc::new(executor), Arc::clone(&calls));
            let (started, spawner) = (Arc::new(Barrier::new(2)), executor.spawner());
            let (its_start, last) = (Arc::clone(&started), Arc::clone(&executor));
            executor
                .spawn(async move {
                    its_start.wait();
                    queue_and_leave(last, &theirs);
                })
                .detach();
            drop(executor);
            started.wait();
            while calls.seen().1 < 100 || said.load(Ordering::SeqCst) == 0 {
                thread::yield_now();
            }
            spawner
        };
        assert_eq!(calls.seen(), (0, 100), "{workers} workers");
        while !spawner.is_closed() {
            thread::yield_now();
        }
        // Queued on an executor that is gone.
        // SAFETY: the job is new, and its functions free it.
        unsafe { spawner.spawn_raw(Boxed::queueable(&calls, nothing)) };
        assert_eq!(calls.seen(), (0, 101));
    }
}

/// Threads queue while the pool ends: each job is called once.
#[test]
fn the_end_of_a_pool_loses_none() {
    const ROUNDS: usize = if cfg!(miri) { 2 } else { 40 };
    let _watchdog = watchdog();
    for round in 0..ROUNDS {
        let pool = ThreadPool::new();
        pool.resize_to(round % 3);
        let calls = Arc::new(Calls::default());
        let start = Barrier::new(3);
        thread::scope(|threads| {
            for _ in 0..2 {
                let spawner = pool.executor().spawner();
                let (start, calls) = (&start, &calls);
                threads.spawn(move || {
                    start.wait();
                    for _ in 0..100 {
                        // SAFETY: the job is new, and its functions free it.
                        unsafe {
                            spawner
                                .spawn_raw(Boxed::queueable(calls, |worker| worker.spawn(nothing)))
                        };
                    }
                });
            }
            start.wait();
            drop(pool);
        });
        // A waiter of another test may still be in the last one.
        while Arc::strong_count(&calls) > 1 {
            thread::yield_now();
        }
        let (ran, dropped) = calls.seen();
        assert_eq!(ran + dropped, 200);
    }
}

/// A job that is not freed: it counts itself, and goes back until its turns are over.
#[repr(C)]
struct Turns {
    job: RawJob,
    left: AtomicUsize,
    done: &'static AtomicUsize,
}

impl Turns {
    /// # Safety
    /// The job is that of a `Turns` that is not freed, and the caller's.
    unsafe fn run(job: NonNull<RawJob>, worker: &Worker) {
        // SAFETY: the job is the first field of a `Turns`, which is not freed.
        let this = unsafe { job.cast::<Self>().as_ref() };
        this.done.fetch_add(1, Ordering::Relaxed);
        if this.left.fetch_sub(1, Ordering::Relaxed) > 1 {
            // SAFETY: this call owns the job, and uses it no more.
            unsafe { worker.spawn_raw(job) };
        }
    }

    /// # Safety
    /// None is needed.
    unsafe fn drop(_: NonNull<RawJob>) {
        unreachable!("the pool of this test does not end");
    }
}

#[test]
fn jobs_that_queue_themselves_again_are_all_counted() {
    const TURNS: usize = if cfg!(miri) { 5 } else { 200 };
    const JOBS: usize = if cfg!(miri) { 3 } else { 50 };
    static POOL: ThreadPool = ThreadPool::new();
    static DONE: AtomicUsize = AtomicUsize::new(0);
    let _watchdog = watchdog();
    for workers in [1, 2, 4] {
        POOL.resize_to(workers);
        DONE.store(0, Ordering::Relaxed);
        thread::scope(|threads| {
            for guest in [false, true, false, true] {
                threads.spawn(move || {
                    let jobs: Vec<_> = (0..JOBS)
                        .map(|_| Turns {
                            job: RawJob::new(Turns::run, Turns::drop),
                            left: AtomicUsize::new(TURNS),
                            done: &DONE,
                        })
                        .collect();
                    for job in &jobs {
                        let job = NonNull::from(job).cast();
                        // SAFETY: the job is queued nowhere else. This thread frees it after the pool has no task.
                        let queue = |worker: &Worker| unsafe { worker.spawn_raw(job) };
                        if guest {
                            POOL.with_worker(queue);
                        } else {
                            // SAFETY: as for a guest.
                            unsafe { POOL.spawn_raw(job) };
                        }
                    }
                    POOL.executor().wait_idle(None).unwrap();
                });
            }
        });
        assert_eq!(DONE.load(Ordering::Relaxed), 4 * JOBS * TURNS);
    }
    POOL.depopulate();
}
