//! The future inside a task cell: the user's, with what the executor needs around it.

use alloc::boxed::Box;
use core::future::Future;
use core::mem::ManuallyDrop;
use core::panic::AssertUnwindSafe;
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll};

use super::core::unhandled;
use super::either::Either;
use super::handle::Task;
use super::{Core, CoreRef, Meta, Outcome, PanicHandler, Runnable, Schedule};
use crate::Payload;
use crate::registry::UNCOUNTED;
use crate::unwind::catch_unwind;

/// Futures that fill a cell of this size in bytes and more are boxed before they are moved anywhere else.
pub const LARGE: usize = 2048;

/// Whether `future` is to be boxed first.
///
/// In a debug build each function that passes a future on by value has a copy of it in its frame. So spawn functions, of
/// all layers, ask in their first statement, and pass on what [`boxed`] returns: two copies there and one in `boxed`,
/// however many layers follow. [`build`] asks once more.
#[inline(always)]
#[must_use]
pub const fn is_large<F>(_future: &F) -> bool {
    // With what `Guarded` adds: async-task boxes from the same size on, but takes the future by value first.
    size_of::<(F, usize, NonNull<()>)>() >= LARGE
}

/// The user's future inside its cell. Panics in its poll and in its destructor stay inside.
///
/// | `key`         | the future | in the registry |
/// |---------------|------------|-----------------|
/// | `NEW`         | alive      | no              |
/// | `ENDED`       | dropped    | no              |
/// | anything else | alive      | under that key  |
pub(super) struct Guarded<C: Core, F> {
    /// Dropped in place, once, when `key` becomes `ENDED`.
    future: ManuallyDrop<F>,
    /// Half a word: with `counted` it fills one.
    key: u32,
    /// Whether `core` is a counted reference, which `drop` gives back.
    counted: bool,
    /// Alive as long as the future; see `CoreRef`.
    core: NonNull<C>,
}

const NEW: u32 = u32::MAX;
const ENDED: u32 = u32::MAX - 1;

// SAFETY: the reference to the core (Send + Sync) may be used anywhere; the rest is as `F`.
unsafe impl<C: Core, F: Send> Send for Guarded<C, F> {}

impl<C: Core, F> Guarded<C, F> {
    #[inline]
    pub(super) fn new(core: CoreRef<C>, future: F) -> Self {
        let (core, counted) = core.into_raw();
        Self {
            future: ManuallyDrop::new(future),
            key: NEW,
            counted,
            core,
        }
    }

    /// Whether a registry has a reference to the task.
    #[inline]
    pub(super) fn is_kept(&self) -> bool {
        self.key < UNCOUNTED
    }

    /// The core.
    ///
    /// # Safety
    /// It is still in place: the future is alive, or this is the call that dropped it and `CoreRef::borrowed`'s second
    /// promise was made.
    #[inline]
    unsafe fn core(&self) -> &C {
        // SAFETY: forwarded to the caller.
        unsafe { self.core.as_ref() }
    }

    /// # Safety
    /// As [`core`](Self::core).
    unsafe fn handler(&self) -> Option<PanicHandler> {
        // SAFETY: forwarded to the caller.
        unsafe { self.core() }.panic_handler()
    }

    /// Marks the future as dropped and returns the key that it had. The caller drops it next.
    #[inline]
    fn end(&mut self) -> u32 {
        core::mem::replace(&mut self.key, ENDED)
    }

    /// Tells the core that the future has been dropped, and takes the task out of the registry.
    #[inline]
    fn deregister(&self, key: u32) {
        if C::COUNTS {
            // SAFETY: a core that counts is in place until this call returns.
            unsafe { self.core() }.ended();
        }
        if key == NEW {
            return;
        }
        // SAFETY: a core with a registry is in place until this call returns.
        let core = unsafe { self.core() };
        let waker = core.registry().and_then(|registry| {
            // SAFETY: this is where the executor polls or drops the future.
            unsafe { registry.remove(key) }
        });
        drop(waker);
    }

    /// At the first `Pending`.
    #[inline]
    fn register(&mut self, context: &Context<'_>) {
        // SAFETY: the future is alive.
        let core = unsafe { self.core() };
        if let Some(registry) = core.registry() {
            // SAFETY: this is a poll of a task of that executor.
            self.key = unsafe { registry.insert(context.waker()) };
            debug_assert!(self.key < ENDED);
        }
    }

    /// The outcome of a task that panicked.
    #[cold]
    fn fail<T>(&self, output: Option<T>, payload: Payload) -> Outcome<T> {
        if let Some(output) = output {
            // The destructor's panic is the task's; the output goes the way of an undelivered one.
            // SAFETY: tasks that may panic have a core that stays.
            drop(Outcome::done(output, || unsafe { self.handler() }));
        }
        // SAFETY: as above.
        Outcome::panicked(payload, unsafe { self.handler() })
    }
}

