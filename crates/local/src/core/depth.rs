//! [`Depth`]: how deep the owner's thread is in calls of a core.

use core::cell::Cell;

/// How many runs of tasks, closes and calls of hooks the owner's thread is in the middle of. Also whether the core has an
/// on-ready hook: it is here because the hot paths read this word anyway.
pub(super) struct Depth(Cell<usize>);

/// The core has an on-ready hook.
const ON_READY: usize = 1 << (usize::BITS - 1);

impl Depth {
    pub(super) const fn new() -> Self {
        Self(Cell::new(0))
    }

    /// The calls in progress, nested ones counted.
    #[inline]
    pub(super) fn get(&self) -> usize {
        self.0.get() & !ON_READY
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
