//! `Send` where the target has threads, nothing where it has none.

use alloc::boxed::Box;
use core::pin::Pin;

crate::cfg::conditional_send! {
    if {
        /// `Send` on targets with threads; holds for every type on `wasm32`, whose futures often are not `Send`.
        pub trait ConditionalSend {}
        impl<T> ConditionalSend for T {}
    } else {
        /// `Send` on targets with threads; holds for every type on `wasm32`, whose futures often are not `Send`.
        ///
        /// # Examples
        ///
        /// ```
        /// use terrace_tasks::{BoxedFuture, ConditionalSend, block_on};
        ///
        /// fn length(text: impl AsRef<str> + ConditionalSend + 'static) -> BoxedFuture<'static, usize> {
        ///     Box::pin(async move { text.as_ref().len() })
        /// }
        ///
        /// assert_eq!(block_on(length("words")), 5);
        /// ```
        pub trait ConditionalSend: Send {}
        impl<T: Send> ConditionalSend for T {}
    }
}

/// A future that is [`ConditionalSend`].
///
/// # Examples
///
/// ```
/// use terrace_tasks::{BoxedFuture, ConditionalSendFuture, block_on};
///
/// fn boxed<'a>(future: impl ConditionalSendFuture<Output = u32> + 'a) -> BoxedFuture<'a, u32> {
///     Box::pin(future)
/// }
///
/// assert_eq!(block_on(boxed(async { 42 })), 42);
/// ```
pub trait ConditionalSendFuture: Future + ConditionalSend {}

impl<T: Future + ConditionalSend> ConditionalSendFuture for T {}

/// An owned future of any type with the output `T`, for trait methods and recursive functions. Costs one
/// allocation and a virtual call a poll.
pub type BoxedFuture<'a, T> = Pin<Box<dyn ConditionalSendFuture<Output = T> + 'a>>;
