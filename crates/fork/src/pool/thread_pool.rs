//! The pool itself: its executor, and what runs on it right away.

use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use terrace_executor::{
    Broadcast, Builder, Executor, ExecutorId, Payload, RawJob, Spawnable, SpawnableLocal,
    StaticExecutor, Worker, Yield, block_on, drop_payload,
};
use terrace_sync::{Arc, Mutex, OnceLock};

use crate::scope::{Scope, scope};

type PanicHandler = dyn Fn(Payload) + Send + Sync;
type Handler = Arc<Mutex<Option<Arc<PanicHandler>>>>;

/// A pool of worker threads, to be put into a `static` or to be owned. It has no workers at first; [`resize`](Self::resize)
/// and the methods beside it start and end some at any time. While it has none, work runs on the caller.
///
/// Any number of other threads may call its methods. A thread that calls [`join`](Self::join) takes part as a member until the
/// call ends; so does one in [`with_worker`](Self::with_worker).
///
/// An owned pool ends its threads when it is dropped, and drops the tasks that have not ended, as an
/// [`Executor`] does. All that an `Executor` offers besides is at [`executor`](Self::executor).
///
/// # Examples
///
/// ```
/// use terrace_executor::Worker;
/// use terrace_fork::ThreadPool;
///
/// static POOL: ThreadPool = ThreadPool::new();
///
/// fn sum(worker: &Worker, numbers: &[u64]) -> u64 {
///     if numbers.len() <= 128 {
///         return numbers.iter().sum();
///     }
///     let (left, right) = numbers.split_at(numbers.len() / 2);
///     let (left, right) = worker.join(|worker| sum(worker, left), |worker| sum(worker, right));
///     left + right
/// }
///
/// let numbers: Vec<u64> = (0..10_000).collect();
/// for workers in [0, 1, 2] {
///     POOL.resize_to(workers);
///     assert_eq!(POOL.with_worker(|worker| sum(worker, &numbers)), 49_995_000);
/// }
/// POOL.depopulate();
/// ```
#[doc(alias = "ThreadPoolBuilder")]
pub struct ThreadPool {
    /// Made at first use.
    made: OnceLock<Made>,
}

pub(super) struct Made {
    pub(super) executor: Executor<'static>,
    handler: Handler,
    /// Held during a resize.
    pub(super) resizing: Mutex<()>,
}

/// Hands a payload to the handler that is set now. A panic of the handler comes out.
fn tell(handler: &Mutex<Option<Arc<PanicHandler>>>, payload: Payload) {
    // Not under the lock: a handler may set another one.
    let handler = handler.lock().clone();
    match handler {
        Some(handler) => handler(payload),
        None => drop_payload(payload),
    }
}

impl Made {
    fn new() -> Self {
        let handler = Handler::default();
        let told = Arc::clone(&handler);
        let told = move |payload: Payload| tell(&told, payload);
        Self {
            executor: Builder::new().workers(0).panic_handler(told).build(),
            handler,
            resizing: Mutex::new(()),
        }
    }
}

impl ThreadPool {
    terrace_sync::const_fn! {
        /// A pool without workers. Nothing is allocated until its first use.
        ///
        /// # Examples
        ///
        /// ```
        /// use terrace_fork::ThreadPool;
        ///
        /// static POOL: ThreadPool = ThreadPool::new();
        ///
        /// POOL.resize_to(2);
        /// assert_eq!(POOL.join(|_| 1, |_| 2), (1, 2));
        /// # POOL.depopulate();
        /// ```
        #[must_use = "a pool has no threads until it is populated"]
        pub const fn new() -> Self {
            Self { made: OnceLock::new() }
        }
    }

    pub(super) fn made(&self) -> &Made {
        self.made.get_or_init(Made::new)
    }

