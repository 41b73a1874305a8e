//! What a thread that takes part in a pool calls there, beside `join`: it spawns work that outlives its caller, closures and futures with a
//! handle; it waits; it lets one other piece of work run on top of its stack.

use std::future::Future;

use terrace_local::task::Task;
use terrace_sync::Arc;
use terrace_thread::ThreadSpawner;
use terrace_trace::inspect;

use crate::broadcast::worker_spawner;
use crate::parts::current::ExecutorId;
use crate::pool::Shared;
use crate::pool::fork::Worker;
use crate::pool::frames::{Borrows, with_pool};
use crate::pool::runner::with_worker_of;
use crate::run::block_on::block_on;
use crate::run::fork::with_worker_contained;
use crate::spawner::Spawner;
use crate::work::source::Look;
use crate::work::{self, Order};

/// Work for [`Worker::spawn`]: a closure whose output is `()`, without an argument or with `&Worker`; or a future, which gives a handle.
/// Sealed. [`Worker::spawn`] has an example of each.
#[diagnostic::on_unimplemented(
    message = "a pool cannot spawn `{Self}`",
    label = "neither a closure without a result nor a future, or it borrows or is not `Send`",
    note = "write `|| {{ … }}`, `|worker: &Worker| {{ … }}` with the type, or `async {{ … }}`",
    note = "the output of a closure is `()`: for a result, spawn `async move {{ … }}` and await its handle"
)]
pub trait Spawnable<M>: sealed::Sealed<M> + Send + 'static {
    /// What the spawner gets.
    type Output;

    /// Spawns the work.
    #[doc(hidden)]
    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn(self, place: Place<'_>) -> Self::Output;
}

/// Work for [`Worker::spawn_local`], which need not be `Send`: as [`Spawnable`] otherwise. Sealed.
/// [`Worker::spawn_local`] has an example.
#[diagnostic::on_unimplemented(
    message = "a worker cannot spawn `{Self}` for its own thread",
    label = "neither a closure without a result nor a future",
    note = "write `|| {{ … }}`, `|worker: &Worker| {{ … }}` with the type, or `async {{ … }}`",
    note = "the output of a closure is `()`: for a result, spawn `async move {{ … }}` and await its handle"
)]
pub trait SpawnableLocal<M>: sealed::Sealed<M> + 'static {
    /// What the spawner gets.
    type Output;

    /// Spawns the work on the calling thread, as a member of `pool` if there is one.
    #[doc(hidden)]
    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn_local(self, pool: Option<Spawner>) -> Self::Output;
}

/// One half of a [`join`](fn@crate::join): a closure without an argument, or with `&Worker`. Sealed.
/// [`join`](fn@crate::join) has an example.
#[diagnostic::on_unimplemented(
    message = "`join` cannot call `{Self}`",
    label = "not a closure without an argument, nor one that takes `&Worker`",
    note = "write `join(|| …, || …)`, or `join(|worker: &Worker| …, |worker: &Worker| …)` with the types"
)]
pub trait Half<M, T>: sealed::SealedHalf<M, T> {
    /// Calls the closure.
    #[doc(hidden)]
    fn call(self, worker: &Worker) -> T;
}

impl<T, F: FnOnce(&Worker) -> T> Half<sealed::OfClosure, T> for F {
    #[inline]
    fn call(self, worker: &Worker) -> T {
        self(worker)
    }
}

impl<T, F: FnOnce() -> T> Half<sealed::OfCall, T> for F {
    #[inline]
    fn call(self, _: &Worker) -> T {
        self()
    }
}

/// Where work goes.
#[doc(hidden)]
#[derive(Debug)]
pub struct Place<'s> {
    spawner: &'s Spawner,
    /// The worker, if it may run on no other.
    worker: Option<ThreadSpawner>,
}

impl Place<'_> {
    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn<T: Send + 'static>(self, future: impl Future<Output = T> + Send + 'static) -> Task<T> {
        match self.worker {
            Some(worker) => worker.spawn(inspect::task(&self.spawner.pool.records, future)),
            None => self.spawner.spawn(future),
        }
    }
}

mod sealed {
    use std::future::Future;
    use std::marker::PhantomData;

    use crate::pool::fork::Worker;

