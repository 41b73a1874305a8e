//! Tasks on async-task's cell, which any thread may run; and batches of tasks, for all executors.
//!
//! [`poll_at_spawn`]: the first poll of a task of many threads, before it has a cell of async-task.
//!
//! The poll takes place in a *room*: memory that becomes a cell without an owner's part if that ends the task.
//!
//! | the room has          | since                 | until                                                            |
//! |-----------------------|-----------------------|------------------------------------------------------------------|
//! | the guarded future    | `poll_at_spawn`       | the first poll ends, by an outcome or by `Pending`                |
//! | a cell, fresh         | `finish`              | the handle takes or drops the outcome, on any thread             |
//! | the bare future       | `make_pending`        | [`Settled`] is dropped: the future of a cell of async-task       |
//!
//! The last user keeps the memory for the next room of its thread (`cells.rs`).

use core::future::Future;
use core::marker::PhantomData;
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll};

use terrace_queue::Link;
use terrace_trace::{Caller, Mark};

use super::core::{Core, CoreRef, PanicHandler, Schedule};
use super::fallible::FallibleTask;
use super::guarded::{Guarded, Outcome, boxing_large};
use super::handle::Task;
use super::local::Whole;
use super::local::cell::{Cell, FRESH_OUTCOME, Header, VTable};
use super::runnable::{Meta, Own, Runnable};
use crate::biased::State;
use crate::cells::Class;
use crate::relay::Lender;
use crate::thread_id::thread_id;

/// Makes a task. One allocation, two for a [`LARGE`](super::LARGE) future.
///
/// # Safety
/// - If the future or its output is not `Send`, only the current thread runs and drops the runnable, and takes the
///   output. `core` ensures that for every wake.
/// - What the future and its output borrow lives until they have been dropped.
#[inline]
#[cfg_attr(feature = "timeline", track_caller)]
pub unsafe fn build<C: Schedule, F: Future>(
    core: CoreRef<C>,
    future: F,
) -> (Runnable, Task<F::Output>) {
    let mark = Mark::spawned::<F>();
    // SAFETY: the contract of this function is that of the other. A box holds the same future.
    boxing_large!(|future| unsafe { build_marked(core, future, mark) })
}

/// As [`build`], of a task that the timeline knows, and a future that is not large.
///
/// # Safety
/// As [`build`].
#[inline]
pub(super) unsafe fn build_marked<C: Schedule, F: Future>(
    core: CoreRef<C>,
    future: F,
    mark: Mark,
) -> (Runnable, Task<F::Output>) {
    let guarded = Guarded::new(core, future);
    let builder = async_task::Builder::new().metadata(Meta {
        core: guarded.core.cast(),
        mark,
    });
    let guarded = |_: &Meta| guarded;
    // SAFETY: the schedule function is Send, Sync and 'static. The caller promises the rest: where the future and its output
    // go, and that what they borrow lives.
    let (runnable, task) =
        unsafe { builder.spawn_unchecked(guarded, async_task::WithInfo(schedule::<C>)) };
    let (runnable, task) = FallibleTask::shared(task.fallible(), runnable);
    (Runnable::own(runnable), Task::new(task))
}

/// The schedule function of every task of a kind of core. It has no size: it finds the core in the cell's metadata.
fn schedule<C: Schedule>(task: Own, info: async_task::ScheduleInfo) {
    let core = task.metadata().core.cast::<C>();
    let mark = task.metadata().mark;
    let task = Runnable::own(task);
    if info.woken_while_running {
        mark.woken_in_poll();
        // SAFETY: `build_marked` put a core of this type there, beside this function. The runnable has not run, so its future
        // has not been dropped.
        unsafe { C::schedule_again(core, task) };
    } else {
        mark.woken();
        // SAFETY: `build_marked` put a core of this type there, beside this function. The runnable has not run, so its future
        // has not been dropped.
        unsafe { C::schedule(core, task) };
    }
}

/// Spawns all `futures` and puts the handles into `handles`. `spawn` builds and queues one without a wake. `notify` is called
/// once, with how many there were, if there were any.
///
/// The iterator and the collection are users' code. Nothing is borrowed while they run. If one of them panics, what was
/// spawned before stays spawned, and `notify` is called during the unwinding.
#[cfg_attr(feature = "timeline", track_caller)]
pub fn spawn_many<F, T>(
    futures: impl IntoIterator<Item = F>,
    handles: &mut impl Extend<Task<T>>,
    mut spawn: impl FnMut(F) -> Task<T>,
    notify: impl FnMut(usize),
) {
    let caller = Caller::here();
    let mut batch = Batch { spawned: 0, notify };
    handles.extend(futures.into_iter().map(|future| {
        let _spawns = caller.spawns();
        let task = spawn(future);
        batch.spawned += 1;
        task
    }));
}

