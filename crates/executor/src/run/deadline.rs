//! Waits that end at a point in time.

use std::time::{Duration, Instant};

use super::block_on::block_on;
use super::stand_in;
use crate::parts::event::EventListener;

/// The point in time at which `limit` is over; none if it never is.
pub(crate) fn deadline_after(limit: Option<Duration>) -> Option<Instant> {
    limit.and_then(|limit| Instant::now().checked_add(limit))
}

/// Waits for a notification; false if the deadline came first. A worker or stand-in without a deadline runs tasks while it waits: other
/// workers may wait for tasks that they cannot take.
pub(crate) fn wait_for(listener: EventListener, deadline: Option<Instant>) -> bool {
    if deadline.is_none() && stand_in::is_worker_or_stands_in() {
        block_on(listener);
        return true;
    }
    block(listener, deadline)
}

#[cfg(not(target_family = "wasm"))]
fn block(listener: EventListener, deadline: Option<Instant>) -> bool {
    use crate::parts::event::Listener;

    match deadline {
        Some(deadline) => listener.wait_deadline(deadline).is_some(),
        None => {
            listener.wait();
            true
        }
    }
}

/// A listener cannot block on this target, which has no second thread to wait for.
#[cfg(target_family = "wasm")]
fn block(_listener: EventListener, _deadline: Option<Instant>) -> bool {
    false
}
