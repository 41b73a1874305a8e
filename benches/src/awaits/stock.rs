//! The published `bevy_tasks`. It has no join: a scope of two tasks takes its place. Nor has it a wait that leaves the thread to other
//! tasks, so a branch that waits is a future, and awaits.

use bevy_tasks::{Task, TaskPool, TaskPoolBuilder};

use super::{Handle, Pool, count_turns, late_leaf, leaf};
use crate::Lent;

/// Of a thread. A scope that waits runs any task of the pool on top of its own, which opens a scope in turn: the default of 2 MiB overflows.
const STACK: usize = 64 << 20;

/// `bevy_tasks::TaskPool`.
pub struct Stock(Lent<TaskPool>);

impl Pool for Stock {
    const NAME: &'static str = "bevy_tasks";
    type Handle = &'static TaskPool;

    fn new(threads: usize) -> Self {
        let pool = TaskPoolBuilder::new().num_threads(threads);
        Self(Lent::new(pool.stack_size(STACK).build()))
    }

    fn handle(&self) -> Self::Handle {
        // SAFETY: only tasks of the pool keep it for longer than a call; its destructor joins its threads, and drops the rest.
        unsafe { self.0.get() }
    }
}

impl Handle for &'static TaskPool {
    type Task<T: Send + 'static> = Task<T>;

    fn spawn<T: Send + 'static>(
        self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Self::Task<T> {
        TaskPool::spawn(self, future)
    }

    fn scoped(self, items: &mut [u64]) {
        self.scope(|scope| {
            for item in items {
                scope.spawn(count_turns(item));
            }
        });
    }

    fn join(self, leaves: u64) -> u64 {
        if leaves <= 1 {
            return leaf();
        }
        let half = leaves / 2;
        let halves = self.scope(|scope| {
            scope.spawn(async move { Handle::join(self, half) });
            scope.spawn(async move { Handle::join(self, leaves - half) });
        });
        halves.iter().sum()
    }

    fn join_awaiting(self, leaves: u64) -> u64 {
        let half = leaves / 2;
        let halves = self.scope(|scope| {
            scope.spawn(branch(self, half));
            scope.spawn(branch(self, leaves - half));
        });
        halves.iter().sum()
    }
}

/// A half of a join: a leaf, or a join of its own.
async fn branch(pool: &'static TaskPool, leaves: u64) -> u64 {
    match leaves {
        0 => 0,
        1 => Handle::spawn(pool, late_leaf()).await,
        _ => pool.join_awaiting(leaves),
    }
}
