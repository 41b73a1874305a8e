//! Threads beside the measured one that do their part of each iteration.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread::{self, JoinHandle};

/// Threads that run a closure once a round; ended and joined on drop.
pub struct Crew {
    barrier: Arc<Barrier>,
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Crew {
    /// Starts `size` threads; `work(i)` is one round of thread `i`.
    pub fn new(size: usize, work: impl Fn(usize) + Clone + Send + 'static) -> Self {
        let barrier = Arc::new(Barrier::new(size + 1));
        let over = Arc::new(AtomicBool::new(false));
        let threads = (0..size)
            .map(|number| {
                let (barrier, over, work) = (Arc::clone(&barrier), Arc::clone(&over), work.clone());
                thread::spawn(move || {
                    loop {
                        barrier.wait();
                        // Ordering: Relaxed, the barrier orders it.
                        if over.load(Ordering::Relaxed) {
                            break;
                        }
                        work(number);
                        barrier.wait();
                    }
                })
            })
            .collect();
        Self {
            barrier,
            over,
            threads,
        }
    }

    /// One round: the threads work while `own` runs here; returns when all are done.
    pub fn round(&self, own: impl FnOnce()) {
        self.barrier.wait();
        own();
        self.barrier.wait();
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        // Ordering: Relaxed, the barrier orders it.
        self.over.store(true, Ordering::Relaxed);
        self.barrier.wait();
        for thread in self.threads.drain(..) {
            thread.join().expect("a bench thread panicked");
        }
    }
}
