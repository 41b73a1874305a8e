//! Jobs in memory of the program: a function and a place, queued without a task.
//!
//! | a raw job | its memory is used by | its reference to the pool | leaves the state by                            |
//! |-----------|-----------------------|---------------------------|------------------------------------------------|
//! | free      | the program           | none                      | `spawn_raw`                                    |
//! | queued    | the pool              | one                       | a thread that takes it out of a queue          |
//! | called    | `run`, or `drop`      | the calling thread's      | the end of the call, which counts the job out  |
//!
//! A queued job is a word in the same queues as tasks (`terrace_local::task::Runnable`). A thread that drops the word calls `drop`. So
//! each way in which a pool loses a queued foreign runnable is one in which it drops a raw job: `terrace_thread::closed` has the last.

use std::cell::Cell;
use std::fmt;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};

use terrace_local::task::{RawHeader, Runnable};
use terrace_sync::Arc;
use terrace_trace::{Caller, Mark, inspect};

use crate::pool::Shared;
use crate::pool::fork::Worker;
use crate::pool::runner::{self, count_end, count_spawn, keep_reference};
use crate::pool::schedule::Cause;
use crate::run::fork::with_worker_contained;
use crate::spawner::Spawner;

/// A job in memory of the program, for engines that bring their own jobs: [`Worker::spawn_raw`] and [`Spawner::spawn_raw`] queue it
/// without an allocation.
///
/// It is the first field of a `repr(C)` struct, whose other fields are the job's data. It holds two functions. For each call of
/// `spawn_raw`, the pool calls one of them once, with the pointer that `spawn_raw` got:
///
/// | the function | is called                                                                                         |
/// |--------------|---------------------------------------------------------------------------------------------------|
/// | `run`        | by a thread that comes to the job: one that could poll a task that was spawned in its stead       |
/// | `drop`       | by a thread that drops the job unrun: at the executor's drop or after it, or at a shutdown that drops what is queued |
///
/// The called function owns the job: it may free the memory, or queue the job again. After a panic of `run` the pool does not call `drop`.
/// The panic of either goes to the pool's panic handler.
///
/// Closures ([`Worker::spawn`]) do the same in safe code, for one allocation each.
///
/// # Examples
///
/// ```
/// use std::ptr::NonNull;
/// use std::sync::mpsc::{Sender, channel};
/// use terrace_executor::{Builder, RawJob, Worker};
///
/// #[repr(C)]
/// struct Add {
///     job: RawJob,
///     numbers: (u32, u32),
///     sums: Sender<u32>,
/// }
///
/// impl Add {
///     fn new(numbers: (u32, u32), sums: Sender<u32>) -> Box<Self> {
///         Box::new(Self { job: RawJob::new(Self::run, Self::drop), numbers, sums })
///     }
///
///     // SAFETY (for callers): `job` came out of `Box::into_raw` of an `Add`, and is the caller's.
///     unsafe fn run(job: NonNull<RawJob>, _: &Worker) {
///         // SAFETY: the job is the first field of an `Add`, which came out of a box.
///         let this = unsafe { Box::from_raw(job.cast::<Self>().as_ptr()) };
///         this.sums.send(this.numbers.0 + this.numbers.1).unwrap();
///     }
///
///     // SAFETY (for callers): as `run`.
///     unsafe fn drop(job: NonNull<RawJob>) {
///         // SAFETY: the job is the first field of an `Add`, which came out of a box.
///         drop(unsafe { Box::from_raw(job.cast::<Self>().as_ptr()) });
///     }
/// }
///
/// let executor = Builder::new().workers(1).build();
/// let (sender, sums) = channel();
/// let add = NonNull::from(Box::leak(Add::new((1, 2), sender)));
/// // SAFETY: the functions fit an `Add` in a box, which is `Send`. No other code uses this one until they do.
/// unsafe { executor.spawner().spawn_raw(add.cast()) };
/// assert_eq!(sums.recv(), Ok(3));
/// ```
#[repr(C)]
pub struct RawJob {
    /// At the begin: the word in a queue is its address.
    header: RawHeader,
    /// While the job is queued. It has no destructor, so neither has the program's type around it.
    pool: Cell<Option<ManuallyDrop<Arc<Shared>>>>,
    /// What the timeline and a record say of it, from `queue` on.
    mark: Cell<Mark>,
    spawned: Cell<Caller>,
    run: unsafe fn(NonNull<RawJob>, &Worker),
    drop: unsafe fn(NonNull<RawJob>),
}

// SAFETY: a shared one gives out nothing. Its cells are changed by the thread that queues it, and by the one that calls a function of it.
// The first has the caller's promise that no other thread uses the job, and the queue orders the second after the first.
unsafe impl Sync for RawJob {}

