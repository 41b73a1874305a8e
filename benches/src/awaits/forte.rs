//! forte's pool, under `--cfg terrace_forte` alone: see [`crate::fork::forte`].

use forte::{Task, ThreadPool, Worker};

use super::Pool;
use super::joining::joining;

/// Leaked: forte runs its pools out of statics. Its threads end with the row.
pub struct Forte(&'static ThreadPool);

impl Pool for Forte {
    const NAME: &'static str = "forte";
    type Handle = &'static ThreadPool;

    fn new(threads: usize) -> Self {
        let pool: &'static ThreadPool = Box::leak(Box::new(ThreadPool::new()));
        pool.resize_to(threads);
        Self(pool)
    }

    fn handle(&self) -> Self::Handle {
        self.0
    }
}

impl Drop for Forte {
    fn drop(&mut self) {
        self.0.depopulate();
    }
}

joining!(ThreadPool, Worker, Task);
