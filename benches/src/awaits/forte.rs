//! forte's pool, under `--cfg terrace_forte` alone: see [`crate::fork::forte`].

use forte::{Task, ThreadPool, Worker};

use super::Pool;
use super::joining::joining;

/// A pool with one thread less: the calling thread takes part. Where it sleeps instead, and the pool has all threads, forte 1.0.0-beta.2
/// hangs now and then. Leaked: forte runs its pools out of statics. Its threads end with the row.
pub struct Forte(&'static ThreadPool);

impl Pool for Forte {
    const NAME: &'static str = "guest_forte";
    type Handle = &'static ThreadPool;

    fn new(threads: usize) -> Self {
        let pool: &'static ThreadPool = Box::leak(Box::new(ThreadPool::new()));
        pool.resize_to(threads - 1);
        Self(pool)
    }

    fn handle(&self) -> Self::Handle {
        self.0
    }

    fn run<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> T {
        self.0.with_worker(|worker| worker.block_on(future))
    }
}

impl Drop for Forte {
    fn drop(&mut self) {
        self.0.depopulate();
    }
}

joining!(ThreadPool, Worker, Task);
