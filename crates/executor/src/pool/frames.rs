//! The polls that a thread is in the middle of, as a list through the thread's stack. It holds the polls that their
//! pools have to know of.
//!
//! A frame is entered around a poll that is more than a turn of a worker's or driver's own loop:
//!
//! | the poll                                              | the frame says                                              |
//! |--------------------------------------------------------|-------------------------------------------------------------|
//! | of a background task, by a worker or a driver           | whose permit is held, until the poll ends                   |
//! | of any task, by a *guest*: a thread without a seat      | in which pool; and whose permit is held, if one is          |
//! | of a scope's children, by its thread, without a seat    | in which pool                                               |
//! | none: the thread asks for the name of a worker's thread | of which pool                                               |
//!
//! A permit belongs to the frame, not to the lane that [`current`](fn@crate::current) returns. Between the frame and a
//! wait there may be polls of other pools.
//!
//! | permit | by                                                | leaves it by                                       |
//! |--------|---------------------------------------------------|----------------------------------------------------|
//! | none   | a task of another lane                            | –                                                  |
//! | held   | the frame's entry; the end of [`lend`]            | the frame's end, which gives it back; `lend`       |
//! | lent   | [`lend`], which gives back all that are held      | the end of that `lend`, which takes it anyway      |
//!
//! A wait lends the permits of the whole stack: its thread is blocked for each of these tasks.

use std::cell::Cell;
use std::ptr;

use terrace_local::task::{First, Runnable};
use terrace_sync::Arc;

use super::Shared;
use super::runner::{self, Runner, with_runner_of};
use crate::guard::OnDrop;
use crate::parts::current::{current, visit, visit_from_outside};
use crate::parts::injector::Lane;
use crate::parts::turns;

terrace_sync::thread_local! {
    /// The innermost frame; null where there is none. It is null outside of polls, so a
    /// destructor of another thread-local finds what is right, whether it was made anew or not.
    static FRAMES: Cell<*const Frame> = const { Cell::new(ptr::null()) };
}

/// What a frame has of its pool's background permits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permit {
    /// Nothing.
    None,
    /// One, which no other thread can use.
    Held,
    /// One, which was given back until a wait ends.
    Lent,
}

/// What keeps a pool's tasks alive during a poll.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Borrows {
    /// The borrow of their executor, by `tick` or `try_tick`.
    Executor,
    /// The poller is counted, see `protocol::end`.
    Pool,
    /// Nothing: it is no poll. The thread calls the function that names the threads of the pool, which the caller borrows.
    Naming,
}

struct Frame {
    /// Borrowed by the function that entered the frame.
    pool: *const Shared,
    borrows: Borrows,
    permit: Cell<Permit>,
    outer: *const Frame,
}

impl Frame {
    fn pool(&self) -> &Shared {
        // SAFETY: `enter` borrows the pool for as long as the frame is in the list, and only this thread reaches the
        // frame.
        unsafe { &*self.pool }
    }
}

/// Calls `f` in a frame of `pool`, to which `permit` belongs. `borrows` keeps the pool's tasks alive for the length of
/// the call.
#[inline]
pub(crate) fn enter<T>(
    pool: &Shared,
    borrows: Borrows,
    permit: Permit,
    f: impl FnOnce() -> T,
) -> T {
    let frame = Frame {
        pool,
        borrows,
        permit: Cell::new(permit),
        outer: FRAMES.with(Cell::get),
    };
    linked(&frame, || {
        let _permitted = OnDrop(|| {
            // First: a waker that is called for the next task may wait, and so lend what the frame holds.
            if frame.permit.replace(Permit::None) == Permit::Held {
                pool.give_permit_back();
            }
        });
        f()
    })
}

/// Calls `f`, during which `frame` is the innermost of the list.
#[inline]
fn linked<T>(frame: &Frame, f: impl FnOnce() -> T) -> T {
    // One look-up of the thread-local serves the whole call.
    let innermost = FRAMES.with(ptr::from_ref);
    // SAFETY: the thread-local has no destructor of its own. No target frees it before the thread's end, or in the middle of a
    // destructor of another one, and the thread stays in this function until the last use of the reference.
    let innermost = unsafe { &*innermost };
    innermost.set(frame);
    let _entered = OnDrop(|| innermost.set(frame.outer));
    f()
}

/// Says that the thread is not in a poll of any pool: it has no frame and no runner.
pub(crate) struct Outside(());

impl Outside {
    /// None in the middle of a poll.
    #[inline]
    pub(crate) fn of_polls() -> Option<Self> {
        let outside = FRAMES.with(Cell::get).is_null() && runner::is_none();
        outside.then_some(Self(()))
    }

    /// Polls a task of the normal lane on a thread that borrows the executor of `pool`: there is no permit and no runner to hide from it.
    #[inline]
    pub(crate) fn poll(self, pool: &Shared, task: Runnable) {
        let frame = Frame {
            pool,
            borrows: Borrows::Executor,
            permit: Cell::new(Permit::None),
            outer: ptr::null(),
        };
        let _current = visit_from_outside(pool.id);
        linked(&frame, || traced(|| task.run()));
    }
}

