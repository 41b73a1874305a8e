//! [`Guarded`]: the user's future inside a task cell, with the executor's fields around it.

use alloc::boxed::Box;
use core::future::Future;
use core::mem::ManuallyDrop;
use core::panic::AssertUnwindSafe;
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll};

use super::core::{Core, CoreRef, PanicHandler, unhandled};
use crate::registry::UNKEPT;
use crate::unwind::{Payload, catch_unwind};

/// A spawn function boxes a future that fills a cell of this size in bytes, or more, before it moves it anywhere else.
pub const LARGE: usize = 2048;

/// Whether a spawn function boxes `future` first.
///
/// In a debug build each function that passes a future on by value has a copy of it in its frame. So the spawn
/// functions of all layers ask in their first statement, and pass on the box that [`boxed`] returns. That makes two
/// copies there and one in `boxed`, however many layers follow. [`build`](super::build) asks once more.
#[inline(always)]
pub const fn is_large<F>(_future: &F) -> bool {
    // With what `Guarded` adds: async-task boxes from the same size on, but takes the future by value first.
    size_of::<(F, usize, NonNull<()>)>() >= LARGE
}

/// Boxes a large future; see [`is_large`]. Out of line, so that its copy is gone when the cell is made.
#[inline(never)]
pub fn boxed<F>(future: F) -> Pin<Box<F>> {
    Box::pin(future)
}

/// `$spawn`, an expression that moves `$future`; with the [box](boxed) of a [large](is_large) one. Not an API; for spawn functions of all
/// layers.
#[doc(hidden)]
#[macro_export]
macro_rules! boxing_large {
    (|$future:ident| $spawn:expr) => {
        if $crate::task::is_large(&$future) {
            let $future = $crate::task::boxed($future);
            $spawn
        } else {
            $spawn
        }
    };
}
pub(crate) use boxing_large;

/// The user's future inside its cell. Panics in its poll and in its destructor stay inside.
///
/// | `key`         | the future | in the registry |
/// |---------------|------------|-----------------|
/// | `NEW`         | alive      | no              |
/// | `ENDED`       | dropped    | no              |
/// | anything else | alive      | under that key  |
pub(crate) struct Guarded<C: Core, F> {
    /// Dropped in place, once, when `key` becomes `ENDED`.
    future: ManuallyDrop<F>,
    /// Half a word: with `counted` it fills one.
    key: u32,
    /// Whether `core` is a counted reference, which `drop` gives back.
    counted: bool,
    /// In place as long as the future is alive; see `CoreRef`.
    pub(super) core: NonNull<C>,
}

const NEW: u32 = u32::MAX;
const ENDED: u32 = u32::MAX - 1;

// SAFETY: the reference to the core (Send + Sync) may be used anywhere; the rest is as `F`.
unsafe impl<C: Core, F: Send> Send for Guarded<C, F> {}

impl<C: Core, F> Guarded<C, F> {
    #[inline]
    pub(super) fn new(core: CoreRef<C>, future: F) -> Self {
        Self {
            future: ManuallyDrop::new(future),
            key: NEW,
            counted: core.is_counted(),
            core: core.into_ptr(),
        }
    }

    /// The future, to be polled or dropped in place.
    ///
    /// # Safety
    /// `this` is in place, and its future alive.
    #[inline]
    pub(super) unsafe fn future(this: NonNull<Self>) -> NonNull<F> {
        // SAFETY: the caller says that the fields are in place.
        let future = unsafe { &raw mut (*this.as_ptr()).future };
        // SAFETY: the address of a field is not null. `ManuallyDrop` is transparent.
        unsafe { NonNull::new_unchecked(future.cast()) }
    }

    /// Whether a registry has a reference to the task.
    #[inline]
    pub(super) fn is_kept(&self) -> bool {
        self.key < UNKEPT
    }

    /// The core.
    ///
    /// # Safety
    /// It is still in place: the future is alive, or this is the call that dropped it and `CoreRef::borrowed`'s second
    /// promise was made.
    #[inline]
    unsafe fn core(&self) -> &C {
        // SAFETY: the caller says that the core is still in place.
        unsafe { self.core.as_ref() }
    }

    /// # Safety
    /// As [`core`](Self::core).
    unsafe fn handler(&self) -> Option<PanicHandler> {
        // SAFETY: the contract of this method is that of `core`.
        unsafe { self.core() }.panic_handler()
    }

    /// Tells the core that the future has ended and has been dropped.
    ///
    /// # Safety
    /// Called from the last poll of the task.
    #[inline]
    unsafe fn end_here(&self, key: u32) {
        if C::COUNTS {
            // SAFETY: a core that counts is in place until this call returns.
            let core = unsafe { self.core() };
            // SAFETY: the caller says that this is the last poll of a task of that executor.
            unsafe { core.ended() };
        }
        self.deregister(key);
    }

    /// Takes the task, whose future has been dropped, out of the registry.
    #[inline]
    fn deregister(&self, key: u32) {
        if key == NEW {
            return;
        }
        // SAFETY: a core with a registry is in place until this call returns.
        let core = unsafe { self.core() };
        let waker = core.registry().and_then(|registry| {
            // SAFETY: `poll` and `finish` call this, where the executor polls or drops the future.
            unsafe { registry.remove(key) }
        });
        drop(waker);
    }

    #[cold]
    fn fail<T>(&self, output: Option<T>, payload: Payload) -> Outcome<T> {
        if let Some(output) = output {
            // The destructor's panic is the task's outcome; the output goes the way of an undelivered one.
            // SAFETY: this task panicked, so its core stays until this call returns (`CoreRef::borrowed`).
            drop(Outcome::done(output, || unsafe { self.handler() }));
        }
        // SAFETY: this task panicked, so its core stays until this call returns (`CoreRef::borrowed`).
        Outcome::panicked(payload, unsafe { self.handler() })
    }

