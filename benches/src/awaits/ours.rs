//! Ours.

use terrace_fork::{Task, ThreadPool, Worker};

use super::Pool;
use super::joining::joining;
use crate::Lent;

/// `terrace_fork::ThreadPool`.
pub struct Ours(Lent<ThreadPool>);

impl Pool for Ours {
    const NAME: &'static str = "fork";
    type Handle = &'static ThreadPool;

    fn new(threads: usize) -> Self {
        let pool = ThreadPool::new();
        pool.resize_to(threads);
        Self(Lent::new(pool))
    }

    fn handle(&self) -> Self::Handle {
        // SAFETY: only tasks of the pool keep it for longer than a call, and the pool's destructor ends these.
        unsafe { self.0.get() }
    }
}

joining!(ThreadPool, Worker, Task);
