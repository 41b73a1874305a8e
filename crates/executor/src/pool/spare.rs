//! Spare workers: started when every worker of a pool waits and work is left that none of them may
//! adopt; each ends when it finds nothing more to do.

use terrace_sync::atomic::Ordering;
use terrace_sync::thread::JoinHandle;
use terrace_sync::{Arc, Mutex};

use super::search::Scan;
use super::{Looking, Shared, threads};
use crate::builder::Config;

/// Spares that a pool may have at once; beyond them waiters help themselves.
pub(crate) const MAX: usize = 16;

/// What is needed to start spares, and those that run.
pub(crate) struct Spares {
    config: Arc<Config>,
    seats: Mutex<Seats>,
}

struct Seats {
    /// The threads by spare seat; a finished one is joined when its seat is needed again.
    threads: [Option<JoinHandle<()>>; MAX],
}

impl Spares {
    pub(crate) fn new(config: Arc<Config>) -> Self {
        Self {
            config,
            seats: Mutex::new(Seats {
                threads: [const { None }; MAX],
            }),
        }
    }

    /// The threads of all spares, to be joined by a pool that closes.
    pub(crate) fn take(&self) -> Vec<JoinHandle<()>> {
        self.seats
            .lock()
            .threads
            .iter_mut()
            .filter_map(Option::take)
            .collect()
    }
}

impl Shared {
    /// Starts a spare worker; false if all seats are taken or no thread can be started.
    pub(crate) fn start_spare(self: &Arc<Self>) -> bool {
        let mut seats = self.spares.seats.lock();
        let free = seats
            .threads
            .iter()
            .position(|thread| thread.as_ref().is_none_or(JoinHandle::is_finished));
        let Some(free) = free else { return false };
        let index = self.workers + free;
        // Ordering: Relaxed, under the lock; see `used_seats`.
        let used = self.seats_used.load(Ordering::Relaxed).max(index + 1);
        self.seats_used.store(used, Ordering::Relaxed);
        // Counted live before it runs, so that the pool does not look stuck meanwhile.
        self.idle.adopt_live(index);
        match threads::start_worker(self, &self.spares.config, index, true) {
            Ok(thread) => {
                // The seat's former thread has finished; dropping its handle forgets it.
                seats.threads[free] = Some(thread);
                true
            }
            Err(_) => {
                self.idle.abandon_live(
                    index,
                    &Scan {
                        pool: self,
                        looking: Looking::ToWake,
                        exhausted: None,
                        heeds_closing: true,
                    },
                );
                false
            }
        }
    }
}
