//! [`Room`]: memory in which a task of many threads is polled first. If that ends it, the memory becomes a cell without an
//! owner's part: an outcome and its handle.
//!
//! | the room has          | since                 | until                                                            |
//! |-----------------------|-----------------------|------------------------------------------------------------------|
//! | the guarded future    | `new`                 | the first poll ends, by an outcome or by `Pending`                |
//! | a cell, fresh         | `finish`              | the handle takes or drops the outcome, on any thread             |
//! | the bare future       | `into_pending`        | [`Settled`] is dropped: the future of a cell of async-task       |
//!
//! The last user keeps the memory for the next room of its thread (`cells.rs`).

use core::future::Future;
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, offset_of};
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll};

use terrace_queue::Link;
use terrace_trace::Mark;

use super::cell::{Cell, FRESH_OUTCOME, Header, VTable};
use super::handle::Handle;
use crate::biased::State;
use crate::cells::Class;
use crate::relay::Lender;
use crate::task::core::{Core, CoreRef, PanicHandler};
use crate::task::guarded::Guarded;
use crate::task::outcome::Outcome;
use crate::thread_id::thread_id;

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
#[repr(C)]
struct Layout<C: Core, F: Future> {
    header: Header,
    stage: Stage<C, F>,
}

#[repr(C)]
union Stage<C: Core, F: Future> {
    future: ManuallyDrop<Guarded<Unregistered<C>, F>>,
    _outcome: ManuallyDrop<Outcome<F::Output>>,
}

/// Memory with a guarded future in it. It belongs to one call: forgotten, it leaks.
pub(crate) struct Room<C: Core, F: Future> {
    memory: NonNull<u8>,
    _stage: PhantomData<(C, F)>,
}

impl<C: Core, F: Future> Room<C, F> {
    /// The class of its memory. `None`: a future of this type has no room.
    pub(crate) const CLASS: Option<Class> = if offset_of!(Layout<C, F>, stage) == FRESH_OUTCOME {
        Class::of::<Layout<C, F>>()
    } else {
        None
    };

    const VTABLE: VTable = VTable {
        poll: |_, _| unreachable!("the task has ended"),
        abandon: |_| unreachable!("the task has ended"),
        class: class::<C, F>(),
        outcome: FRESH_OUTCOME,
        discard: Self::discard,
        free: Self::free,
    };

    /// A room with a future in it.
    ///
    /// # Safety
    /// There is a class. `core` stays in place until the room is used up.
    #[inline]
    pub(crate) unsafe fn new(core: &C, future: F) -> Self {
        let core: NonNull<Unregistered<C>> = NonNull::from(core).cast();
        // SAFETY: the caller keeps the core until the room is used up, which is when the call that drops this future is over.
        let reference = unsafe { CoreRef::borrowed(core) };
        let memory = const { class::<C, F>() }.allocate();
        let room = Self {
            memory,
            _stage: PhantomData,
        };
        // SAFETY: memory of the class has room for a `Layout`, is aligned for it, and is this function's.
        unsafe { room.guarded().write(Guarded::new(reference, future)) };
        room
    }

    /// The stage, as the guarded future.
    #[inline]
    fn guarded(&self) -> NonNull<Guarded<Unregistered<C>, F>> {
        // SAFETY: the offset lies in the memory of a `Layout`.
        unsafe { self.memory.byte_add(FRESH_OUTCOME) }.cast()
    }

    /// The first poll. A panic is an outcome.
    ///
    /// # Safety
    /// It is called once.
    #[inline]
    pub(crate) unsafe fn poll(&self, context: &mut Context<'_>) -> Poll<Outcome<F::Output>> {
        // SAFETY: `new` put it there, and the room belongs to the caller.
        let guarded = unsafe { self.guarded().as_mut() };
        // SAFETY: the future stays in its place until it is dropped there, by `Guarded` or by `Settled`.
        unsafe { Pin::new_unchecked(guarded) }.poll(context)
    }