    /// Drops the future and deregisters. Returns the panic of the destructor.
    #[cold]
    fn finish(&mut self) -> Option<Payload> {
        let key = core::mem::replace(&mut self.key, ENDED);
        let future = &mut self.future;
        let dropped = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: the caller saw that the future is alive; `key` now says that it is not. It is dropped where it was
            // pinned.
            unsafe { ManuallyDrop::drop(future) }
        }));
        if C::COUNTS {
            // SAFETY: a core that counts is in place until this call returns.
            unsafe { self.core() }.abandoned();
        }
        self.deregister(key);
        dropped.err()
    }
}

impl<C: Core, F: Future> Future for Guarded<C, F> {
    type Output = Outcome<F::Output>;

    // As a call it took an eager child a third more instructions: the outcome went through the stack.
    #[inline(always)]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: the future is pinned with `self`: it is polled and dropped in place only.
        let this = unsafe { self.get_unchecked_mut() };
        let mut output = None;
        // The key is not `ENDED`: neither cell polls a dropped or a finished future.
        let key = this.key;
        // One catch for the poll, the destructor and the registry.
        let caught = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: the future is pinned with `self`, and this block alone polls it.
            let future = unsafe { Pin::new_unchecked(&mut *this.future) };
            if let Poll::Ready(value) = future.poll(context) {
                output = Some(value);
                this.key = ENDED;
                // SAFETY: the future has not been dropped yet, and is not again, as `key` now says. It is dropped where it was
                // pinned.
                unsafe { ManuallyDrop::drop(&mut this.future) };
            } else if key == NEW {
                // SAFETY: the future is alive.
                if let Some(registry) = unsafe { this.core() }.registry() {
                    // A task that cannot register ends like one that panics.
                    // SAFETY: this is a poll of a task of that executor.
                    this.key = unsafe { registry.insert(context.waker()) };
                    debug_assert!(this.key < ENDED);
                }
            }
        }));
        if let Err(payload) = caught {
            if this.key != ENDED {
                // Its poll panicked, and its destructor may, too.
                if let Some(second) = this.finish() {
                    drop(this.fail::<F::Output>(None, second));
                }
            } else {
                // SAFETY: this is that poll.
                unsafe { this.end_here(key) };
            }
            return Poll::Ready(this.fail(output, payload));
        }
        match output {
            Some(value) => {
                // SAFETY: this is that poll.
                unsafe { this.end_here(key) };
                // SAFETY: `done` asks only for an output with a destructor. That may panic, so the core stays.
                Poll::Ready(Outcome::done(value, || unsafe { this.handler() }))
            }
            None => Poll::Pending,
        }
    }
}

impl<C: Core, F> Drop for Guarded<C, F> {
    #[inline]
    fn drop(&mut self) {
        // A task that was cancelled, or whose executor ends, still has its future.
        if self.key != ENDED {
            if let Some(payload) = self.finish() {
                // SAFETY: this task's destructor panicked, so its core stays until this call returns (`CoreRef::borrowed`).
                unhandled(unsafe { self.handler() }, payload);
            }
        }
        if self.counted {
            // SAFETY: `into_ptr` made it by `Arc::into_raw`. This gives it back, once, and nothing uses the core afterwards.
            unsafe { C::release(self.core) };
        }
    }
}

/// A task's output or the payload of its panic, until the handle takes it.
///
/// If no handle does, its destructor hands payloads to the executor's handler. It catches a panic of the output's
/// destructor, because `async-task` would abort the process. It holds that handler rather than the executor, which may
/// be gone when a handle is dropped.
pub struct Outcome<T> {
    /// `into_result` or `drop` takes it, once.
    pub(super) result: ManuallyDrop<Result<T, Payload>>,
    handler: Option<PanicHandler>,
}

impl<T> Outcome<T> {
    /// An output. Asks for the handler only if the output has a destructor, which might panic.
    #[inline]
    pub(super) fn done(value: T, handler: impl FnOnce() -> Option<PanicHandler>) -> Self {
        let handler = if core::mem::needs_drop::<T>() {
            handler()
        } else {
            None
        };
        Self {
            result: ManuallyDrop::new(Ok(value)),
            handler,
        }
    }

    /// A panic.
    pub(super) fn panicked(payload: Payload, handler: Option<PanicHandler>) -> Self {
        Self {
            result: ManuallyDrop::new(Err(payload)),
            handler,
        }
    }

    /// Delivers it.
    #[inline]
    pub(super) fn into_result(self) -> Result<T, Payload> {
        let mut this = ManuallyDrop::new(self);
        if core::mem::needs_drop::<T>() || this.result.is_err() {
            // Any other one has no handler.
            drop(this.handler.take());
        }
        // SAFETY: `this` is not dropped, so this is the only time that the result is taken.
        unsafe { ManuallyDrop::take(&mut this.result) }
    }
}

impl<T> Drop for Outcome<T> {
    #[inline]
    fn drop(&mut self) {
        if !core::mem::needs_drop::<T>() && self.result.is_ok() {
            return;
        }
        // SAFETY: `into_result` forgets `self`, so the result is still there, and this is its last use.
        let result = unsafe { ManuallyDrop::take(&mut self.result) };
        let payload = match result {
            Ok(value) => catch_unwind(AssertUnwindSafe(|| drop(value))).err(),
            Err(payload) => Some(payload),
        };
        if let Some(payload) = payload {
            unhandled(self.handler.take(), payload);
        }
    }
}
