//! A guard around code that must not unwind: the frame below it is in use.

/// Ends the process when dropped, and says why. A caller that did not unwind [forgets](std::mem::forget) it.
pub(crate) struct Bomb(pub(crate) &'static str);

impl Drop for Bomb {
    #[cold]
    fn drop(&mut self) {
        eprintln!("terrace: a panic {}", self.0);
        std::process::abort();
    }
}
