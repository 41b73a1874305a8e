//! tokio's tasks, awaited as those of every other contender.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::task::JoinHandle;

/// tokio's handle of a task that neither panics nor is cancelled.
pub struct Joined<T>(pub JoinHandle<T>);

impl<T> Future for Joined<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        Pin::new(&mut self.0)
            .poll(context)
            .map(|joined| joined.expect("the task ends"))
    }
}