impl RawJob {
    /// A job that is not queued.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::ptr::NonNull;
    /// use terrace_executor::{Builder, RawJob, Worker};
    /// use terrace_sync::atomic::{AtomicUsize, Ordering::SeqCst};
    ///
    /// #[repr(C)]
    /// struct Counts {
    ///     job: RawJob,
    ///     calls: AtomicUsize,
    /// }
    ///
    /// // SAFETY (for callers): `job` is the first field of a `Counts`.
    /// unsafe fn run(job: NonNull<RawJob>, _: &Worker) {
    ///     // SAFETY: the job is the first field of a `Counts`, which has the layout of C.
    ///     unsafe { job.cast::<Counts>().as_ref() }.calls.fetch_add(1, SeqCst);
    /// }
    ///
    /// // SAFETY (for callers): none is needed.
    /// unsafe fn drop(_: NonNull<RawJob>) {}
    ///
    /// let counts = Counts { job: RawJob::new(run, drop), calls: AtomicUsize::new(0) };
    /// let executor = Builder::new().workers(1).build();
    /// // SAFETY: the functions fit a `Counts`, which stays in place until the executor is idle, and is queued once.
    /// unsafe { executor.spawner().spawn_raw(NonNull::from(&counts).cast()) };
    /// executor.wait_idle(None)?;
    /// assert_eq!(counts.calls.load(SeqCst), 1);
    /// # Ok::<(), terrace_executor::StillRunning>(())
    /// ```
    #[must_use = "a job does not run until it is queued"]
    pub const fn new(
        run: unsafe fn(NonNull<Self>, &Worker),
        drop: unsafe fn(NonNull<Self>),
    ) -> Self {
        Self {
            header: RawHeader {
                run: run_queued,
                drop: drop_queued,
            },
            pool: Cell::new(None),
            mark: Cell::new(Mark::UNKNOWN),
            spawned: Cell::new(Caller::UNKNOWN),
            run,
            drop,
        }
    }
}

impl fmt::Debug for RawJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawJob").finish_non_exhaustive()
    }
}

/// Queues a job on `pool`, which the caller keeps alive and to which `reference` is one more reference.
///
/// # Safety
/// As [`Worker::spawn_raw`].
#[cfg_attr(feature = "timeline", track_caller)]
unsafe fn queue(pool: &Shared, reference: Arc<Shared>, job: NonNull<RawJob>) {
    // SAFETY: the job is in place, and no other code uses it (the caller's promise).
    let queued = unsafe { job.as_ref() };
    queued.pool.set(Some(ManuallyDrop::new(reference)));
    queued.mark.set(Mark::spawned::<RawJob>());
    queued.spawned.set(Caller::here());
    count_spawn(pool);
    terrace_trace::spawn();
    // SAFETY: the job stays in place until a function of it is called (the caller's promise). The header is its first field, and the
    // header's functions take a job's.
    let runnable = unsafe { Runnable::raw(job.cast()) };
    pool.queue_if_open(runnable, |runnable| {
        pool.push_foreign(runnable, Cause::Spawned)
    });
}

/// The job has ended: it is counted out.
fn end(pool: Arc<Shared>) {
    count_end(&pool);
    keep_reference(pool);
}

impl RawJob {
    /// The pool of a job that was queued, and has been taken out.
    fn take_pool(&self) -> Arc<Shared> {
        let pool = self.pool.take();
        ManuallyDrop::into_inner(pool.expect("a queued job has its pool"))
    }
}

/// `RawHeader::run` of a [`RawJob`].
unsafe fn run_queued(header: NonNull<RawHeader>) {
    let job = header.cast::<RawJob>();
    // SAFETY: the runnable that calls this was made by `queue`. The job stays in place until a function of it is called.
    let queued = unsafe { job.as_ref() };
    let pool = queued.take_pool();
    let (run, polling) = (queued.run, queued.mark.get().polls());
    let spawns = queued.spawned.get().spawns();
    // SAFETY: the job was queued for one call of one of its functions (the promise to `spawn_raw`), and this is the call.
    let call = move |worker: &Worker| unsafe { run(job, worker) };
    let call = inspect::call(&pool.records, "a raw job", ptr::null(), call);
    drop(spawns);
    with_worker_contained(&pool, call);
    drop(polling);
    end(pool);
}

/// `RawHeader::drop` of a [`RawJob`].
unsafe fn drop_queued(header: NonNull<RawHeader>) {
    let job = header.cast::<RawJob>();
    // SAFETY: the runnable that calls this was made by `queue`. The job stays in place until a function of it is called.
    let queued = unsafe { job.as_ref() };
    let (pool, drop) = (queued.take_pool(), queued.drop);
    // SAFETY: the job was queued for one call of one of its functions (the promise to `spawn_raw`), and this is the call.
    let dropped = catch_unwind(AssertUnwindSafe(|| unsafe { drop(job) }));
    if let Err(payload) = dropped {
        pool.report(payload);
    }
    end(pool);
}

