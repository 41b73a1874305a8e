//! Workers that share jobs among themselves. Each pushes to its own ring and steals half of a peer's. If its ring is
//! full, it spills jobs into the injector. Every job comes out exactly once.
//!
//! ```sh
//! cargo run -p terrace-queue --example share
//! ```
//!
//! A worker here looks for work until all of it is done. A worker that sleeps instead needs `terrace-park`, whose example
//! `tiny_executor` has both.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use terrace_queue::{Injector, OwnedRing, Owner, Ring};

/// Worker threads.
const WORKERS: usize = 3;
/// A job of this number makes two of the next lower one, so there are 2^(DEPTH + 1) - 1 jobs.
const DEPTH: u32 = 14;

/// What the workers share.
struct Pool {
    rings: [Arc<Ring<u32>>; WORKERS],
    injector: Injector<u32>,
    /// Jobs that were pushed and have not been run.
    pending: AtomicU64,
    stolen: AtomicUsize,
}

impl Pool {
    /// The next job: from the worker's own ring, else from the injector, else from a peer.
    fn find(&self, worker: usize, own: &Owner<'_, u32>) -> Option<u32> {
        let shared = || self.injector.pop_batch_into(own, Ring::<u32>::CAPACITY / 2);
        let steal = || {
            let mut peers = (1..WORKERS).map(|step| &self.rings[(worker + step) % WORKERS]);
            let found = peers.find_map(|peer| peer.steal_into(own))?;
            self.stolen.fetch_add(1, Ordering::Relaxed);
            Some(found)
        };
        own.pop().or_else(shared).or_else(steal)
    }

    /// Runs jobs until there are none; how many.
    fn work(&self, worker: usize, mut own: OwnedRing<u32>) -> u64 {
        let own = own.owner();
        let mut ran = 0;
        while self.pending.load(Ordering::Acquire) > 0 {
            let Some(job) = self.find(worker, &own) else {
                thread::yield_now();
                continue;
            };
            if job > 0 {
                self.pending.fetch_add(2, Ordering::Relaxed);
                own.push_or_overflow(job - 1, &self.injector);
                own.push_or_overflow(job - 1, &self.injector);
            }
            ran += 1;
            self.pending.fetch_sub(1, Ordering::Release);
        }
        ran
    }
}

fn main() {
    let owned: [OwnedRing<u32>; WORKERS] = std::array::from_fn(|_| OwnedRing::new());
    let pool = Pool {
        rings: owned.each_ref().map(OwnedRing::share),
        injector: Injector::new(),
        pending: AtomicU64::new(1),
        stolen: AtomicUsize::new(0),
    };
    pool.injector.push(DEPTH);
    let ran: Vec<u64> = thread::scope(|scope| {
        let pool = &pool;
        let start = |(worker, own)| scope.spawn(move || pool.work(worker, own));
        let workers: Vec<_> = owned.into_iter().enumerate().map(start).collect();
        let ended = workers.into_iter().map(|worker| worker.join());
        ended
            .map(|ran| ran.expect("a worker does not panic"))
            .collect()
    });
    let steals = pool.stolen.load(Ordering::Relaxed);
    println!("jobs run by each worker: {ran:?}, successful steals: {steals}");
    let total: u64 = ran.iter().sum();
    println!("{total} jobs in all");
    assert_eq!(total, (1 << (DEPTH + 1)) - 1);
}
