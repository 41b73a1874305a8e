//! The context that is calling, on a machine without threads: the program says it, by [`context!`](crate::context!).
//!
//! A *context* is what a thread is on a hosted system: code that never interrupts itself. The main loop of a processor
//! core is one; each interrupt priority of a processor core is another. An executor belongs to the context that uses it
//! first. A wake from any other context goes through the inbox. So an interrupt may wake a task by
//! [`wake_by_ref`](core::task::Waker::wake_by_ref) at any time.
//!
//! ```text
//! struct CortexM;
//!
//! // SAFETY: the number of the active exception, 0 in thread mode, is that of the running handler.
//! unsafe impl terrace_local::context::Context for CortexM {
//!     fn id() -> NonZeroUsize {
//!         let ipsr: usize;
//!         unsafe { asm!("mrs {}, IPSR", out(reg) ipsr, options(nomem, nostack, preserves_flags)) };
//!         NonZeroUsize::MIN.saturating_add(ipsr & 0x1ff)
//!     }
//! }
//!
//! terrace_local::context!(CortexM);
//! ```
//!
//! A program without interrupts and further cores may return a constant. A program that defines no context does not
//! link: the linker misses the symbol `terrace_local_context_is_missing__use_the_macro_terrace_local_context`.

use core::num::NonZeroUsize;

/// Tells contexts apart.
///
/// # Safety
/// Two calls of [`id`](Self::id) return the same number only if the same context made them. Neither can have
/// interrupted the other, or run beside it on another processor core. So an interrupt handler has another number than
/// the main loop, and each processor core has numbers of its own.
///
/// # Examples
///
/// ```
/// use std::num::NonZeroUsize;
/// use terrace_local::context::Context;
///
/// struct OneLoop;
///
/// // SAFETY: the program is one loop on one processor core, and no interrupt calls an executor.
/// unsafe impl Context for OneLoop {
///     fn id() -> NonZeroUsize {
///         NonZeroUsize::MIN
///     }
/// }
///
/// terrace_local::context!(OneLoop);
/// assert_eq!(OneLoop::id().get(), 1);
/// ```
pub unsafe trait Context {
    /// The number of the calling context. Each spawn and each wake calls it: it should be one or two instructions.
    /// [`Context`] has an example.
    fn id() -> NonZeroUsize;
}

unsafe extern "Rust" {
    #[link_name = "terrace_local_context_is_missing__use_the_macro_terrace_local_context"]
    /// The calling context.
    pub(crate) safe fn context_id() -> NonZeroUsize;
}

/// Makes a type that implements [`Context`] the program's. A program calls it once.
/// [`Context`] has an example.
#[macro_export]
macro_rules! context {
    ($context:ty) => {
        const _: () = {
            #[unsafe(export_name = "terrace_local_context_is_missing__use_the_macro_terrace_local_context")]
            extern "Rust" fn context_id() -> ::core::num::NonZeroUsize {
                <$context as $crate::context::Context>::id()
            }
        };
    };
}
