//! Ours, `async-executor`'s and tokio's.

use futures_lite::future::block_on;
use tokio::runtime::{self, Runtime};
use tokio::task::LocalSet;

use super::Ticked;
use crate::spawn::{Contender, Spawner};
use crate::{Joined, Owned};

/// A reference that tasks of one thread carry.
///
/// The workloads are shared with executors of many threads and ask for `Send`; a local executor's tasks never leave
/// their thread, and neither does this.
pub struct Here<T: 'static>(&'static T);

impl<T> Clone for Here<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Here<T> {}

// SAFETY: made and used on one thread only: a contender hands it to futures that it runs on its own thread.
unsafe impl<T> Send for Here<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Here<T> {}

/// A [`Contender`] of one thread from the methods that all but tokio's share.
macro_rules! local {
    ($(#[$doc:meta])* $Name:ident, $name:literal, $Executor:ty, $Task:ident, $new:expr, $get:expr, {$($batch:tt)*}) => {
        $(#[$doc])*
        pub struct $Name(Owned<$Executor>);

        impl Contender for $Name {
            const NAME: &'static str = $name;
            type Spawner = Here<$Executor>;

            fn new(_: usize) -> Self {
                Self($new)
            }

            fn spawner(&self) -> Self::Spawner {
                Here($get(&self.0))
            }

            fn run<T>(&self, future: impl Future<Output = T>) -> T {
                block_on(self.spawner().0.run(future))
            }
        }

        impl Ticked for $Name {
            fn try_tick(&self) -> bool {
                self.spawner().0.try_tick()
            }
        }

        impl Spawner for Here<$Executor> {
            type Task<T: Send + 'static> = $Task<T>;

            fn spawn<T: Send + 'static>(
                self,
                future: impl Future<Output = T> + Send + 'static,
            ) -> Self::Task<T> {
                self.0.spawn(future)
            }

            fn detach<T: Send + 'static>(task: Self::Task<T>) {
                task.detach();
            }

            $($batch)*
        }
    };
}

use async_executor::Task as PeerTask;
use terrace_local::Task as OwnTask;

local!(
    /// Ours, dropped with its tasks.
    Local, "local", terrace_local::LocalExecutor<'static>, OwnTask,
    Owned::row(terrace_local::LocalExecutor::new()), Owned::get, {}
);
local!(
    /// Ours, for ever.
    StaticLocal, "static_local", terrace_local::StaticLocalExecutor, OwnTask,
    Owned::Ever(Box::leak(Box::new(terrace_local::StaticLocalExecutor::new()))), Owned::get, {}
);
local!(
    /// `async_executor::LocalExecutor`.
    AsyncExecutor, "async_executor", async_executor::LocalExecutor<'static>, PeerTask,
    Owned::row(async_executor::LocalExecutor::new()), Owned::get, {
        fn spawn_many<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
            self,
            futures: impl Iterator<Item = F>,
            tasks: &mut Vec<Self::Task<T>>,
        ) {
            self.0.spawn_many(futures, tasks);
        }
    }
);
local!(
    /// `async_executor::StaticLocalExecutor`.
    AsyncExecutorStatic, "static_async_executor", async_executor::StaticLocalExecutor, PeerTask,
    Owned::Ever(async_executor::LocalExecutor::new().leak()), Owned::get, {}
);

/// tokio's current-thread runtime with a `LocalSet`.
pub struct TokioLocal {
    set: LocalSet,
    runtime: Runtime,
}

/// Spawns onto the `LocalSet` that runs.
#[derive(Clone, Copy)]
pub struct TokioSpawner;

impl Contender for TokioLocal {
    const NAME: &'static str = "tokio";
    type Spawner = TokioSpawner;

    fn new(_: usize) -> Self {
        Self {
            set: LocalSet::new(),
            runtime: runtime::Builder::new_current_thread()
                .build()
                .expect("a runtime without drivers"),
        }
    }

    fn spawner(&self) -> TokioSpawner {
        TokioSpawner
    }

    fn run<T>(&self, future: impl Future<Output = T>) -> T {
        self.set.block_on(&self.runtime, future)
    }
}

impl Spawner for TokioSpawner {
    type Task<T: Send + 'static> = Joined<T>;

    fn spawn<T: Send + 'static>(
        self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Joined<T> {
        Joined(tokio::task::spawn_local(future))
    }

    fn detach<T: Send + 'static>(task: Joined<T>) {
        drop(task);
    }
}
