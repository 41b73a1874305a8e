//! forte's pool. It needs a newer compiler than the other contenders, so it is one under `--cfg terrace_forte` alone:
//! `cargo xtask bench --forte`.

use forte::{ThreadPool, Worker};

use super::Scopes;
use super::joins::{Joins, Node, Solves};
use super::problems::Problem;
use super::walks::fortes;

/// A pool with one thread less: the calling thread takes part, as with chili. The bench leaks it, as forte runs its pools out of statics.
pub struct Forte(&'static ThreadPool);

impl Forte {
    fn of(workers: usize) -> Self {
        let pool: &'static ThreadPool = Box::leak(Box::new(ThreadPool::new()));
        pool.resize_to(workers - 1);
        Self(pool)
    }
}

impl Drop for Forte {
    fn drop(&mut self) {
        self.0.depopulate();
    }
}

impl Joins for Forte {
    const NAME: &'static str = "forte";

    fn new(workers: usize) -> Self {
        Self::of(workers)
    }

    fn tree<const FIRST: usize>(&self, root: &'static Node, steps: u64) -> u64 {
        self.0
            .with_worker(|worker| fortes::tree::<FIRST>(worker, root, steps))
    }

    fn fib(&self, number: u64) -> u64 {
        self.0.with_worker(|worker| fortes::fib(worker, number))
    }
}

impl Solves for Forte {
    fn solve(&self, problem: &mut Problem) {
        self.0.with_worker(|worker| fortes::solve(worker, problem));
    }
}

impl Scopes for Forte {
    const NAME: &'static str = "forte";

    fn new(workers: usize) -> Self {
        Self::of(workers)
    }

    fn for_each<T: Send>(&self, items: &mut [T], body: impl Fn(&mut T) + Sync) {
        let body = &body;
        self.0.scope(|scope| {
            for item in items {
                scope.spawn(move |_: &Worker| body(item));
            }
        });
    }
}
