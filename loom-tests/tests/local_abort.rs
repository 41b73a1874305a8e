//! Models of an abortable future: an abort on one thread against polls on another.

use std::future::{Future, pending};
use std::pin::pin;
use std::sync::Arc as Plain;
use std::task::{Context, Poll, Wake, Waker};

use terrace_local::abort::abortable;
use terrace_park::{Parker, Unparker};
use terrace_sync::{model, thread};

/// Wakes the thread that polls.
struct Bell(Unparker);

impl Wake for Bell {
    fn wake(self: Plain<Self>) {
        self.0.unpark();
    }
}

/// A thread polls the future, and would sleep for ever; the abort ends it, whether it comes before, in, or after the first poll.
///
/// Fails under: `abort-unseen` (the thread sleeps on).
#[test]
fn abort_against_a_pending_poll() {
    model(|| {
        let (future, handle) = abortable(pending::<()>());
        let aborts = thread::spawn(move || handle.abort());
        let parker = Parker::new();
        let waker = Waker::from(Plain::new(Bell(parker.unparker())));
        let context = &mut Context::from_waker(&waker);
        let mut future = pin!(future);
        loop {
            match future.as_mut().poll(context) {
                Poll::Ready(output) => {
                    assert_eq!(output, None);
                    break;
                }
                Poll::Pending => parker.park(),
            }
        }
        aborts.join().unwrap();
    });
}

/// Two handles abort at once, one of them after the future is gone.
#[test]
fn two_aborts_and_a_drop() {
    model(|| {
        let (future, handle) = abortable(pending::<()>());
        let other = handle.clone();
        let aborts = thread::spawn(move || other.abort());
        let waker = Waker::noop();
        {
            let mut future = pin!(future);
            let polled = future.as_mut().poll(&mut Context::from_waker(waker));
            assert!(matches!(polled, Poll::Pending | Poll::Ready(None)));
        }
        handle.abort();
        aborts.join().unwrap();
        assert!(handle.is_aborted());
    });
}
