//! The contents of a child's task: its future, and its tie to its scope.

use std::future::Future;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};

use terrace_local::Payload;

use crate::parts::scope_slot::Slot;
use crate::pool::shared::Shared;
use crate::protocol::scope::cancel::{Mark, Polled, Registered};

/// A child's future: dropped in place when it is done or cancelled, and counted out after that.
///
/// | `key`         | the future | registered     |
/// |---------------|------------|----------------|
/// | `NEW`         | alive      | no             |
/// | `ENDED`       | dropped    | no             |
/// | anything else | alive      | under that key |
pub(super) struct Child<F> {
    slot: NonNull<Slot<Shared>>,
    future: ManuallyDrop<F>,
    number: u32,
    key: u32,
}

const NEW: u32 = u32::MAX;
const ENDED: u32 = u32::MAX - 1;

// SAFETY: `Slot` is `Sync`, so its pointer may go to another thread; `new` promises that the slot
// stays in place. The future moves only with `F: Send`.
unsafe impl<F: Send> Send for Child<F> {}

impl<F> Child<F> {
    /// A child that has been counted in under this number.
    ///
    /// # Safety
    /// The slot is in place, and its scope open, until this child is counted out.
    #[inline]
    pub(super) unsafe fn new(slot: NonNull<Slot<Shared>>, number: u32, future: F) -> Self {
        Self {
            slot,
            future: ManuallyDrop::new(future),
            number,
            key: NEW,
        }
    }

    /// Drops the user's future, which is alive. Returns the panic of its destructor.
    #[cold]
    fn end(&mut self) -> Option<Payload> {
        let key = std::mem::replace(&mut self.key, ENDED);
        let future = &mut self.future;
        let dropped = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: the caller saw that it is alive, and `key` says from now on that it is not, so it is dropped
            // once. It is dropped where it was pinned.
            unsafe { ManuallyDrop::drop(future) }
        }));
        self.deregister(key);
        dropped.err()
    }

    /// Ends a child that no thread is to poll again. It drops a panic of the destructor, which comes after the one that
    /// cancelled the child.
    #[cold]
    fn abandon(&mut self) {
        self.end().into_iter().for_each(terrace_local::drop_payload);
    }

    /// Takes it out of the registry, if it was there under this key.
    #[inline]
    fn deregister(&self, key: u32) {
        if key != NEW {
            self.slot().core().cancel().deregister(key);
        }
    }

    /// Ends a child that panicked, in its poll or in its destructor, and was registered under this key.
    #[cold]
    fn fail(&mut self, key: u32, payload: Payload) {
        if self.key == ENDED {
            self.deregister(key);
        } else {
            // Of two panics, the child keeps the first.
            self.abandon();
        }
        self.panicked(payload);
    }

    /// Keeps its panic and cancels its siblings. The future has been dropped.
    #[cold]
    fn panicked(&self, payload: Payload) {
        self.slot().child_panicked(self.number, payload);
    }

    fn slot(&self) -> &Slot<Shared> {
        // SAFETY: this child has not been counted out before `drop` ends, so the scope is open.
        unsafe { self.slot.as_ref() }
    }

    /// Registers the child at its first `Pending`.
    fn register(&mut self, waker: &Waker) -> Mark {
        let Registered { key, mark } = self.slot().core().cancel().register(waker);
        self.key = key;
        mark
    }

    /// Whether a panic cancelled it.
    #[inline]
    fn is_cancelled(&self) -> bool {
        let polled = if self.key == NEW {
            Polled::Never
        } else {
            Polled::Before
        };
        self.slot().core().cancel().covers(self.number, polled)
    }
}

impl<F: Future<Output = ()>> Future for Child<F> {
    type Output = ();

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // SAFETY: the future is pinned with `self`: it is polled and dropped in place only.
        let this = unsafe { self.get_unchecked_mut() };
        // The key is not `ENDED`: a task polls no finished future.
        let key = this.key;
        if this.is_cancelled() {
            this.abandon();
            return Poll::Ready(());
        }
        // One catch for the poll and the destructor.
        let caught = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: the future is pinned with `self`, and alive, as the key is not `ENDED`.
            let future = unsafe { Pin::new_unchecked(&mut *this.future) };
            let poll = future.poll(context);
            if poll.is_ready() {
                this.key = ENDED;
                // SAFETY: it has just been polled, so it is alive. `key` now says that it is not, so it is not dropped
                // again. It is dropped where it was pinned.
                unsafe { ManuallyDrop::drop(&mut this.future) };
            }
            poll
        }));
        match caught {
            Ok(Poll::Ready(())) => this.deregister(key),
            Ok(Poll::Pending) if key != NEW || this.register(context.waker()) == Mark::Down => {
                return Poll::Pending;
            }
            Ok(Poll::Pending) => this.abandon(),
            Err(payload) => this.fail(key, payload),
        }
        Poll::Ready(())
    }
}

impl<F> Drop for Child<F> {
    #[inline]
    fn drop(&mut self) {
        if self.key != ENDED {
            // Its executor was dropped.
            if let Some(payload) = self.end() {
                self.panicked(payload);
            }
        }
        // The scope may be gone after this.
        self.slot().child_ended();
    }
}