    /// Tells closures that take a worker from the others.
    pub struct OfClosure;
    /// Tells closures without an argument from the others.
    pub struct OfCall;
    /// Tells work that is a closure, of either kind.
    pub struct OfHalf<M>(PhantomData<M>);
    /// Tells futures from closures.
    pub struct OfFuture;

    pub trait Sealed<M> {}

    pub trait SealedHalf<M, T> {}

    impl<T, F: FnOnce(&Worker) -> T> SealedHalf<OfClosure, T> for F {}
    impl<T, F: FnOnce() -> T> SealedHalf<OfCall, T> for F {}
    impl<M, F: SealedHalf<M, ()>> Sealed<OfHalf<M>> for F {}
    impl<F: Future> Sealed<OfFuture> for F {}
}

impl<M, F: Half<M, ()> + Send + 'static> Spawnable<sealed::OfHalf<M>> for F {
    type Output = ();

    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn(self, place: Place<'_>) {
        let pool = Arc::clone(&place.spawner.pool);
        // The thread that polls it may be none of the pool's, such as one that waits while the pool has no workers.
        place
            .spawn(async move { with_worker_contained(&pool, |worker| self.call(worker)) })
            .detach();
    }
}

impl<F> Spawnable<sealed::OfFuture> for F
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    type Output = Task<F::Output>;

    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn(self, place: Place<'_>) -> Task<F::Output> {
        place.spawn(self)
    }
}

impl<M, F: Half<M, ()> + 'static> SpawnableLocal<sealed::OfHalf<M>> for F {
    type Output = ();

    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn_local(self, pool: Option<Spawner>) {
        let work = async move {
            let call = |worker: &Worker| self.call(worker);
            match pool {
                Some(Spawner { pool }) => with_worker_contained(&pool, call),
                None => Worker::with_current(call),
            }
        };
        terrace_thread::spawn_local(work).detach();
    }
}

impl<F: Future + 'static> SpawnableLocal<sealed::OfFuture> for F {
    type Output = Task<F::Output>;

    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn_local(self, _: Option<Spawner>) -> Task<F::Output> {
        terrace_thread::spawn_local(self)
    }
}

impl Spawner {
    /// Spawns a closure or a future, as [`Worker::spawn`] does.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    /// use terrace_executor::{Builder, block_on};
    ///
    /// let executor = Builder::new().workers(1).build();
    /// let spawner = executor.spawner();
    /// let (sender, words) = channel();
    /// spawner.spawn_work(move || sender.send("a closure").unwrap());
    /// assert_eq!(words.recv(), Ok("a closure"));
    /// assert_eq!(block_on(spawner.spawn_work(async { "a future" })), "a future");
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_work<M, S: Spawnable<M>>(&self, work: S) -> S::Output {
        work.spawn(Place {
            spawner: self,
            worker: None,
        })
    }

    /// Spawns a closure or a future that runs on the worker with this number only, as [`Worker::spawn_on`] does.
    ///
    /// # Panics
    /// If there is no worker with this number.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, block_on, current};
    ///
    /// let executor = Builder::new().workers(2).build();
    /// let worker = executor.spawner().spawn_work_on(1, async { current().map(|current| current.worker()) });
    /// assert_eq!(block_on(worker), Some(1));
    /// ```
    #[track_caller]
    pub fn spawn_work_on<M, S: Spawnable<M>>(&self, worker: usize, work: S) -> S::Output {
        let worker = worker_spawner(&self.pool, worker);
        work.spawn(Place {
            spawner: self,
            worker: Some(worker),
        })
    }
}

impl Worker {
    /// A handle that spawns onto the pool from anywhere. `None` where the handle knows no pool: see [`is_in_pool`](Self::is_in_pool). A
    /// task that a `run` future polls has the pool of that.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, Worker, block_on};
    ///
    /// let executor = Builder::new().workers(1).build();
    /// let spawner = executor.with_worker(Worker::spawner).expect("it knows the pool");
    /// assert_eq!(block_on(spawner.spawn(async { 6 * 7 })), 42);
    /// assert!(Worker::with_current(Worker::spawner).is_none(), "this thread is in no pool");
    /// ```
    #[must_use = "a handle spawns nothing by itself"]
    pub fn spawner(&self) -> Option<Spawner> {
        self.map_pool(|pool| Spawner { pool: pool.arc() })
    }

