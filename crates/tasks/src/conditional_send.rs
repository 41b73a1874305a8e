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
        pub trait ConditionalSend: Send {}
        impl<T: Send> ConditionalSend for T {}
    }
}

/// A future that is [`ConditionalSend`].
pub trait ConditionalSendFuture: Future + ConditionalSend {}

impl<T: Future + ConditionalSend> ConditionalSendFuture for T {}

/// An owned future of any type with the output `T`, for trait methods and recursive functions. Costs one
/// allocation and a virtual call a poll.
pub type BoxedFuture<'a, T> = Pin<Box<dyn ConditionalSendFuture<Output = T> + 'a>>;
