//! The pools that join, ours and the peers.

use std::num::NonZero;

use terrace_executor::{Executor, Worker, block_on};

use super::joins::{Joins, Node, Solves};
use super::problems::Problem;
use super::walks::{chilis, ours, rayons};

/// Ours.
pub struct Ours(Executor<'static>);

impl Joins for Ours {
    const NAME: &'static str = "fork";

    fn new(workers: usize) -> Self {
        Self(Executor::builder().workers(workers).build())
    }

    fn tree<const FIRST: usize>(&self, root: &'static Node, steps: u64) -> u64 {
        let sum =
            async move { Worker::with_current(|worker| ours::tree::<FIRST>(worker, root, steps)) };
        block_on(self.0.spawn(sum))
    }

    fn fib(&self, number: u64) -> u64 {
        let sum = async move { Worker::with_current(|worker| ours::fib(worker, number)) };
        block_on(self.0.spawn(sum))
    }
}

/// Ours, where the caller is one of the threads, as chili's is.
pub struct Guest(Executor<'static>);

impl Joins for Guest {
    const NAME: &'static str = "fork_guest";

    fn new(workers: usize) -> Self {
        Self(Executor::builder().workers(workers - 1).build())
    }

    fn tree<const FIRST: usize>(&self, root: &'static Node, steps: u64) -> u64 {
        self.0
            .with_worker(|worker| ours::tree::<FIRST>(worker, root, steps))
    }

    fn fib(&self, number: u64) -> u64 {
        self.0.with_worker(|worker| ours::fib(worker, number))
    }
}

/// chili's pool.
pub struct Chili(chili::ThreadPool);

impl Joins for Chili {
    const NAME: &'static str = "chili";

    fn new(workers: usize) -> Self {
        Self(chili::ThreadPool::with_config(chili::Config {
            thread_count: NonZero::new(workers),
            ..chili::Config::default()
        }))
    }

    fn tree<const FIRST: usize>(&self, root: &'static Node, steps: u64) -> u64 {
        chilis::tree::<FIRST>(&mut self.0.scope(), root, steps)
    }

    fn fib(&self, number: u64) -> u64 {
        chilis::fib(&mut self.0.scope(), number)
    }
}

/// rayon's pool.
pub struct RayonJoins(rayon_core::ThreadPool);

impl Joins for RayonJoins {
    const NAME: &'static str = "rayon";

    fn new(workers: usize) -> Self {
        let pool = rayon_core::ThreadPoolBuilder::new().num_threads(workers);
        Self(pool.build().expect("the threads start"))
    }

    fn tree<const FIRST: usize>(&self, root: &'static Node, steps: u64) -> u64 {
        self.0.install(|| rayons::tree::<FIRST>((), root, steps))
    }

    fn fib(&self, number: u64) -> u64 {
        self.0.install(|| rayons::fib((), number))
    }
}

impl Solves for Guest {
    fn solve(&self, problem: &mut Problem) {
        self.0.with_worker(|worker| ours::solve(worker, problem));
    }
}

impl Solves for Chili {
    fn solve(&self, problem: &mut Problem) {
        chilis::solve(&mut self.0.scope(), problem);
    }
}

impl Solves for RayonJoins {
    fn solve(&self, problem: &mut Problem) {
        self.0.install(|| rayons::solve((), problem));
    }
}
