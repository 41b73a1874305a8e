//! Workloads that local and work-stealing executors share: spawn tasks and wait for them.
//!
//! The sizes are those of `async-executor`'s benches: 25,000 light tasks, 300 tasks of 300 steps.

mod web_server;
mod workloads;

pub use web_server::web_server;
#[cfg(feature = "executor")]
pub(crate) use workloads::many;
pub use workloads::{channels, spawn_batch, spawn_many, spawn_one, spawn_recursively, yield_now};

/// Tasks of the workloads whose tasks do something.
pub const TASKS: usize = 300;
/// Steps of each of those tasks.
pub const STEPS: usize = 300;
/// Tasks of the workloads whose tasks do nothing.
pub const LIGHT_TASKS: usize = 25_000;
/// Tasks of a batch.
pub const BATCH: usize = 250;

/// The handle with which tasks spawn. A local executor's handle claims to be `Send`, too, but stays on its thread.
pub trait Spawner: Copy + Send + Sync + 'static {
    /// The handle of a task; the output when awaited.
    type Task<T: Send + 'static>: Future<Output = T> + Send + 'static;

    /// Spawns one task.
    fn spawn<T: Send + 'static>(
        self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Self::Task<T>;

    /// Lets a task run without its handle.
    fn detach<T: Send + 'static>(task: Self::Task<T>);

    /// Spawns a batch, one by one where the contender has nothing better.
    fn spawn_many<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
        self,
        futures: impl Iterator<Item = F>,
        tasks: &mut Vec<Self::Task<T>>,
    ) {
        tasks.extend(futures.map(|future| self.spawn(future)));
    }
}

/// An executor, with its threads where it has any. The workloads end all tasks before they drop it.
pub trait Contender: 'static {
    /// Its name in rows.
    const NAME: &'static str;
    /// The handle with which its tasks spawn.
    type Spawner: Spawner;

    /// Makes one with that many worker threads; a local executor has none and ignores the number.
    fn new(workers: usize) -> Self;

    /// A handle to spawn with.
    fn spawner(&self) -> Self::Spawner;

    /// Runs a future on the calling thread in the contender's own way. A local executor runs its tasks until it is
    /// done; a thread outside a pool waits.
    fn run<T>(&self, future: impl Future<Output = T>) -> T;
}