/// Notifies in its destructor, so that a panic does not skip it.
struct Batch<N: FnMut(usize)> {
    spawned: usize,
    notify: N,
}

impl<N: FnMut(usize)> Drop for Batch<N> {
    fn drop(&mut self) {
        if self.spawned != 0 {
            (self.notify)(self.spawned);
        }
    }
}

/// A core as the first poll sees it: without a registry, and without counts. What is pending registers later, with the waker of its
/// cell. What ends in that poll the caller counts.
#[repr(transparent)]
struct Unregistered<C>(C);

impl<C: Core> Core for Unregistered<C> {
    fn panic_handler(&self) -> Option<PanicHandler> {
        self.0.panic_handler()
    }
}

/// What a room has room for.
type Room<C, F> = Whole<Unregistered<C>, F>;

/// Whether [`poll_at_spawn`] has room for the future.
#[inline(always)]
pub const fn has_room<C: Core, F: Future>(_future: &F) -> bool {
    Room::<C, F>::MAY_BE_FRESH
}

/// How far the first poll of a task has brought it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the caller counts the end"]
pub enum First {
    /// It has ended: the handle is finished.
    Ended,
    /// It is pending.
    Pending,
}

/// Polls the future of a new task once. If that ends it, the handle is finished, and the thread keeps the memory for its next one:
/// no allocation, no read-modify-write. If not, the task is one of [`build`](super::build), made with `reference`, and pending.
///
/// The core does not hear of an end in this poll. The caller counts that for less, as it knows already on which seat the thread is.
///
/// A pending one has cost two allocations instead of one, and a third if its poll has cloned its waker.
///
/// # Safety
/// - As [`build`](super::build).
/// - There is [room](has_room) for the future.
/// - `core` stays in place during the call.
#[inline]
#[cfg_attr(feature = "timeline", track_caller)]
pub unsafe fn poll_at_spawn<P: Core, C: Schedule, F: Future>(
    core: &P,
    future: F,
    reference: impl FnOnce() -> CoreRef<C>,
) -> (Task<F::Output>, First) {
    let core: NonNull<Unregistered<P>> = NonNull::from(core).cast();
    // SAFETY: the caller keeps the core during this call, which ends the guarded future or takes the user's future out of it.
    let here = unsafe { CoreRef::borrowed(core) };
    let room: NonNull<Header> = const { Room::<P, F>::OF_CLASS }.allocate().cast();
    // SAFETY: the caller says that there is room, so the memory is of this type.
    let mut guarded = unsafe { Room::<P, F>::future(room) };
    // SAFETY: it has room for the stage, is aligned for it, and is this function's.
    unsafe { guarded.write(Guarded::new(here, future)) };
    let lender = Lender::default();
    let mark = Mark::spawned::<F>();
    let polling = mark.polls();
    // SAFETY: the line above put it there, and the room belongs to this function.
    let guarded = unsafe { guarded.as_mut() };
    // SAFETY: the future stays in its place until it is dropped there, by `Guarded` or by `Settled`.
    let polled = unsafe { Pin::new_unchecked(guarded) };
    // A panic is an outcome.
    let polled = polled.poll(&mut Context::from_waker(&lender.lend()));
    drop(polling);
    match polled {
        Poll::Ready(outcome) => {
            // SAFETY: the first poll in this room has returned this outcome.
            let task = Task::new(unsafe { finish::<P, F>(room, outcome) });
            (task, First::Ended)
        }
        Poll::Pending => {
            // SAFETY: the poll has returned `Pending`. The caller promises the rest.
            let task = unsafe { make_pending::<P, C, F>(room, lender, reference(), mark) };
            (task, First::Pending)
        }
    }
}

