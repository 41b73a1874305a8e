//! In which fork seat the current thread forks, the handle of it that closures of a join get, and how a thief runs a job.
//!
//! | the thread                                   | forks in                                    | gives it back            |
//! |----------------------------------------------|---------------------------------------------|--------------------------|
//! | a worker                                     | a seat of its pool, from its first join on  | when it leaves its place |
//! | a guest, in `with_worker`                    | a seat of that pool                         | at the end of the call   |
//! | a guest of one pool inside of another        | the innermost, by a handle of `get_worker` the one that this asks for | at the end of the call |
//! | any other                                    | none: a join runs both halves in order      | –                        |
//!
//! The seats of a thread are a list, from the innermost outwards. That of its worker comes last.

use std::cell::Cell;
use std::marker::PhantomData;
use std::{fmt, ptr};

use terrace_queue::fork::{ForkDeque, Owner};
use terrace_sync::Arc;
use terrace_thread::Notify;
use terrace_trace::{Span, inside};

use super::Shared;
use super::runner::{self, Runner};
use crate::parts::forks::{By, ForkSeat};
use crate::protocol::job::JobRef;

/// A seat of a pool.
pub(crate) type Seat = ForkSeat<Shared, Job>;

terrace_sync::thread_local! {
    /// The innermost seat; null where there is none. Plain data without a destructor, so that it can be read at any time
    /// in the thread's life.
    static FORK: Cell<*const Seat> = const { Cell::new(ptr::null()) };
}

/// The innermost seat of this thread, or null. It is this thread's as long as the code that calls this runs inside of the worker's
/// loop or the guest's call which took the seat.
#[inline(always)]
pub(crate) fn innermost() -> *const Seat {
    FORK.with(Cell::get)
}

/// The innermost seat of this thread; that of the worker whose loop it runs, taken now, if it has none yet. Or null.
#[inline(always)]
pub(crate) fn innermost_or_new() -> *const Seat {
    let seat = innermost();
    if seat.is_null() {
        return take_as_worker();
    }
    seat
}

#[cold]
#[inline(never)]
fn take_as_worker() -> *const Seat {
    runner::with_worker(|worker| worker.map_or(ptr::null(), of_worker))
}

/// The seat of this worker, which runs on this thread, if it has forked. While it has none, the one of a call of its pool that it is in.
fn seat_of<'s>(worker: &Runner<'_>) -> Option<&'s Seat> {
    // The outermost: the worker may be inside of a call of another pool, and there have entered its own once more.
    let of_worker = |seat: &&Seat| seat.by() == By::Worker && seat.is_of(worker.pool);
    seats().filter(of_worker).last()
}

/// Takes a seat for this thread's worker, which has none in the list, and puts it at the end.
fn of_worker(worker: &Runner<'_>) -> *const Seat {
    let pool = worker.pool;
    let seat = pool.forks.enter(pool, By::Worker);
    link_after(seats().last(), seat);
    seat
}

/// Sets what comes in the list of this thread after a seat, or is the innermost.
fn link_after(inner: Option<&Seat>, seat: *const Seat) {
    match inner {
        Some(inner) => inner.outer.set(seat),
        None => FORK.with(|fork| fork.set(seat)),
    }
}

/// The innermost seat that this thread has in `pool`, also beneath seats in others; that of its worker, taken now if need be. Or null.
pub(crate) fn seat_in(pool: &Shared) -> *const Seat {
    match seats().find(|seat| seat.is_of(pool)) {
        Some(seat) => seat,
        None => runner::with_worker_of(pool, |worker| worker.map_or(ptr::null(), of_worker)),
    }
}

/// The worker leaves its place: it gives its seat back. It runs no code of users any more.
pub(crate) fn leave_fork_seat(worker: &Runner<'_>) {
    if let Some(seat) = seat_of(worker) {
        link_after(
            seats().find(|inner| ptr::eq(inner.outer.get(), seat)),
            ptr::null(),
        );
        worker.pool.forks.leave(seat);
    }
}

/// A guest's seat, given back when dropped.
pub(crate) struct Guest<'p>(pub(crate) &'p Seat);

