//! Which eager children the owner polls as it spawns them: the limits of all executors, and how deep the owner's thread is in calls of a
//! core.

use core::cell::Cell;

/// An eager child is queued if the thread is in the middle of so many polls of the executor. So a chain of eager children, each
/// spawned by the one before, takes a bounded part of the stack.
pub const DEEPEST: usize = 16;

/// Of the eager children that are spawned in one turn of an executor, each one after so many is queued. So a task that spawns
/// eager children in a loop, and awaits them, gives others their turn. A `run` future gives other futures of its thread their
/// turn after as many polls.
pub const A_TURN: u32 = 200;

/// How many runs of tasks, closes and calls of hooks the owner's thread is in the middle of. Also whether the core has an
/// on-ready hook, and whether it is closed: they are here because the hot paths read this word anyway.
#[derive(Default)]
pub(super) struct Depth(Cell<usize>);

/// The core has an on-ready hook.
const ON_READY: usize = 1 << (usize::BITS - 1);
/// The core is closed, or a close has begun.
const CLOSED: usize = 1 << (usize::BITS - 2);

impl Depth {
    /// The calls in progress, nested ones counted.
    #[inline]
    pub(super) fn get(&self) -> usize {
        self.0.get() & !(ON_READY | CLOSED)
    }

    /// Whether the core is open, and fewer than [`DEEPEST`] calls are in progress.
    #[inline]
    pub(super) fn allows_eager(&self) -> bool {
        const { assert!(DEEPEST.is_power_of_two()) };
        self.0.get() & !(ON_READY | (DEEPEST - 1)) == 0
    }

    /// A close begins.
    pub(super) fn set_closed(&self) {
        self.0.set(self.0.get() | CLOSED);
    }

    /// Begins a call, which ends when the result is dropped.
    #[inline]
    pub(super) fn enter(&self) -> Entered<'_> {
        self.0.set(self.0.get() + 1);
        Entered(self)
    }

    /// From now on the core has an on-ready hook.
    pub(super) fn set_on_ready(&self) {
        self.0.set(self.0.get() | ON_READY);
    }

    /// Whether the core has an on-ready hook, which the owner's pushes call.
    #[inline]
    pub(super) fn has_on_ready(&self) -> bool {
        self.0.get() & ON_READY != 0
    }
}

/// One call in progress.
pub(crate) struct Entered<'a>(&'a Depth);

impl Drop for Entered<'_> {
    #[inline]
    fn drop(&mut self) {
        let depth = &self.0.0;
        depth.set(depth.get() - 1);
    }
}
