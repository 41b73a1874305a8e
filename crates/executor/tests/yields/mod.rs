//! A future that wakes itself.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Wakes itself so often before it is done.
pub(crate) struct Yield(pub(crate) u32);

impl Future for Yield {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.0 == 0 {
            return Poll::Ready(());
        }
        self.0 -= 1;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}
