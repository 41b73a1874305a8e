//! Random programs: tasks that wait for tasks that they have spawned, in every way that a task can
//! wait.
//!
//! A task blocks only on tasks that it has spawned in the same poll. So it never waits for a task that lies below it on
//! a stack.

use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc;

use terrace_executor::{Executor, FallibleTask, Lane, block_on, current};
use terrace_fork::scope;
use terrace_sync::Arc;
use terrace_sync::atomic::{AtomicBool, Ordering};
use terrace_sync::unmodelled::Weak;
use terrace_testing::Random;

use crate::account::{Ledger, panic_as_planned};
use crate::futures::{naps, spin, yields};
use crate::wakery::Counter;

/// The most steps of a task.
const STEPS: usize = 4;
/// How long a task blocks its thread for nothing, in µs.
const BLOCKS: usize = 300;

/// A task of a program.
type Work = Pin<Box<dyn Future<Output = u32> + Send>>;

/// The pools of a round.
pub(super) struct Pools {
    pub(super) executors: [Arc<Executor<'static>>; 2],
    /// Whether a task may block its thread on another one: one at a time, and where a thread waits in a scope of the pool.
    pub(super) may_block: AtomicBool,
}

/// The state that all parts of a program share.
#[derive(Clone)]
pub(super) struct Program {
    /// Tasks do not keep the pools.
    pools: Weak<Pools>,
    /// In a scope the number of its pool: a thread that waits for the scope drives no other pool.
    only: Option<usize>,
    ledger: Arc<Ledger>,
    counter: Counter,
}

impl Program {
    pub(super) fn new(pools: &Arc<Pools>, ledger: &Arc<Ledger>, counter: Counter) -> Self {
        Self {
            pools: Arc::downgrade(pools),
            only: None,
            ledger: Arc::clone(ledger),
            counter,
        }
    }

    /// A task that spawns others, so many levels deep.
    pub(super) fn work(&self, random: &mut Random, depth: usize) -> Work {
        let (program, mut random) = (self.clone(), random.split());
        let account = self.ledger.open("program");
        Box::pin(async move {
            for _ in 0..random.below(STEPS) {
                program.step(&mut random, depth).await;
            }
            if random.once_in(20) {
                let _accounted = account;
                panic_as_planned();
            }
            account.finish();
            1
        })
    }

    async fn step(&self, random: &mut Random, depth: usize) {
        self.ledger.act();
        match random.below(if depth == 0 { 4 } else { 12 }) {
            0 => yields(random.below(4)).await,
            1 => naps(self.counter.clone(), 1).await,
            2 => std::thread::sleep(random.micros(BLOCKS)),
            3 => spin(random),
            4..=5 => {
                if let Some(task) = self.spawn(random, depth) {
                    task.await;
                }
            }
            6..=7 => {
                if let Some(task) = self.spawn(random, depth) {
                    block_on(task);
                }
            }
            8 => self.run(random, depth),
            9 => self.scope(random, depth),
            10 => self.block_a_thread(),
            _ => {
                let pinned = self.work(random, depth - 1);
                terrace_thread::spawn_local(pinned).detach();
            }
        }
    }

    /// One of the pools, while there are any.
    fn pool(&self, random: &mut Random) -> Option<Arc<Executor<'static>>> {
        let pools = self.pools.upgrade()?;
        let number = self.only.unwrap_or_else(|| random.below(2));
        Some(Arc::clone(&pools.executors[number]))
    }

    /// `None` where the pools are being dropped.
    fn spawn(&self, random: &mut Random, depth: usize) -> Option<FallibleTask<u32>> {
        let lane = random.of(&[Lane::High, Lane::Normal, Lane::Normal, Lane::Background]);
        let pool = self.pool(random)?;
        let work = self.work(random, depth - 1);
        Some(pool.spawn_on(lane, work).fallible())
    }

    fn run(&self, random: &mut Random, depth: usize) {
        let Some(task) = self.spawn(random, depth) else {
            return;
        };
        if let Some(pool) = self.pool(random) {
            block_on(pool.run(task));
        }
    }

    fn scope(&self, random: &mut Random, depth: usize) {
        let number = self.only.unwrap_or_else(|| random.below(2));
        let Some(pools) = self.pools.upgrade() else {
            return;
        };
        let pool = Arc::clone(&pools.executors[number]);
        drop(pools);
        let children = Self {
            only: Some(number),
            ..self.clone()
        };
        let works = (0..random.below(4)).map(|_| children.work(random, depth - 1));
        let works: Vec<_> = works.collect();
        scope(&pool, |scope| {
            for work in works {
                scope.spawn(async move {
                    work.await;
                });
            }
        });
    }

    /// On a worker: blocks its thread until another task of its pool has run.
    fn block_a_thread(&self) {
        let Some(pools) = self.pools.upgrade() else {
            return;
        };
        let pool = &pools.executors[0];
        let is_worker =
            current().is_some_and(|current| !current.is_driver() && !current.is_visitor());
        if !is_worker || pool.current_or_any() != current() {
            return;
        }
        // Ordering: AcqRel, as of a lock.
        if !pools.may_block.swap(false, Ordering::AcqRel) {
            return;
        }
        let (sends, receives) = mpsc::channel();
        let account = self.ledger.open("blocker");
        let frees = async move {
            account.finish();
            // The thread may be gone on, as this was dropped.
            let _sent = sends.send(());
        };
        pool.spawn(frees).detach();
        // An error if the task is dropped instead.
        let _freed = receives.recv();
        // Ordering: Release, as of a lock.
        pools.may_block.store(true, Ordering::Release);
    }
}