impl<'p> Guest<'p> {
    /// The thread takes a seat of `pool`, and forks there.
    pub(crate) fn enter(pool: &'p Shared, by: By) -> Self {
        let seat = pool.forks.enter(pool, by);
        seat.outer.set(FORK.with(|fork| fork.replace(seat)));
        Self(seat)
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        FORK.with(|fork| fork.set(self.0.outer.replace(ptr::null())));
        self.0.pool().forks.leave(self.0);
    }
}

/// The seats of this thread, the innermost first.
fn seats<'s>() -> impl Iterator<Item = &'s Seat> {
    let follow = |seat: *const Seat| {
        // SAFETY: a seat in the list is this thread's, so the call that took it has not ended. The caller uses the reference
        // before it returns to that call.
        unsafe { seat.as_ref() }
    };
    std::iter::successors(follow(innermost()), move |seat| follow(seat.outer.get()))
}

/// The thread is about to sleep in a wait: it pushes nothing until [`resume_forking`].
pub(crate) fn pause_forking() {
    seats().for_each(Seat::pause);
}

/// The sleep has ended.
pub(crate) fn resume_forking() {
    seats().for_each(|seat| {
        if seat.resume() {
            seat.pool().publish_forking();
        }
    });
}

/// A worker is about to park, between two jobs.
pub(crate) fn stop_forking(worker: &Runner<'_>) {
    if let Some(seat) = seat_of(worker) {
        seat.rest();
    }
}

/// The place of the current thread in a pool, for fork-join. It is lent to closures, on their thread.
///
/// [`join`](Self::join) forks in this place. A handle without a pool runs both halves in order: so does one of a pool that had
/// no workers when the thread came.
///
/// It stays on its thread, so a future that holds it is not `Send`:
///
/// ```compile_fail,E0277
/// use terrace_executor::{Builder, Worker};
///
/// async fn hold(worker: &Worker) {
///     std::future::ready(()).await;
///     worker.join(|_| (), |_| ());
/// }
///
/// fn is_send<T: Send>(_: T) {}
/// Worker::with_current(|worker| is_send(hold(worker)));
/// ```
///
/// # Examples
///
/// ```
/// let executor = terrace_executor::Builder::new().workers(1).build();
/// let sum = executor.with_worker(|worker| {
///     let (a, b) = worker.join(|_| 1, |worker| worker.join(|_| 2, |_| 3));
///     a + b.0 + b.1
/// });
/// assert_eq!(sum, 6);
/// ```
#[doc(alias = "FnContext")]
pub struct Worker {
    /// Null if there is none.
    seat: *const Seat,
    /// The deque of the seat, or null: a join needs no more, mostly.
    deque: *const ForkDeque<Job>,
    on_thread: PhantomData<*const ()>,
}

impl Worker {
    /// A handle of `seat`, or of none.
    ///
    /// # Safety
    /// The seat is the calling thread's for as long as the handle lives, or null.
    #[inline(always)]
    pub(crate) unsafe fn in_seat(seat: *const Seat) -> Self {
        // SAFETY: the seat is the calling thread's (the caller's promise).
        let deque = unsafe { seat.as_ref() }.map_or(ptr::null(), |seat| &raw const *seat.deque);
        Self {
            seat,
            deque,
            on_thread: PhantomData,
        }
    }

    /// Calls `f` with the handle of the current thread: of the worker whose task it polls, or of the innermost
    /// [`Executor::with_worker`](crate::Executor::with_worker). On any other thread the handle is one without a pool.
    ///
    /// Cost: one thread-local load. The first call of a worker makes its deque.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::Worker;
    ///
    /// // This thread is in no pool: both halves run here.
    /// assert_eq!(Worker::with_current(|worker| worker.join(|_| 1, |_| 2)), (1, 2));
    /// ```
    #[doc(alias = "current_thread")]
    #[inline(always)]
    pub fn with_current<T>(f: impl FnOnce(&Self) -> T) -> T {
        // SAFETY: the seat is left by a frame further out on this stack, so not before `f` has ended.
        let worker = unsafe { Self::in_seat(innermost_or_new()) };
        f(&worker)
    }