    /// The handle of a task that its first poll has ended.
    ///
    /// # Safety
    /// [`poll`](Self::poll) has returned this outcome.
    #[inline]
    pub(crate) unsafe fn finish(self, outcome: Outcome<F::Output>) -> Handle<Outcome<F::Output>> {
        // SAFETY: the next lines forget the outcome.
        if let Some(ready) = unsafe { Handle::ready(&outcome) } {
            core::mem::forget(outcome);
            // SAFETY: `new` allocated it of this class. `Guarded` has dropped the future, and the rest of it needs no drop.
            unsafe { const { class::<C, F>() }.keep(self.memory) };
            return ready;
        }
        // SAFETY: `Guarded` has dropped the future in place, and the rest of it needs no drop: its core is borrowed. So the stage
        // is free, and large and aligned enough for an outcome.
        unsafe { self.guarded().cast().write(outcome) };
        let header = Header {
            state: State::ended_at_spawn(),
            owner: thread_id(),
            // An ended task does not use it.
            core: NonNull::dangling(),
            vtable: const { &Self::VTABLE },
            link: Link::new(),
            mark: Mark::UNKNOWN,
        };
        let cell = self.memory.cast::<Header>();
        // SAFETY: the memory begins with room for a header, and is this function's.
        unsafe { cell.write(header) };
        // SAFETY: the state counts one reference, for this handle. The outcome is of this type, and lies where the vtable says.
        unsafe { Handle::new(Cell(cell)) }
    }

    /// The future of a task that is pending after its first poll, which had a waker of `lender`.
    ///
    /// # Safety
    /// [`poll`](Self::poll) has returned `Pending`.
    #[inline]
    pub(crate) unsafe fn into_pending(self, lender: Lender) -> Settled<C, F> {
        Settled {
            room: self,
            lender: Some(lender),
        }
    }

    /// # Safety
    /// As `VTable::discard`.
    unsafe fn discard(header: NonNull<Header>) {
        // SAFETY: the vtable is that of a cell of `finish`.
        let outcome = unsafe { header.byte_add(FRESH_OUTCOME) }.cast::<Outcome<F::Output>>();
        // SAFETY: the outcome is there and the caller's, and nothing drops it again.
        unsafe { outcome.drop_in_place() };
    }

    /// # Safety
    /// As `VTable::free`.
    unsafe fn free(header: NonNull<Header>) {
        // SAFETY: the caller has the only reference, and nothing uses the header later.
        unsafe { header.drop_in_place() };
        // SAFETY: `new` allocated it of this class, and the cell in it is gone.
        unsafe { const { class::<C, F>() }.keep(header.cast()) };
    }
}

/// The class of a room that exists.
const fn class<C: Core, F: Future>() -> Class {
    match Room::<C, F>::CLASS {
        Some(class) => class,
        // Of a room that no call makes.
        None => Class::SMALLEST,
    }
}

/// A future that was polled once, pinned in its room. The next poll gives its waker to the relay of the first one, and does not
/// reach the future. If the task was woken before, it is woken in that poll: so it is queued as a task that yields.
pub(crate) struct Settled<C: Core, F: Future> {
    room: Room<C, F>,
    /// Of the first poll, until it is settled.
    lender: Option<Lender>,
}

// SAFETY: it has the future for itself, as a box would. The memory around it is from the allocator of all threads.
unsafe impl<C: Core, F: Future + Send> Send for Settled<C, F> {}

impl<C: Core, F: Future> Unpin for Settled<C, F> {}

impl<C: Core, F: Future> Settled<C, F> {
    #[inline]
    fn future(&self) -> NonNull<F> {
        // SAFETY: the guarded future is in place, since the first poll was pending.
        unsafe { Guarded::future(self.room.guarded()) }
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
                // SAFETY: `Room::new` allocated it of this class, and the future in it has been dropped.
                unsafe { self.1.keep(self.0) };
            }
        }

        let _memory = Memory(self.room.memory, const { class::<C, F>() });
        // SAFETY: the future is alive, and nothing uses it again. The rest of `Guarded` needs no drop: its core is borrowed.
        unsafe { self.future().drop_in_place() };
    }
}
