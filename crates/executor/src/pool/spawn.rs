//! Making tasks of a pool, one by one and many at once.

use std::future::Future;

use terrace_local::task::{self, CoreRef, Runnable, Schedule, Task};
use terrace_queue::Spill;

use super::place::{self, Cause, Owed};
use super::runner;
use super::shared::Shared;
use crate::parts::trace_index;

/// Tasks of a large batch that are made before the first of them are published.
const BATCH: usize = 256;

impl Shared {
    /// Makes a task and queues it; the caller publishes it.
    ///
    /// # Safety
    /// The future and its output are Send, and what they borrow lives until they have been dropped. `core` refers to
    /// this pool.
    #[inline]
    pub(crate) unsafe fn make<C: Schedule, F: Future>(
        &self,
        core: CoreRef<C>,
        future: F,
    ) -> (Runnable, Task<F::Output>) {
        // The cell counts the task out again, by `Core::ended`.
        const { assert!(C::COUNTS) };
        runner::count_spawn(self);
        terrace_trace::spawn(trace_index::get());
        // SAFETY: the caller's promise about the future; `core` is one whose tasks may run anywhere.
        unsafe { task::build(core, future) }
    }

    /// Spawns a task: a runner of this pool queues it into its own ring, any other thread into the injector.
    ///
    /// # Safety
    /// The future and its output are Send, and what they borrow lives until they have been dropped. `core` refers to
    /// this pool.
    #[inline]
    pub(crate) unsafe fn spawn_task<C: Schedule, F: Future>(
        &self,
        core: CoreRef<C>,
        future: F,
    ) -> Task<F::Output> {
        // SAFETY: the caller promises the same of the future and of `core`.
        let (runnable, task) = unsafe { self.make(core, future) };
        self.push_spawned(runnable);
        task
    }

    /// Spawns a task that goes where `core` puts it.
    ///
    /// # Safety
    /// As [`spawn_task`](Self::spawn_task).
    pub(crate) unsafe fn spawn_on_core<C: Schedule, F: Future>(
        &self,
        core: CoreRef<C>,
        future: F,
    ) -> Task<F::Output> {
        // SAFETY: the caller promises the same of the future and of `core`.
        let (runnable, task) = unsafe { self.make(core, future) };
        runnable.schedule();
        task
    }

    /// Spawns all `futures` as one batch, and hands out their handles as it makes them. It publishes them together:
    /// every [`BATCH`] tasks, and at the end, also if the iterator panics.
    ///
    /// # Safety
    /// As [`spawn_task`](Self::spawn_task), for every future.
    pub(crate) unsafe fn spawn_tasks<C: Schedule, F: Future>(
        &self,
        core: impl Fn() -> CoreRef<C>,
        futures: impl IntoIterator<Item = F>,
        handles: &mut impl Extend<Task<F::Output>>,
    ) {
        let mut batch = Batch::new(self);
        handles.extend(futures.into_iter().map(|future| {
            let (runnable, task) = if task::is_large(&future) {
                // SAFETY: the caller promises the same of the future and of `core`.
                unsafe { self.make(core(), task::boxed(future)) }
            } else {
                // SAFETY: the caller promises the same of the future and of `core`.
                unsafe { self.make(core(), future) }
            };
            batch.push(runnable);
            task
        }));
    }
}

/// Tasks that were made and are not published yet.
pub(crate) struct Batch<'p> {
    pool: &'p Shared,
    /// Tasks for the injector.
    remote: Vec<Runnable>,
    /// How many tasks lie in the runner's own ring.
    queued: usize,
}

impl<'p> Batch<'p> {
    /// An empty one.
    pub(crate) fn new(pool: &'p Shared) -> Self {
        Self {
            pool,
            remote: Vec::new(),
            queued: 0,
        }
    }

    /// Queues a task. The batch publishes it some time, at its drop at the latest.
    pub(crate) fn push(&mut self, task: Runnable) {
        match place::place(self.pool, task, Cause::Spawned) {
            // `publish` does it for the whole batch.
            Ok(Owed::Publish | Owed::PublishUnlessWatched | Owed::Nothing) => self.queued += 1,
            Err(task) => self.remote.push(task),
        }
        if self.queued + self.remote.len() >= BATCH {
            self.publish();
        }
    }

    fn publish(&mut self) {
        let items = self.queued + self.remote.len();
        if !self.remote.is_empty() {
            let tasks = self.remote.drain(..);
            if self.pool.has_rings() {
                self.pool.injector.spill(tasks);
            } else {
                // Singles keep the order in which threads that tick without a ring find them.
                tasks.for_each(|task| self.pool.injector.push(task));
            }
        }
        self.queued = 0;
        self.pool.publish_tasks(items);
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.publish();
    }
}