/// The handle of a task that its first poll has ended.
///
/// # Safety
/// The poll in this room has returned this outcome.
#[inline]
unsafe fn finish<C: Core, F: Future>(
    room: NonNull<Header>,
    outcome: Outcome<F::Output>,
) -> FallibleTask<F::Output> {
    // SAFETY: the next line forgets the outcome.
    if let Some(ready) = unsafe { FallibleTask::ready(&outcome) } {
        core::mem::forget(outcome);
        // SAFETY: the room is memory of this class. `Guarded` has dropped the future, and the rest of it needs no drop.
        unsafe { const { Room::<C, F>::OF_CLASS }.keep(room.cast()) };
        return ready;
    }
    let vtable = const {
        &VTable {
            poll: |_, _| unreachable!("the task has ended"),
            abandon: |_| unreachable!("the task has ended"),
            class: Room::<C, F>::OF_CLASS,
            outcome: FRESH_OUTCOME,
            discard: Room::<C, F>::discard,
            free: Room::<C, F>::keep,
        }
    };
    let header = Header {
        state: State::ended_at_spawn(),
        owner: thread_id(),
        // An ended task does not use it.
        core: NonNull::dangling(),
        vtable,
        link: Link::new(),
        mark: Mark::UNKNOWN,
    };
    // SAFETY: the room is memory of this type.
    let stage = unsafe { Room::<C, F>::future(room) };
    // SAFETY: `Guarded` has dropped the future in place, and the rest of it needs no drop: its core is borrowed. So the stage
    // is free, and large and aligned enough for an outcome.
    unsafe { stage.cast::<Outcome<F::Output>>().write(outcome) };
    // SAFETY: the room begins with a header, and is this function's.
    unsafe { room.write(header) };
    // SAFETY: the state counts one reference, for the handle. The outcome is of this type, and lies where the vtable says.
    unsafe { FallibleTask::local(Cell(room)) }
}

/// The task of a future that is pending after its first poll.
///
/// # Safety
/// As [`poll_at_spawn`], whose poll in `room` with a waker of `lender` has returned `Pending`.
#[inline(never)]
unsafe fn make_pending<P: Core, C: Schedule, F: Future>(
    room: NonNull<Header>,
    lender: Lender,
    reference: CoreRef<C>,
    mark: Mark,
) -> Task<F::Output> {
    let future = Settled::<P, F> {
        room,
        lender: Some(lender),
        _future: PhantomData,
    };
    // SAFETY: the caller promises the same of the future that is in the room.
    let (runnable, task) = unsafe { build_marked(reference, future, mark) };
    // Registers the task and settles the relay. It does not reach the future.
    runnable.run();
    task
}

/// A future that was polled once, pinned in its room. The next poll gives its waker to the relay of the first one, and does not
/// reach the future. If the task was woken before, it is woken in that poll: so it is queued as a task that yields.
struct Settled<C: Core, F: Future> {
    room: NonNull<Header>,
    /// Of the first poll, until it is settled.
    lender: Option<Lender>,
    _future: PhantomData<(C, F)>,
}

// SAFETY: it has the future for itself, as a box would. The memory around it is from the allocator of all threads.
unsafe impl<C: Core, F: Future + Send> Send for Settled<C, F> {}

impl<C: Core, F: Future> Unpin for Settled<C, F> {}

impl<C: Core, F: Future> Settled<C, F> {
    #[inline]
    fn future(&self) -> NonNull<F> {
        // SAFETY: the room is memory of this type.
        let guarded = unsafe { Room::<C, F>::future(self.room) };
        // SAFETY: the guarded future is in place, since the first poll was pending.
        unsafe { Guarded::future(guarded) }
    }
}

impl<C: Core, F: Future> Future for Settled<C, F> {
    type Output = F::Output;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        if let Some(mut lender) = self.lender.take() {
            lender.settle(context.waker());
            return Poll::Pending;
        }
        // SAFETY: the future is alive until `self` is dropped, and `self` has it for itself.
        let future = unsafe { self.future().as_mut() };
        // SAFETY: it stays in its room until it is dropped there.
        unsafe { Pin::new_unchecked(future) }.poll(context)
    }
}

impl<C: Core, F: Future> Drop for Settled<C, F> {
    fn drop(&mut self) {
        /// Keeps the memory also if the future's destructor panics.
        struct Memory(NonNull<u8>, Class);

        impl Drop for Memory {
            fn drop(&mut self) {
                // SAFETY: `poll_at_spawn` allocated it of this class, and the future in it has been dropped.
                unsafe { self.1.keep(self.0) };
            }
        }

        let _memory = Memory(self.room.cast(), const { Room::<C, F>::OF_CLASS });
        // SAFETY: the future is alive, and nothing uses it again. The rest of `Guarded` needs no drop: its core is borrowed.
        unsafe { self.future().drop_in_place() };
    }
}
