//! The future inside a task cell: the user's, with what the executor needs around it.

use alloc::boxed::Box;
use core::future::Future;
use core::mem::ManuallyDrop;
use core::panic::AssertUnwindSafe;
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll};

use super::handle::Task;
use super::{CoreRef, Meta, Outcome, Runnable};
use crate::Payload;
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
    // With what the cell adds: async-task boxes from the same size on, but takes the future by value first.
    size_of::<Guarded<F>>() >= LARGE
}

/// The user's future inside its cell. Panics in its poll and in its destructor stay inside.
struct Guarded<F> {
    /// Dropped in place, once, by `finish`.
    future: ManuallyDrop<F>,
    live: bool,
    /// The key in the core's registry.
    key: Option<usize>,
    /// In the header of the same cell, which outlives the future.
    meta: NonNull<Meta>,
}

// SAFETY: the reference to `Meta` (Send + Sync) may be used anywhere; the rest is as `F`.
unsafe impl<F: Send> Send for Guarded<F> {}

impl<F> Guarded<F> {
    fn core(&self) -> &CoreRef {
        // SAFETY: the header of a cell is dropped after its future.
        let meta = unsafe { self.meta.as_ref() };
        &meta.core
    }

    /// Drops the future and deregisters. Returns the panic of the destructor.
    fn finish(&mut self) -> Option<Payload> {
        if !self.live {
            return None;
        }
        self.live = false;
        // From here on a borrowed core may be gone: such a core has no registry, and `key` is `None`.
        let future = &mut self.future;
        let dropped = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: `live` was true, so the future has not been dropped yet, and is false from now on. It
            // is dropped where it was pinned.
            unsafe { ManuallyDrop::drop(future) }
        }));
        if let Some(key) = self.key.take() {
            // SAFETY: a core with a registry is counted or static, and the cell's header refers to it.
            let core = unsafe { self.core().as_ptr().as_ref() };
            let waker = core.registry().and_then(|registry| {
                // SAFETY: this is where the executor polls or drops the future.
                unsafe { registry.remove(key) }
            });
            drop(waker);
        }
        dropped.err()
    }
}

impl<F: Future> Future for Guarded<F> {
    type Output = Outcome<F::Output>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: the future is pinned with `self`: it is polled and dropped in place only.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: as above.
        let future = unsafe { Pin::new_unchecked(&mut *this.future) };
        let output = match catch_unwind(AssertUnwindSafe(|| future.poll(context))) {
            Ok(Poll::Ready(output)) => Ok(output),
            Ok(Poll::Pending) => {
                if this.key.is_none() {
                    // SAFETY: the future is alive, so a borrowed core is, too.
                    let core = unsafe { this.core().as_ptr().as_ref() };
                    this.key = core.registry().map(|registry| {
                        // SAFETY: this is a poll of a task of that executor.
                        unsafe { registry.insert(context.waker().clone()) }
                    });
                }
                return Poll::Pending;
            }
            Err(payload) => Err(payload),
        };
        let destructor = this.finish();
        Poll::Ready(match (output, destructor) {
            (Ok(output), None) => Outcome::done(output, this.core()),
            (Err(payload), None) => Outcome::panicked(payload, this.core()),
            (Ok(output), Some(payload)) => {
                // The destructor's panic is the task's; the output goes the way of an undelivered one.
                drop(Outcome::done(output, this.core()));
                Outcome::panicked(payload, this.core())
            }
            (Err(first), Some(second)) => {
                drop(Outcome::<F::Output>::panicked(second, this.core()));
                Outcome::panicked(first, this.core())
            }
        })
    }
}

impl<F> Drop for Guarded<F> {
    fn drop(&mut self) {
        if !self.live {
            return;
        }
        // Only tasks with a counted or static core have panics left here (see `Outcome::drop`).
        if let Some(payload) = self.finish() {
            // SAFETY: as just said.
            unsafe { self.core().unhandled_panic(payload) };
        }
    }
}

/// Makes a task. One allocation, two for a [`LARGE`] future.
///
/// # Safety
/// - If the future or its output is not `Send`, the runnable is run and dropped, and the output taken, only on
///   the current thread; `core` sees to that for every wake.
/// - What the future and its output borrow lives until they have been dropped.
/// - With a borrowed core, the task is detached at once, and neither the future panics nor do its destructor and its output's.
pub unsafe fn build<F: Future>(core: CoreRef, future: F) -> (Runnable, Task<F::Output>) {
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
unsafe fn build_cell<F: Future>(core: CoreRef, future: F) -> (Runnable, Task<F::Output>) {
    let builder = async_task::Builder::new().metadata(Meta::new(core));
    let guarded = |meta: &Meta| Guarded {
        future: ManuallyDrop::new(future),
        live: true,
        key: None,
        meta: NonNull::from(meta),
    };
    // SAFETY: `schedule` is Send, Sync and 'static; the rest is the caller's promise.
    let (runnable, task) = unsafe { builder.spawn_unchecked(guarded, schedule) };
    (runnable, Task::new(task))
}

/// Every task's schedule function.
fn schedule(task: Runnable) {
    let core = task.metadata().core.as_ptr();
    // SAFETY: the runnable is not run yet, so its future is alive and with it the core.
    let core = unsafe { core.as_ref() };
    // SAFETY: the task's metadata names this core.
    unsafe { core.schedule(task) };
}
