//! Where the current thread is in a pool: which worker it is, and whose tasks it polls now.
//!
//! Two thread-locals, since a worker may drive another executor in the middle of a job: `WORKER` is the worker whose
//! loop runs on the thread, which is what waits go by; `CONTEXT` is the innermost worker or driver whose tasks are being
//! polled, which is where spawns go. What it tells the tasks themselves is in `super::current`.

use std::cell::Cell;
use std::ptr;

use terrace_local::task::Runnable;
use terrace_sync::Arc;

use super::Shared;
use super::current::{self, Current, current};
use super::in_hand::InHand;
use super::lanes::Lane;
use super::seat::Seat;
use super::worker::Worker;
use crate::again::Again;

terrace_sync::thread_local! {
    /// The worker whose loop runs on this thread; null elsewhere. Plain data without a destructor,
    /// so that it can be read at any time in the thread's life.
    static WORKER: Cell<*const Worker> = const { Cell::new(ptr::null()) };
    /// The innermost worker or driver; null elsewhere. Plain data, as above.
    static CONTEXT: Cell<*const Context> = const { Cell::new(ptr::null()) };
}

/// Whose tasks a thread polls.
pub(crate) struct Context {
    /// What tasks are told when it is entered.
    told: Current,
    pub(crate) again: Again,
    /// Of a worker: a driver may be forgotten.
    in_hand: InHand,
    /// Kept alive by who has entered.
    pool: *const Shared,
    /// A seat that the thread holds for as long as the context is entered.
    seat: *const Seat,
}

impl Context {
    /// The context of the holder of `seat`, which is number `index` among its kind.
    pub(crate) fn new(pool: &Shared, seat: &Seat, index: u32) -> Self {
        Self {
            told: Current::of(pool.id, index as usize),
            again: Again::default(),
            in_hand: InHand::new(),
            pool,
            seat,
        }
    }

    /// The seat.
    #[inline]
    fn seat(&self) -> &Seat {
        // SAFETY: the seat is one of the pool's, which its worker or driver keeps alive while the context is entered; nobody
        // else gets at it.
        unsafe { &*self.seat }
    }

    /// Enters it until the guard is dropped.
    ///
    /// # Safety
    /// The guard is dropped on this thread, before the context and before anything entered earlier. The thread is the
    /// only one to hold the seat meanwhile.
    pub(crate) unsafe fn enter(&self) -> Entered {
        Entered {
            outer: CONTEXT.with(|context| context.replace(self)),
            told: current::tell(Some(self.told)),
        }
    }
}

/// Puts the outer context back when dropped.
pub(crate) struct Entered {
    outer: *const Context,
    told: Option<Current>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        CONTEXT.with(|context| context.set(self.outer));
        current::tell(self.told);
    }
}

/// Marks the current thread as one that runs a worker's loop until dropped.
pub(crate) struct OnWorker;

impl OnWorker {
    /// # Safety
    /// The guard is dropped on this thread, before `worker` is moved or dropped.
    pub(crate) unsafe fn new(worker: &Worker) -> Self {
        WORKER.with(|current| current.set(worker));
        Self
    }
}

impl Drop for OnWorker {
    fn drop(&mut self) {
        WORKER.with(|current| current.set(ptr::null()));
    }
}

/// Calls `f` with the worker whose loop runs on the current thread, if there is one.
#[inline]
pub(crate) fn with<T>(f: impl FnOnce(Option<&Worker>) -> T) -> T {
    let worker = WORKER.with(Cell::get);
    // SAFETY: the pointer is set only by `OnWorker::new`, whose caller keeps the worker in place until the guard resets
    // it, on this very thread.
    f(unsafe { worker.as_ref() })
}

#[inline]
fn context<T>(f: impl FnOnce(Option<&Context>) -> T) -> T {
    let context = CONTEXT.with(Cell::get);
    // SAFETY: the pointer is set only by `Context::enter`, whose caller keeps the context in place until the guard puts
    // the outer one back, on this very thread.
    f(unsafe { context.as_ref() })
}

/// Calls `f` with the innermost context, if it is of `pool`.
#[inline]
fn context_in<T>(pool: *const Shared, f: impl FnOnce(Option<&Context>) -> T) -> T {
    context(|context| f(context.filter(|context| ptr::eq(context.pool, pool))))
}

/// Calls `f` with the seat that the current thread holds in `pool`, if its innermost context is of that pool.
#[inline]
pub(crate) fn with_seat_in<T>(pool: *const Shared, f: impl FnOnce(Option<&Seat>) -> T) -> T {
    context_in(pool, |context| f(context.map(Context::seat)))
}

/// The index for the trace hooks of the worker that this thread is.
#[inline]
pub(crate) fn index() -> usize {
    with(|worker| worker.map_or(terrace_trace::EXTERNAL, Worker::index))
}

/// Whether the current thread is a worker of `pool`.
#[inline]
pub(crate) fn is_worker_of(pool: *const Shared) -> bool {
    with(|worker| worker.is_some_and(|worker| ptr::eq(&**worker.pool(), pool)))
}

