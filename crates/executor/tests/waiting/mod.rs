//! A future that waits for a call.

use std::future::{Future, poll_fn};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

/// The future, and what wakes it.
pub(crate) fn waiting() -> (impl Future<Output = ()> + Send, impl Fn()) {
    let state = Arc::new(Mutex::new((false, None::<Waker>)));
    let other = Arc::clone(&state);
    let future = poll_fn(move |context| {
        let mut state = state.lock().unwrap();
        if state.0 {
            return Poll::Ready(());
        }
        state.1 = Some(context.waker().clone());
        Poll::Pending
    });
    let wake = move || {
        let waker = {
            let mut state = other.lock().unwrap();
            state.0 = true;
            state.1.take()
        };
        waker.into_iter().for_each(Waker::wake);
    };
    (future, wake)
}