    /// The executor that the handle spawns on. `None` where it knows none, as for [`spawner`](Self::spawner).
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Builder::new().workers(1).build();
    /// executor.with_worker(|worker| assert_eq!(worker.executor(), Some(executor.id())));
    /// ```
    #[must_use = "the call only reads a value"]
    pub fn executor(&self) -> Option<ExecutorId> {
        self.map_pool(|pool| pool.id)
    }

    /// The number of workers of the pool; 0 where the handle knows none. Guests are not counted.
    ///
    /// Cost: one relaxed load.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Builder::new().workers(2).build();
    /// assert_eq!(executor.with_worker(|worker| worker.num_members()), 2);
    /// ```
    #[doc(alias = "current_num_threads")]
    #[must_use = "the call only reads a count"]
    pub fn num_members(&self) -> usize {
        self.map_pool(Shared::workers).unwrap_or(0)
    }

    fn map_pool<T>(&self, f: impl FnOnce(&Shared) -> T) -> Option<T> {
        match self.seat() {
            Some(seat) => Some(f(seat.pool())),
            None => with_pool(|pool| pool.map(f)),
        }
    }

    #[track_caller]
    pub(crate) fn spawner_for(&self, verb: &str) -> Spawner {
        match self.spawner() {
            Some(spawner) => spawner,
            None => panic!(
                "{verb}: this thread takes part in no pool. Call it in a task of a pool, or inside of `with_worker`, or on the pool itself"
            ),
        }
    }

    /// Spawns a closure or a future on the pool. A future's handle can be awaited, detached or cancelled; a dropped handle cancels.
    /// While the pool has no workers, the work waits for a thread that waits or [yields](Self::yield_now).
    ///
    /// A panic of a closure goes to the pool's panic handler, that of a future to its handle.
    ///
    /// Cost: one allocation, and four read-modify-writes.
    ///
    /// # Panics
    /// If the handle knows no pool.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    /// use terrace_executor::{Builder, Worker, block_on};
    ///
    /// let executor = Builder::new().workers(1).build();
    /// let (sender, sums) = channel();
    /// let task = executor.with_worker(|worker| {
    ///     worker.spawn(move |worker: &Worker| {
    ///         let (a, b) = worker.join(|_| 1, |_| 2);
    ///         sender.send(a + b).unwrap();
    ///     });
    ///     worker.spawn(async { 4 })
    /// });
    /// assert_eq!(sums.recv(), Ok(3));
    /// assert_eq!(block_on(task), 4);
    /// ```
    #[track_caller]
    pub fn spawn<M, S: Spawnable<M>>(&self, work: S) -> S::Output {
        self.spawner_for("spawn").spawn_work(work)
    }

    /// Spawns a closure or a future that runs on the worker with this number only, counted from 0. If the worker ends first, the
    /// work is dropped.
    ///
    /// Cost: as [`spawn`](Self::spawn), and a lock and two allocations for the list of workers.
    ///
    /// # Panics
    /// If there is no worker with this number, or the handle knows no pool. A [hosted](crate::Builder::build_hosted) worker is there once its
    /// thread has begun.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Builder::new().workers(2).build();
    /// let thread = || async { std::thread::current().id() };
    /// let both = executor.with_worker(|worker| [worker.spawn_on(1, thread()), worker.spawn_on(1, thread())]);
    /// let [one, other] = both.map(terrace_executor::block_on);
    /// assert_eq!(one, other);
    /// ```
    #[track_caller]
    pub fn spawn_on<M, S: Spawnable<M>>(&self, worker: usize, work: S) -> S::Output {
        self.spawner_for("spawn_on").spawn_work_on(worker, work)
    }

    /// Spawns a closure or a future that stays on this thread, and need not be `Send`. A worker runs it between its tasks. Any thread runs it
    /// in its waits of Terrace, and by [`yield_now`](Self::yield_now). At the end of the thread what has not run is dropped.
    ///
    /// It needs no pool: it is `terrace_thread::spawn_local`, for closures too.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::rc::Rc;
    ///
    /// let executor = terrace_executor::Builder::new().workers(1).build();
    /// let seven = Rc::new(7);
    /// let doubled = executor.with_worker(|worker| {
    ///     let task = worker.spawn_local(async move { *seven * 2 });
    ///     worker.block_on(task)
    /// });
    /// assert_eq!(doubled, 14);
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_local<M, S: SpawnableLocal<M>>(&self, work: S) -> S::Output {
        work.spawn_local(self.spawner())
    }

