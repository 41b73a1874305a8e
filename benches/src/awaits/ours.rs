//! Ours: the caller sleeps, or takes part.

use futures_lite::future::block_on;
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

/// The same pool with one thread less: the calling thread runs its tasks, too, as with forte.
pub struct Guest(Ours);

impl Pool for Guest {
    const NAME: &'static str = "guest_fork";
    type Handle = &'static ThreadPool;

    fn new(threads: usize) -> Self {
        Self(Ours::new(threads - 1))
    }

    fn handle(&self) -> Self::Handle {
        self.0.handle()
    }

    fn run<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> T {
        block_on(self.handle().executor().run(future))
    }
}

joining!(ThreadPool, Worker, Task);
