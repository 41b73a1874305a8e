//! The loop of a worker as a future, for the program's own reactor.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The loop of one worker, as a future: see [`Builder::worker_main`](crate::Builder::worker_main). It is ready when the worker ends,
/// also if it is polled again. It stays on the worker's thread. `worker_main` has an example.
#[must_use = "a worker runs nothing until its future is polled"]
pub struct WorkerLoop<'w>(&'w mut dyn PollLoop);

/// What stands behind the future.
pub(crate) trait PollLoop {
    /// Runs tasks, then parks the worker.
    fn poll(&mut self, context: &Context<'_>) -> Poll<()>;
}

impl<'w> WorkerLoop<'w> {
    pub(crate) fn new(inner: &'w mut dyn PollLoop) -> Self {
        Self(inner)
    }
}

impl Future for WorkerLoop<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.0.poll(context)
    }
}

impl fmt::Debug for WorkerLoop<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WorkerLoop { .. }")
    }
}