/// For a worker of `pool` that is going to wait for the others to end: no guard will be left to look at its slot.
pub(crate) fn empty_slot_in(pool: &Shared) {
    if is_worker_of(pool) {
        with(|worker| worker.map(Worker::empty_slot));
    }
}

/// Queues `task`: into the ring of the worker or driver of `pool` that the thread is, else into the pool's injector. The
/// caller keeps the pool alive and publishes.
#[inline]
pub(crate) fn push_local(pool: &Shared, task: Runnable) {
    with_seat_in(pool, |seat| match seat {
        Some(seat) => {
            push_to(seat, task, pool);
        }
        None => inject(pool, task),
    });
}

/// Queues `task` into the ring of `seat`, which the thread holds; whether others went into the injector for it.
#[inline]
fn push_to(seat: &Seat, task: Runnable, pool: &Shared) -> bool {
    terrace_trace::local_schedule(index());
    // SAFETY: only the thread that holds the seat takes the owner's side of its ring, and the ring's operations do not come
    // back here.
    let owner = unsafe { seat.ring.owner() };
    owner.push_or_overflow(task, &pool.injected)
}

/// Queues `task` into the injector of `pool`; the caller publishes.
pub(crate) fn inject(pool: &Shared, task: Runnable) {
    terrace_trace::inject(terrace_trace::EXTERNAL, 1);
    pool.injected.push(task);
}

/// Where [`push_woken`] has put a task.
#[derive(Clone, Copy, PartialEq, Eq)]
#[must_use = "what was queued has to be published"]
pub(crate) enum Placed {
    /// Into the worker's slot: to be published unless a guard watches.
    Slot,
    /// It, or the task that it displaced, lies in a queue.
    Queue,
}

/// As [`push_local`], for a task that was woken by another one: on a worker of `pool` whose ring is empty it goes into the
/// worker's slot. `Err` where the thread is neither worker nor driver of `pool`.
#[inline]
pub(crate) fn push_woken(pool: &Shared, task: Runnable) -> Result<Placed, Runnable> {
    context_in(pool, |context| {
        let Some(context) = context else {
            return Err(task);
        };
        let seat = context.seat();
        // Behind others it waits as they do: of many chains each would be unwound to its end otherwise, and none of the
        // memory they leave be warm for the next.
        if context.told.is_driver() || !seat.ring.is_empty() {
            push_to(seat, task, pool);
        } else if let Some(displaced) = seat.woken.put(task) {
            push_to(seat, displaced, pool);
        } else {
            terrace_trace::local_schedule(index());
            return Ok(Placed::Slot);
        }
        Ok(Placed::Queue)
    })
}

/// As [`push_woken`], for a task that has yielded; whether it has to be published.
#[inline]
pub(crate) fn push_again(pool: &Shared, task: Runnable) -> Result<bool, Runnable> {
    context_in(pool, |context| match context {
        // What overflows was published where it no longer is.
        Some(context) => Ok(push_to(context.seat(), task, pool) || context.again.pushed()),
        None => Err(task),
    })
}

/// A reference to `pool`, if the thread is a worker of it that has one in hand.
#[inline]
pub(crate) fn take_reference(pool: &Shared) -> Option<Arc<Shared>> {
    context_in(pool, |context| context?.in_hand.take())
}

/// Gives back a task's reference to a pool: into the hand of its worker, if the thread is one.
#[inline]
pub(crate) fn keep_reference(reference: Arc<Shared>) {
    context(|context| match context {
        Some(context) if ptr::eq(context.pool, &*reference) && !context.told.is_driver() => {
            context.in_hand.keep(reference);
        }
        _ => drop(reference),
    });
}

/// A task is going to be polled by somebody else than the loop of the worker or driver in whose context the thread is.
#[inline]
pub(crate) fn forbid_again() {
    context(|context| context.map(|context| context.again.forbid()));
}

/// Runs `f` as a task of `lane`, in the innermost context.
pub(crate) fn in_lane<T>(lane: Lane, f: impl FnOnce() -> T) -> T {
    let before = current();
    current::tell(before.map(|current| current.on(lane)));
    let result = f();
    current::tell(before);
    result
}

/// Gives the permit of the background task that is being polled back, if one is, until dropped.
pub(crate) fn lend_permit() -> Option<Lent> {
    if current()?.lane() != Lane::Background {
        return None;
    }
    let pool = context(|context| context.map(|context| context.pool))?;
    let lent = Lent { pool };
    lent.pool().give_permit_back();
    Some(lent)
}

/// A permit that was given back for a while.
pub(crate) struct Lent {
    pool: *const Shared,
}

impl Lent {
    fn pool(&self) -> &Shared {
        // SAFETY: the worker or driver in whose context this was made keeps its pool alive, and waits meanwhile.
        unsafe { &*self.pool }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.pool().take_permit_again();
    }
}