impl<C: Core, F: Future> Future for Guarded<C, F> {
    type Output = Outcome<F::Output>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: the future is pinned with `self`: it is polled and dropped in place only.
        let this = unsafe { self.get_unchecked_mut() };
        let mut output = None;
        // The key is not `ENDED`: async-task polls neither a dropped nor a finished future.
        let key = this.key;
        // One catch for the poll and the destructor.
        let caught = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: as above.
            let future = unsafe { Pin::new_unchecked(&mut *this.future) };
            if let Poll::Ready(value) = future.poll(context) {
                output = Some(value);
                this.end();
                // SAFETY: it has not been dropped yet, and is not again, as `key` now tells. It is dropped where it was
                // pinned.
                unsafe { ManuallyDrop::drop(&mut this.future) };
            }
        }));
        if let Err(payload) = caught {
            if this.key != ENDED {
                // It panicked in its poll, and may do so again in its destructor.
                if let Some(second) = this.finish() {
                    drop(this.fail::<F::Output>(None, second));
                }
            } else {
                this.deregister(key);
            }
            return Poll::Ready(this.fail(output, payload));
        }
        match output {
            Some(value) => {
                this.deregister(key);
                // SAFETY: an output with a destructor may panic, so the core stays.
                Poll::Ready(Outcome::done(value, || unsafe { this.handler() }))
            }
            None => {
                if key == NEW {
                    this.register(context);
                }
                Poll::Pending
            }
        }
    }
}

impl<C: Core, F> Guarded<C, F> {
    /// Drops the future of a task that was cancelled, or whose executor ends.
    #[cold]
    fn abandon(&mut self) {
        if let Some(payload) = self.finish() {
            // SAFETY: tasks that may panic have a core that stays.
            unhandled(unsafe { self.handler() }, payload);
        }
    }

    /// Drops the future and deregisters. Returns the panic of the destructor.
    #[cold]
    fn finish(&mut self) -> Option<Payload> {
        let key = self.end();
        let future = &mut self.future;
        let dropped = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: the caller saw that it is alive; from now on `key` tells that it is not. It is dropped where
            // it was pinned.
            unsafe { ManuallyDrop::drop(future) }
        }));
        self.deregister(key);
        dropped.err()
    }
}

impl<C: Core, F> Drop for Guarded<C, F> {
    #[inline]
    fn drop(&mut self) {
        if self.key != ENDED {
            self.abandon();
        }
        if self.counted {
            // SAFETY: made by `Arc::into_raw` and given back once, here: nothing uses the core afterwards.
            unsafe { C::release(self.core) };
        }
    }
}

/// Makes a task. One allocation, two for a [`LARGE`] future.
///
/// # Safety
/// - If the future or its output is not `Send`, the runnable is run and dropped, and the output taken, only on
///   the current thread; `core` sees to that for every wake.
/// - What the future and its output borrow lives until they have been dropped.
#[inline]
pub unsafe fn build<C: Schedule, F: Future>(
    core: CoreRef<C>,
    future: F,
) -> (Runnable, Task<F::Output>) {
    if is_large(&future) {
        // SAFETY: forwarded to the caller.
        unsafe { build_cell(core, boxed(future)) }
    } else {
        // SAFETY: forwarded to the caller.
        unsafe { build_cell(core, future) }
    }
}

/// Boxes a large future; see [`is_large`]. Out of line, so that its copy is gone when the task is made.
#[inline(never)]
pub fn boxed<F>(future: F) -> Pin<Box<F>> {
    Box::pin(future)
}

/// # Safety
/// As [`build`].
#[inline]
unsafe fn build_cell<C: Schedule, F: Future>(
    core: CoreRef<C>,
    future: F,
) -> (Runnable, Task<F::Output>) {
    let guarded = Guarded::new(core, future);
    let builder = async_task::Builder::new().metadata(Meta::new(guarded.core));
    let guarded = |_: &Meta| guarded;
    // SAFETY: the schedule function is Send, Sync and 'static; the rest is the caller's promise.
    let (runnable, task) =
        unsafe { builder.spawn_unchecked(guarded, async_task::WithInfo(schedule::<C>)) };
    let (runnable, task) = Either::shared(task.fallible(), runnable);
    (runnable, Task::new(task))
}

/// The schedule function of every task of a kind of core: it has no size.
fn schedule<C: Schedule>(task: Runnable, info: async_task::ScheduleInfo) {
    let core = task.metadata().core::<C>();
    if info.woken_while_running {
        // SAFETY: as below.
        unsafe { C::schedule_again(core, task) };
    } else {
        // SAFETY: the task was made with this function and a core of this type; the runnable has not run, so its future
        // has not been dropped.
        unsafe { C::schedule(core, task) };
    }
}