impl Spawner {
    /// Queues a raw job, as [`Worker::spawn_raw`] does. If the executor is gone, the call drops the job.
    ///
    /// # Safety
    /// As [`Worker::spawn_raw`].
    ///
    /// # Examples
    ///
    /// ```
    /// use std::ptr::NonNull;
    /// use terrace_executor::{Executor, RawJob, Worker};
    /// use terrace_sync::atomic::{AtomicUsize, Ordering::SeqCst};
    ///
    /// static RUNS: AtomicUsize = AtomicUsize::new(0);
    /// static DROPS: AtomicUsize = AtomicUsize::new(0);
    /// static JOBS: [RawJob; 2] = [const { RawJob::new(run, drop_unrun) }; 2];
    ///
    /// // SAFETY (for callers): none is needed.
    /// unsafe fn run(_: NonNull<RawJob>, _: &Worker) {
    ///     RUNS.fetch_add(1, SeqCst);
    /// }
    ///
    /// // SAFETY (for callers): none is needed.
    /// unsafe fn drop_unrun(_: NonNull<RawJob>) {
    ///     DROPS.fetch_add(1, SeqCst);
    /// }
    ///
    /// let executor = Executor::new();
    /// let spawner = executor.spawner();
    /// // SAFETY: the functions need nothing, the job is never freed, and is queued once.
    /// unsafe { spawner.spawn_raw(NonNull::from(&JOBS[0])) };
    /// executor.try_tick();
    /// drop(executor);
    /// // SAFETY: as above.
    /// unsafe { spawner.spawn_raw(NonNull::from(&JOBS[1])) };
    /// assert_eq!((RUNS.load(SeqCst), DROPS.load(SeqCst)), (1, 1));
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub unsafe fn spawn_raw(&self, job: NonNull<RawJob>) {
        // SAFETY: the caller promises the same.
        unsafe { queue(&self.pool, runner::reference(&self.pool), job) }
    }
}

impl Worker {
    /// Queues a raw job on the pool. On a worker it goes onto the worker's own ring, behind what lies there, and peers may steal it. On
    /// any other thread it goes into the shared queue. While the pool has no workers, the job waits for a thread that waits or
    /// [yields](Self::yield_now).
    ///
    /// The executor counts it as one of its tasks until its function has returned.
    ///
    /// Cost: no allocation on a worker whose ring has room; the first push of all to a ring allocates its slots. Elsewhere the shared queue
    /// allocates while it grows.
    ///
    /// # Safety
    /// - `job` points to a [`RawJob`], and may be used for all that its functions do with it.
    /// - From this call until the call of one of its functions, the job stays in place. No other code writes to it, queues it or calls its
    ///   functions.
    /// - Each of its functions may be called once, with this pointer, on whatever thread, also after the executor's drop. So what the
    ///   job refers to may be sent to other threads, and lives until then.
    ///
    /// # Panics
    /// If the handle knows no pool. The job is not queued then.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::ptr::NonNull;
    /// use std::sync::Mutex;
    /// use terrace_executor::{Builder, RawJob, Worker};
    ///
    /// static SUM: Mutex<u32> = Mutex::new(0);
    /// static JOBS: [RawJob; 2] = [const { RawJob::new(run, drop) }; 2];
    ///
    /// // SAFETY (for callers): none is needed.
    /// unsafe fn run(_: NonNull<RawJob>, worker: &Worker) {
    ///     let (a, b) = worker.join(|_| 1, |_| 2);
    ///     *SUM.lock().unwrap() += a + b;
    /// }
    ///
    /// // SAFETY (for callers): none is needed.
    /// unsafe fn drop(_: NonNull<RawJob>) {}
    ///
    /// let executor = Builder::new().workers(1).build();
    /// executor.with_worker(|worker| {
    ///     for job in &JOBS {
    ///         // SAFETY: the functions need nothing, the jobs are never freed, and each is queued once.
    ///         unsafe { worker.spawn_raw(NonNull::from(job)) };
    ///     }
    /// });
    /// executor.wait_idle(None).unwrap();
    /// assert_eq!(*SUM.lock().unwrap(), 6);
    /// ```
    #[track_caller]
    pub unsafe fn spawn_raw(&self, job: NonNull<RawJob>) {
        match self.seat() {
            Some(seat) => {
                let pool = seat.pool();
                // SAFETY: the caller promises the same.
                unsafe { queue(pool, runner::reference_to(pool), job) }
            }
            // SAFETY: the caller promises the same.
            None => unsafe { self.spawner_for("spawn_raw").spawn_raw(job) },
        }
    }
}