    /// Blocks the thread until `future` is done: [`block_on`](fn@crate::block_on). It needs no pool.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Builder::new().workers(1).build();
    /// let answer = executor.with_worker(|worker| {
    ///     let task = worker.spawn(async { 6 * 7 });
    ///     worker.block_on(task)
    /// });
    /// assert_eq!(answer, 42);
    /// ```
    pub fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        block_on(future)
    }
}

/// What a [yield](Worker::yield_now) did.
/// [`Worker::yield_now`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// It ran a piece of work.
    Executed,
    /// It found none. Yield again when there may be more, or sleep.
    Idle,
}

impl Worker {
    /// Runs one piece of work of the pool, if there is one: a task that is pinned to this thread, a job that another thread has
    /// forked, a task, or a child of a scope. For loops that wait for something that the pool does not know of.
    ///
    /// The work runs on top of the caller's stack, whatever it is: a caller that holds a lock may run work that wants it. A wait
    /// of Terrace (`join`, a scope, [`block_on`](fn@crate::block_on)) runs only work that cannot do that, so prefer those.
    /// A handle without a pool runs pinned tasks only.
    ///
    /// # Panics
    /// It does not: panics of the work are caught, as elsewhere.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, Yield};
    ///
    /// let executor = Builder::new().workers(1).build();
    /// let task = executor.spawn(async {});
    /// executor.with_worker(|worker| {
    ///     while !task.is_finished() {
    ///         if worker.yield_now() == Yield::Idle {
    ///             std::thread::yield_now();
    ///         }
    ///     }
    /// });
    /// ```
    pub fn yield_now(&self) -> Yield {
        self.run_one(|pool| {
            let taken = work::last_resort_take(pool)?;
            with_worker_of(pool, |worker| match worker {
                Some(worker) => worker.enter(|| taken.found.run(pool)),
                // The thread is in a call of `with_worker`, which borrows the executor.
                None => taken.found.run_without_seat(pool, Borrows::Executor),
            });
            Some(())
        })
    }

    /// Runs one piece of the work that lies at this thread, if there is one: a task that is pinned to it, or one in the queue
    /// of the worker. As [`yield_now`](Self::yield_now) otherwise.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, Worker, Yield, block_on};
    ///
    /// let executor = Builder::new().workers(1).build();
    /// let spawner = executor.spawner();
    /// let yields = executor.spawn(async move {
    ///     spawner.spawn(async {}).detach();
    ///     Worker::with_current(|worker| [worker.yield_local(), worker.yield_local()])
    /// });
    /// assert_eq!(block_on(yields), [Yield::Executed, Yield::Idle]);
    /// ```
    pub fn yield_local(&self) -> Yield {
        self.run_one(|pool| {
            with_worker_of(pool, |worker| {
                let worker = worker?;
                worker.flush();
                let taken = work::OwnQueues::take(&Look::turn(worker))?;
                worker.enter(|| taken.found.run(pool));
                Some(())
            })
        })
    }

    /// Runs a task that is pinned to this thread, or a piece of work that `run_of` finds in the pool.
    fn run_one(&self, run_of: impl FnOnce(&Shared) -> Option<()>) -> Yield {
        let pinned = terrace_thread::has_work() && terrace_thread::tick();
        if pinned || self.seat().and_then(|seat| run_of(seat.pool())).is_some() {
            Yield::Executed
        } else {
            Yield::Idle
        }
    }
}

/// [`Worker::yield_now`] in the current thread's place.
///
/// # Examples
///
/// ```
/// use terrace_executor::{Yield, yield_now};
///
/// // This thread is in no pool, and has no pinned task.
/// assert_eq!(yield_now(), Yield::Idle);
/// ```
pub fn yield_now() -> Yield {
    Worker::with_current(Worker::yield_now)
}

/// [`Worker::yield_local`] in the current thread's place.
///
/// # Examples
///
/// ```
/// use terrace_executor::{Builder, Current, Yield, block_on, yield_local};
///
/// let executor = Builder::new().workers(1).build();
/// let yields = executor.spawn(async {
///     Current::spawn(async {}).detach();
///     [yield_local(), yield_local()]
/// });
/// assert_eq!(block_on(yields), [Yield::Executed, Yield::Idle]);
/// ```
pub fn yield_local() -> Yield {
    Worker::with_current(Worker::yield_local)
}