    /// The executor that the pool stands on: lanes, metrics, shutdown, and the rest.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::Lane;
    ///
    /// let pool = terrace_fork::ThreadPool::new();
    /// pool.populate();
    /// let task = pool.executor().spawn_on(Lane::High, async { 6 * 7 });
    /// assert_eq!(pool.block_on(task), 42);
    /// ```
    pub fn executor(&self) -> &Executor<'static> {
        &self.made().executor
    }

    /// The executor of a pool in a `static`: a future that is spawned there counts no references.
    ///
    /// # Examples
    ///
    /// ```
    /// static POOL: terrace_fork::ThreadPool = terrace_fork::ThreadPool::new();
    ///
    /// let task = POOL.static_executor().spawn(async { 6 * 7 });
    /// assert_eq!(POOL.block_on(task), 42);
    /// ```
    pub fn static_executor(&'static self) -> &'static StaticExecutor {
        self.executor().as_static()
    }

    /// Its id, which no other pool of the program has had. [`Worker::executor`] tells it of a handle.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_fork::ThreadPool;
    ///
    /// let (one, other) = (ThreadPool::new(), ThreadPool::new());
    /// assert_ne!(one.id(), other.id());
    /// one.populate();
    /// assert_eq!(one.with_worker(|worker| worker.executor()), Some(one.id()));
    /// ```
    #[must_use = "the call only reads a value"]
    pub fn id(&self) -> ExecutorId {
        self.executor().id()
    }

    /// The number of its workers.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = terrace_fork::ThreadPool::new();
    /// assert_eq!(pool.num_members(), 0);
    /// pool.resize_to(2);
    /// assert_eq!(pool.num_members(), 2);
    /// ```
    #[doc(alias = "current_num_threads")]
    pub fn num_members(&self) -> usize {
        self.executor().workers()
    }

    /// Hands payloads of panics that reach no caller to `handler`: of spawned closures, of detached tasks, of destructors. It replaces the
    /// handler from before. Without one, the pool drops them; the panic hook has reported the panic.
    ///
    /// A panic of the handler is caught and dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = terrace_fork::ThreadPool::new();
    /// pool.populate();
    /// let (sender, said) = std::sync::mpsc::channel();
    /// pool.set_panic_handler(move |payload| sender.send(*payload.downcast::<&str>().unwrap()).unwrap());
    /// pool.spawn(|| panic!("no caller waits for this"));
    /// assert_eq!(said.recv(), Ok("no caller waits for this"));
    /// ```
    pub fn set_panic_handler(&self, handler: impl Fn(Payload) + Send + Sync + 'static) {
        let before = self.made().handler.lock().replace(Arc::new(handler));
        // A destructor of users runs under no lock.
        drop(before);
    }

    /// Hands a payload to the [panic handler](Self::set_panic_handler), as the pool does with one that reaches no caller: for engines that
    /// catch panics of their own jobs.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::panic::catch_unwind;
    ///
    /// let pool = terrace_fork::ThreadPool::new();
    /// let (sender, said) = std::sync::mpsc::channel();
    /// pool.set_panic_handler(move |payload| {
    ///     sender.send(*payload.downcast::<&str>().unwrap()).unwrap();
    ///     panic!("which is dropped");
    /// });
    /// pool.handle_panic(catch_unwind(|| panic!("caught")).unwrap_err());
    /// assert_eq!(said.recv(), Ok("caught"));
    /// ```
    pub fn handle_panic(&self, payload: Payload) {
        let handler = &self.made().handler;
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| tell(handler, payload))) {
            drop_payload(payload);
        }
    }

    /// Calls `f` as a member of the pool: joins by its handle run on the workers, too, also on those that start later. Cost: see
    /// [`Executor::with_worker`].
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = terrace_fork::ThreadPool::new();
    /// pool.populate();
    /// let (a, b) = pool.with_worker(|worker| worker.join(|_| 6, |_| 7));
    /// assert_eq!(a * b, 42);
    /// ```
    #[doc(alias = "install")]
    pub fn with_worker<T>(&self, f: impl FnOnce(&Worker) -> T) -> T {
        self.executor().with_worker(f)
    }

    /// Calls `f` with the handle of this thread if it is a member now: a worker, or inside of [`with_worker`](Self::with_worker). Inside
    /// of two pools it is a member of both. The functions in [`here`](crate::here) find the inner one; each pool's `get_worker` finds the
    /// thread's place in that pool.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = terrace_fork::ThreadPool::new();
    /// pool.populate();
    /// assert!(pool.get_worker(|worker| worker.is_none()));
    /// assert!(pool.with_worker(|_| pool.get_worker(|worker| worker.is_some())));
    /// ```
    pub fn get_worker<T>(&self, f: impl FnOnce(Option<&Worker>) -> T) -> T {
        self.executor().get_worker(f)
    }

    /// [`Worker::join`] as a member: forks `a`, runs `b`, then `a` unless another thread has taken it.
    ///
    /// # Panics
    /// If a closure panics, when both have ended: with the payload of `b` if both panic.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = terrace_fork::ThreadPool::new();
    /// pool.populate();
    /// assert_eq!(pool.join(|_| 6, |_| 7), (6, 7));
    /// ```
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(&Worker) -> RA + Send,
        B: FnOnce(&Worker) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.executor().join(a, b)
    }

    /// Runs `body` on this thread with a scope whose children may borrow, and returns when they have ended: see
    /// [`scope`](fn@crate::scope).
    ///
    /// # Panics
    /// With the panic of `body`, else with that of a child, when all have ended.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = terrace_fork::ThreadPool::new();
    /// pool.populate();
    /// let mut numbers = [1, 2, 3];
    /// let mut bodies = 0;
    /// pool.scope(|scope| {
    ///     bodies += 1;
    ///     for number in &mut numbers {
    ///         scope.spawn(async move { *number *= 2 });
    ///     }
    /// });
    /// assert_eq!((bodies, numbers), (1, [2, 4, 6]));
    /// ```
    #[doc(alias = "in_place_scope")]
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn scope<'env, T>(
        &self,
        body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
    ) -> T {
        scope(self.executor(), body)
    }

    /// Spawns a closure or a future. A future's handle can be awaited, detached or cancelled; a dropped handle cancels. While the
    /// pool has no workers, the work waits for a thread that waits, or for [`yield_now`](Self::yield_now).
    ///
    /// A panic of a closure goes to the [panic handler](Self::set_panic_handler), that of a future to its handle.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_fork::ThreadPool;
    ///
    /// static POOL: ThreadPool = ThreadPool::new();
    ///
    /// fn checksum(block: Vec<u8>) -> u32 {
    ///     block.iter().fold(1, |sum, byte| sum * 31 % 65_521 + u32::from(*byte))
    /// }
    ///
    /// for workers in [0, 1, 2] {
    ///     POOL.resize_to(workers);
    ///     let one = POOL.spawn(async { checksum(vec![1; 1_000]) });
    ///     let other = POOL.spawn(async { checksum(vec![1; 1_000]) });
    ///     POOL.spawn(async { checksum(vec![2; 1_000]) }).detach();
    ///     drop(POOL.spawn(async { checksum(vec![3; 1_000]) }));
    ///     let both = async { (one.await, other.await) };
    ///     let (one, other) = POOL.block_on(both);
    ///     assert_eq!(one, other);
    /// }
    /// POOL.depopulate();
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn<M, S: Spawnable<M>>(&self, work: S) -> S::Output {
        self.executor().spawner().spawn_work(work)
    }

    /// Spawns a closure or a future that runs on the worker with this number only, counted from 0. If the worker ends first, the
    /// work is dropped.
    ///
    /// # Panics
    /// If there is no worker with this number.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = terrace_fork::ThreadPool::new();
    /// pool.resize_to(2);
    /// let thread = || async { std::thread::current().id() };
    /// let (one, same) = (pool.spawn_on(1, thread()), pool.spawn_on(1, thread()));
    /// assert_eq!(pool.block_on(one), pool.block_on(same));
    /// ```
    #[track_caller]
    pub fn spawn_on<M, S: Spawnable<M>>(&self, worker: usize, work: S) -> S::Output {
        self.executor().spawner().spawn_work_on(worker, work)
    }

    /// [`Worker::spawn_raw`]: queues a job in memory of the program, without an allocation of its own.
    ///
    /// # Safety
    /// As [`Worker::spawn_raw`].
    ///
    /// # Examples
    ///
    /// ```
    /// use std::ptr::NonNull;
    /// use terrace_executor::{RawJob, Worker};
    /// use terrace_fork::{ThreadPool, Yield};
    /// use terrace_sync::atomic::{AtomicUsize, Ordering::SeqCst};
    ///
    /// static RUNS: AtomicUsize = AtomicUsize::new(0);
    /// static JOB: RawJob = RawJob::new(run, drop);
    ///
    /// // SAFETY (for callers): none is needed.
    /// unsafe fn run(_: NonNull<RawJob>, _: &Worker) {
    ///     RUNS.fetch_add(1, SeqCst);
    /// }
    ///
    /// // SAFETY (for callers): none is needed.
    /// unsafe fn drop(_: NonNull<RawJob>) {}
    ///
    /// let pool = ThreadPool::new();
    /// // SAFETY: the functions need nothing, the job is never freed, and is queued once.
    /// unsafe { pool.spawn_raw(NonNull::from(&JOB)) };
    /// assert_eq!(pool.yield_now(), Yield::Executed);
    /// assert_eq!(RUNS.load(SeqCst), 1);
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub unsafe fn spawn_raw(&self, job: NonNull<RawJob>) {
        // SAFETY: the caller promises the same.
        unsafe { self.executor().spawner().spawn_raw(job) }
    }

    /// [`Worker::spawn_local`] as a member: the work stays on this thread, and need not be `Send`.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::rc::Rc;
    ///
    /// let pool = terrace_fork::ThreadPool::new();
    /// let seven = Rc::new(7);
    /// let task = pool.spawn_local(async move { *seven * 6 });
    /// assert_eq!(pool.block_on(task), 42);
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_local<M, S: SpawnableLocal<M>>(&self, work: S) -> S::Output {
        self.with_worker(|worker| worker.spawn_local(work))
    }

    /// [`Worker::broadcast`]: calls `f` once on each worker, and returns the results in their order.
    ///
    /// # Panics
    /// If a call panics, when all have ended: with the payload of the first worker.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = terrace_fork::ThreadPool::new();
    /// let greeting = String::from("borrowed");
    /// for workers in [0, 1, 2] {
    ///     pool.resize_to(workers);
    ///     let parts = pool.broadcast(|part| (part.index, part.participants, greeting.len()));
    ///     let expected: Vec<_> = (0..workers.max(1)).map(|index| (index, workers.max(1), 8)).collect();
    ///     assert_eq!(parts, expected);
    /// }
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn broadcast<T: Send>(&self, f: impl Fn(Broadcast<'_>) -> T + Sync) -> Vec<T> {
        self.executor().broadcast(f)
    }

    /// [`Worker::spawn_broadcast`]: calls `f` once on each worker, some time later.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = terrace_fork::ThreadPool::new();
    /// pool.resize_to(2);
    /// let (sender, parts) = std::sync::mpsc::channel();
    /// pool.spawn_broadcast(move |part| sender.send(part.index).unwrap());
    /// let mut parts: Vec<_> = parts.iter().collect();
    /// parts.sort();
    /// assert_eq!(parts, [0, 1]);
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_broadcast(&self, f: impl Fn(Broadcast<'_>) + Send + Sync + 'static) {
        self.executor().spawner().spawn_broadcast(f);
    }

    /// Blocks the thread until `future` is done. Until then the thread runs its pinned tasks, and tasks of pools without workers: see
    /// [`terrace_executor::block_on`].
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = terrace_fork::ThreadPool::new();
    /// let task = pool.spawn(async { 6 * 7 });
    /// assert_eq!(pool.block_on(async { task.await + 1 }), 43);
    /// ```
    pub fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        let executor = self.executor();
        if executor.workers() == 0 {
            return block_on(executor.run(future));
        }
        block_on(future)
    }

    /// [`Worker::yield_now`] as a member: runs one piece of the pool's work, if there is one.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_fork::{ThreadPool, Yield};
    ///
    /// let pool = ThreadPool::new();
    /// let task = pool.spawn(async {});
    /// assert_eq!(pool.yield_now(), Yield::Executed);
    /// assert!(task.is_finished());
    /// ```
    pub fn yield_now(&self) -> Yield {
        self.executor().with_worker(Worker::yield_now)
    }

    /// [`Worker::yield_local`] as a member: runs one piece of the work that lies at this thread, if there is one.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_fork::{ThreadPool, Yield};
    ///
    /// let pool = ThreadPool::new();
    /// let local = pool.spawn_local(async {});
    /// assert_eq!(pool.yield_local(), Yield::Executed);
    /// assert!(local.is_finished());
    /// assert_eq!(pool.yield_local(), Yield::Idle);
    /// ```
    pub fn yield_local(&self) -> Yield {
        self.executor().with_worker(Worker::yield_local)
    }
}

impl Default for ThreadPool {
    /// The same as [`new`](Self::new): without workers.
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let members = self.made.get().map_or(0, |made| made.executor.workers());
        f.debug_struct("ThreadPool")
            .field("members", &members)
            .finish_non_exhaustive()
    }
}