/// The thread's frames, innermost first.
fn frames<'s>() -> impl Iterator<Item = &'s Frame> {
    let follow = |frame: *const Frame| {
        // SAFETY: a frame in the list lies in a call of `linked`, further out on this very stack. `linked` takes it off
        // the list before it returns or unwinds.
        unsafe { frame.as_ref() }
    };
    std::iter::successors(follow(FRAMES.with(Cell::get)), move |frame| {
        follow(frame.outer)
    })
}

/// Those of polls.
fn polls<'s>() -> impl Iterator<Item = &'s Frame> {
    frames().filter(|frame| frame.borrows != Borrows::Naming)
}

/// Calls `f`, which polls tasks of `pool`, on a thread that borrows its executor and has no place in it.
pub(crate) fn visiting<T>(pool: &Shared, f: impl FnOnce() -> T) -> T {
    let _current = visit(pool.id, Lane::Normal);
    enter(pool, Borrows::Executor, Permit::None, f)
}

/// Calls `f` with the pool that polls the caller, if there is one: that of the innermost runner or visitor.
#[inline]
pub(crate) fn with_pool<T>(f: impl FnOnce(Option<&Shared>) -> T) -> T {
    match current() {
        Some(current) if current.is_visitor() => {
            let mut pools = frames().map(Frame::pool);
            f(pools.find(|pool| pool.id == current.executor()))
        }
        _ => runner::with_runner(|runner| f(runner.map(|runner| runner.pool))),
    }
}

/// Whether the thread is in the middle of a poll that borrows the executor of `pool`.
pub(crate) fn is_borrowed(pool: *const Shared) -> bool {
    frames().any(|frame| frame.borrows == Borrows::Executor && ptr::eq(frame.pool, pool))
}

/// Whether the thread is in the middle of a poll of a task of `pool` that has a frame.
pub(crate) fn is_in(pool: *const Shared) -> bool {
    polls().any(|frame| ptr::eq(frame.pool, pool))
}

/// Whether the thread is in the middle of naming a thread of `pool`.
pub(crate) fn is_naming(pool: *const Shared) -> bool {
    frames().any(|frame| frame.borrows == Borrows::Naming && ptr::eq(frame.pool, pool))
}

/// The pools that are being dropped while the thread is in the middle of a poll of them that has a frame.
pub(crate) fn closing_pools() -> impl Iterator<Item = Arc<Shared>> {
    let pools = polls().map(Frame::pool);
    pools
        .filter(|pool| pool.holders.is_closing())
        .map(Shared::arc)
}

/// Gives back the permits that the thread holds, in all pools, until the result is dropped. The thread calls this
/// before it waits.
#[inline]
pub(crate) fn lend() -> Option<OnDrop<impl FnMut()>> {
    let innermost = FRAMES.with(Cell::get);
    if innermost.is_null() {
        return None;
    }
    let mut count = 0;
    for frame in frames().filter(|frame| frame.permit.get() == Permit::Held) {
        frame.permit.set(Permit::Lent);
        count += 1;
    }
    // Only then: a waker that is called for the next task may wait, too, and has nothing more to lend.
    for frame in lent().take(count) {
        frame.pool().give_permit_back();
    }
    // A wait further out lent its permits before, and each wait ends before the waits around it: these frames are the innermost lent ones.
    let take_back = move || {
        for frame in lent().take(count) {
            frame.pool().lanes.permits.take_anyway();
            frame.permit.set(Permit::Held);
        }
    };
    (count > 0).then_some(OnDrop(take_back))
}

/// The frames whose permits are lent, innermost first.
fn lent<'s>() -> impl Iterator<Item = &'s Frame> {
    frames().filter(|frame| frame.permit.get() == Permit::Lent)
}

impl Runner<'_> {
    /// Polls a task in the loop of this runner, whose next turn follows.
    #[inline]
    pub(crate) fn run_turn(&self, task: Runnable) {
        self.count_poll();
        self.deferred.begin_turn(task.word());
        turns::begin_turn();
        traced(|| task.run());
    }
}

/// Polls a task once, on any thread. A panic does not come out of it: the task's cell keeps it for the handle.
// Without `inline`: where a call costs, in the loops of runners, they poll by `traced`.
pub(crate) fn run_task(task: Runnable) {
    traced(|| task.run());
}

/// Calls `poll`, which polls a new task of `pool` in the middle of the poll of another one. Counts the task, and its end if the poll brings
/// that.
///
/// # Panics
/// If the thread is not [in the middle of a runner](runner::is_inside) of that pool.
#[inline]
pub(crate) fn poll_new_inside<T>(pool: &Shared, poll: impl FnOnce() -> (T, First)) -> (T, First) {
    with_runner_of(pool, |runner| {
        let runner = runner.expect("the caller has seen the runner");
        runner.seat.count.spawned.add(1);
        let (task, first) = traced(poll);
        if first == First::Ended {
            runner.seat.count.ended.add(1);
            pool.quiet.ended(&pool.seats);
        }
        (task, first)
    })
}

/// Calls `poll`, which polls a task.
#[inline(always)]
pub(crate) fn traced<T>(poll: impl FnOnce() -> T) -> T {
    terrace_trace::run_begin();
    poll()
}
