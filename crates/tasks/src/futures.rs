//! Looking at a future once, without waiting for it.
//!
//! Both functions poll with a waker that does nothing, so neither allocates. The waker does not tell the caller of
//! progress: the caller looks again, for instance once a frame.

use core::pin::pin;
use core::task::{Context, Poll, Waker};

/// Polls `future` once and gives its output if it was ready; otherwise drops (that is, cancels) it.
///
/// # Examples
///
/// ```
/// use terrace_tasks::futures::now_or_never;
///
/// assert_eq!(now_or_never(async { 3 }), Some(3));
/// assert_eq!(now_or_never(std::future::pending::<()>()), None);
/// ```
pub fn now_or_never<F: Future>(future: F) -> Option<F::Output> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// Polls `future` once, keeps it, and gives its output if it was ready.
///
/// After a `Some` the future is finished; most futures panic if they are polled again.
///
/// # Examples
///
/// ```
/// use terrace_tasks::futures::check_ready;
///
/// let mut load = Box::pin(async { "mesh" });
/// assert_eq!(check_ready(&mut load), Some("mesh"));
/// ```
pub fn check_ready<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    now_or_never(future)
}