    /// Whether it is the place of a thread in a pool.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, Worker};
    ///
    /// assert!(!Worker::with_current(Worker::is_in_pool));
    /// assert!(Builder::new().workers(1).build().with_worker(Worker::is_in_pool));
    /// ```
    #[inline]
    #[must_use = "the call only answers a question"]
    pub fn is_in_pool(&self) -> bool {
        !self.seat.is_null()
    }

    /// Whether the caller is inside of a half of a join that another thread has forked: then the data may lie in the other's cache, and
    /// splitting further pays.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::Builder;
    ///
    /// let executor = Builder::new().workers(1).build();
    /// executor.with_worker(|worker| {
    ///     // The second half of a join runs where the join was called.
    ///     let ((), stayed) = worker.join(|_| (), |worker| !worker.migrated());
    ///     assert!(stayed);
    /// });
    /// ```
    #[inline]
    #[must_use = "the call only answers a question"]
    pub fn migrated(&self) -> bool {
        self.seat().is_some_and(|seat| seat.mine.migrated.get())
    }

    /// The owner's side of the deque in its seat.
    #[inline(always)]
    pub(crate) fn owner(&self) -> Option<Owner<'_, Job>> {
        // SAFETY: the seat, and so its deque, is this thread's for as long as the handle lives.
        let deque = unsafe { self.deque.as_ref() }?;
        // SAFETY: one thread holds the seat, and handles are not `Sync`. `Forks::enter` orders threads that change.
        Some(unsafe { deque.owner() })
    }

    #[inline]
    pub(crate) fn seat(&self) -> Option<&Seat> {
        // SAFETY: the seat is this thread's for as long as the handle lives, so its pool lives.
        unsafe { self.seat.as_ref() }
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("is_in_pool", &self.is_in_pool())
            .field("executor", &self.executor())
            .field("migrated", &self.migrated())
            .finish()
    }
}

/// A job of the pools' joins.
pub(crate) type Job = JobRef<Worker>;

/// A job that the calling thread has claimed: it runs it once.
#[must_use = "its joiner waits"]
pub(crate) struct Claimed(Job);

impl Claimed {
    /// # Safety
    /// The calling thread has claimed the job.
    pub(crate) unsafe fn new(job: Job) -> Self {
        Self(job)
    }

    /// The function that runs jobs of this call-site.
    pub(crate) fn site(&self) -> usize {
        // SAFETY: this thread has claimed the job.
        unsafe { self.0.header() }.site()
    }

    /// Runs it, and lets its joiner go on. The caller keeps `pool` alive.
    pub(crate) fn run(self, pool: &Shared) {
        let _inside = inside(Span::Job);
        let Self(job) = self;
        let seat = seat_in(pool);
        // SAFETY: `seat_in` returns a seat of this thread, which the thread gives back further out on this stack.
        let worker = unsafe { Worker::in_seat(seat) };
        match worker.seat() {
            Some(seat) => {
                // SAFETY: the seat is this thread's.
                let owner = unsafe { seat.owner() };
                let nest = seat.nest.as_ref();
                let root = nest.and_then(|nest| nest.begin(&owner));
                if let Some(root) = root {
                    // SAFETY: this thread has claimed the job.
                    unsafe { job.header() }.begun(root);
                }
                let outer = seat.root.replace(root.map(|_| job));
                let migrated = seat.mine.migrated.replace(true);
                // SAFETY: this thread has claimed the job, and runs it once.
                unsafe { job.execute(&worker) };
                seat.root.set(outer);
                seat.mine.migrated.set(migrated);
                if let (Some(nest), Some(root)) = (nest, root) {
                    nest.end(&owner, root);
                }
            }
            // SAFETY: this thread has claimed the job, and runs it once.
            None => unsafe { job.execute(&worker) },
        }
        // SAFETY: this thread has run the job, and sets the latch once.
        unsafe { job.set(Arc::clone, |joiner: Arc<dyn Notify>| joiner.notify()) };
    }
}
