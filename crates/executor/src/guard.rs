//! What happens at the end of a block, also when it unwinds.

/// Calls a function when it is dropped.
pub(crate) struct OnDrop<F: FnMut()>(pub(crate) F);

impl<F: FnMut()> Drop for OnDrop<F> {
    #[inline]
    fn drop(&mut self) {
        (self.0)();
    }
}

/// A guard around a wait that must not unwind, since the frame below it is in use: ends the process when dropped, and says why. A caller that
/// did not unwind [forgets](std::mem::forget) it.
pub(crate) struct Bomb(pub(crate) &'static str);

impl Drop for Bomb {
    #[cold]
    fn drop(&mut self) {
        eprintln!("terrace: a panic {}", self.0);
        std::process::abort();
    }
}
