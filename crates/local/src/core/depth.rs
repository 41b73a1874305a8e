//! [`Depth`]: how deep the owner's thread is in calls of a core.

use core::cell::Cell;

/// How many runs of tasks, closes and calls of hooks the owner's thread is in the middle of. Also whether the core has an
/// on-ready hook, and whether it is closed: they are here because the hot paths read this word anyway.
pub(super) struct Depth(Cell<usize>);

/// The core has an on-ready hook.
const ON_READY: usize = 1 << (usize::BITS - 1);
/// The core is closed, or a close has begun.
const CLOSED: usize = 1 << (usize::BITS - 2);

impl Depth {
    pub(super) const fn new() -> Self {
        Self(Cell::new(0))
    }

    /// The calls in progress, nested ones counted.
    #[inline]
    pub(super) fn get(&self) -> usize {
        self.0.get() & !(ON_READY | CLOSED)
    }

    /// Whether the core is open, and fewer than `LIMIT` calls are in progress. The limit is a power of two.
    #[inline]
    pub(super) fn is_open_below<const LIMIT: usize>(&self) -> bool {
        const { assert!(LIMIT.is_power_of_two()) };
        self.0.get() & !(ON_READY | (LIMIT - 1)) == 0
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
