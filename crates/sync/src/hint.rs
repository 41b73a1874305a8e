//! Spin hints.

/// Tells the processor, or the checker, that this is a busy-wait loop.
///
/// A checker takes it as a yield: the thread runs again only after others could.
/// [`fence`](crate::atomic::fence) has an example.
#[inline(always)]
pub fn spin_loop() {
    #[cfg(terrace_loom)]
    loom::hint::spin_loop();
    #[cfg(terrace_shuttle)]
    shuttle::hint::spin_loop();
    #[cfg(not(any(terrace_loom, terrace_shuttle)))]
    core::hint::spin_loop();
}
