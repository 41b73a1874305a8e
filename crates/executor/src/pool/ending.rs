//! Shutting a pool down: its threads end, the pool stays.

use std::time::{Duration, Instant};

use event_listener::EventListener;
use terrace_sync::Arc;
use terrace_sync::atomic::Ordering;
use terrace_sync::thread;

use super::{Shared, context, outside};
use crate::shutdown::{Shutdown, StillRunning};

impl Shared {
    /// Ends all threads, and waits for them, at most for `limit`.
    pub(crate) fn shutdown(
        self: &Arc<Self>,
        how: Shutdown,
        limit: Option<Duration>,
    ) -> Result<(), StillRunning> {
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        // Ordering: Relaxed, read by workers that were asked to end.
        self.threads
            .draining
            .store(how == Shutdown::Drain, Ordering::Relaxed);
        context::empty_slot_in(self);
        self.resize(&mut self.threads.list.lock(), 0)
            .expect("ending threads needs nothing of the system");
        let own = usize::from(context::is_worker_of(&raw const **self));
        loop {
            let listener = self.threads.ended.listen();
            if self.join_ended(own) {
                break;
            }
            if !wait_for(listener, deadline) && !self.join_ended(own) {
                // Ordering: Relaxed, a number to report.
                let threads = self.running.load(Ordering::Relaxed).saturating_sub(own);
                if how == Shutdown::Drain {
                    self.leave_to_waiters();
                }
                return Err(StillRunning { threads });
            }
        }
        self.threads.draining.store(false, Ordering::Relaxed);
        if how == Shutdown::Cancel {
            while let Some(task) = self.pop_any().or_else(|| self.pop_lanes()) {
                drop(task);
            }
        }
        self.leave_to_waiters();
        Ok(())
    }

    /// After a shutdown: threads that wait drive the pool, unless it has got workers again, or never had any.
    fn leave_to_waiters(self: &Arc<Self>) {
        {
            let _list = self.threads.list.lock();
            // Ordering: Relaxed, written under the lock.
            if self.workers() > 0 || !self.threads.were_any.load(Ordering::Relaxed) {
                return;
            }
            outside::register(self);
        }
        outside::announce();
    }

    /// Joins every thread but `own`, the calling one, if they have all counted themselves out.
    fn join_ended(&self, own: usize) -> bool {
        let mut list = self.threads.list.lock();
        // Threads are counted in under the lock.
        // Ordering: Acquire, pairs with the AcqRel of `last_one_out`: what the threads did happens before the return.
        if self.running.load(Ordering::Acquire) > own {
            return false;
        }
        let here = thread::current();
        let (own, ended): (Vec<_>, Vec<_>) = std::mem::take(&mut *list)
            .into_iter()
            .partition(|thread| thread.handle.thread().is(&here));
        *list = own;
        drop(list);
        for thread in ended {
            thread
                .handle
                .join()
                .expect("a worker catches every panic of what it runs");
        }
        true
    }
}

/// Waits for a notification; false if the deadline came first.
#[cfg(not(target_family = "wasm"))]
fn wait_for(listener: EventListener, deadline: Option<Instant>) -> bool {
    use event_listener::Listener;

    match deadline {
        Some(deadline) => listener.wait_deadline(deadline).is_some(),
        None => {
            listener.wait();
            true
        }
    }
}

/// A listener cannot block here; no thread was started that one could wait for.
#[cfg(target_family = "wasm")]
fn wait_for(_listener: EventListener, _deadline: Option<Instant>) -> bool {
    false
}
