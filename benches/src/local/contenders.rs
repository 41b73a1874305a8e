//! Ours, `async-executor`'s and tokio's.

use futures_lite::future::block_on;
use tokio::runtime::{self, Runtime};
use tokio::task::LocalSet;

use super::Ticked;
use crate::eager::EagerSpawner;
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
// SAFETY: it is used on one thread only, as for `Send`.
unsafe impl<T> Sync for Here<T> {}

/// A [`Contender`] of one thread from the methods that all but tokio's share, spawn_many where there is one.
macro_rules! local {
    ($($(#[$doc:meta])* $Name:ident, $name:literal, $Executor:ty, $task:ident, $new:expr $(, $spawn_many:ident)?;)+) => {$(
        $(#[$doc])*
        pub struct $Name(Owned<$Executor>);

        impl Contender for $Name {
            const NAME: &'static str = $name;
            type Spawner = Here<$Executor>;

            fn new(_: usize) -> Self {
                Self($new)
            }

            fn spawner(&self) -> Self::Spawner {
                Here(self.0.get())
            }

            fn run<T>(&self, future: impl Future<Output = T>) -> T {
                block_on(self.0.get().run(future))
            }
        }

        impl Ticked for $Name {
            fn try_tick(&self) -> bool {
                self.0.get().try_tick()
            }
        }

        impl Spawner for Here<$Executor> {
            type Task<T: Send + 'static> = $task::Task<T>;

            fn spawn<T: Send + 'static>(
                self,
                future: impl Future<Output = T> + Send + 'static,
            ) -> Self::Task<T> {
                self.0.spawn(future)
            }

            fn detach<T: Send + 'static>(task: Self::Task<T>) {
                task.detach();
            }

            $(fn spawn_many<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
                self,
                futures: impl Iterator<Item = F>,
                tasks: &mut Vec<Self::Task<T>>,
            ) {
                self.0.$spawn_many(futures, tasks);
            })?
        }
    )+};
}

local! {
    /// Ours, dropped with its tasks.
    Local, "local", terrace_local::LocalExecutor<'static>, terrace_local,
        Owned::row(terrace_local::LocalExecutor::new()), spawn_many;
    /// Ours, never dropped.
    StaticLocal, "static_local", terrace_local::StaticLocalExecutor, terrace_local,
        Owned::Ever(terrace_local::LocalExecutor::new().leak()), spawn_many;
    /// `async_executor::LocalExecutor`.
    AsyncExecutor, "async_executor", async_executor::LocalExecutor<'static>, async_executor,
        Owned::row(async_executor::LocalExecutor::new()), spawn_many;
    /// `async_executor::StaticLocalExecutor`.
    AsyncExecutorStatic, "static_async_executor", async_executor::StaticLocalExecutor, async_executor,
        Owned::Ever(async_executor::LocalExecutor::new().leak());
}

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

/// Ours spawn eagerly.
macro_rules! eager {
    ($($Executor:ty),+) => {$(
        impl EagerSpawner for Here<$Executor> {
            #[inline(always)]
            fn spawn_eager<T: Send + 'static>(
                self,
                future: impl Future<Output = T> + Send + 'static,
            ) -> Self::Task<T> {
                self.0.spawn_eager(future)
            }
        }

        impl<F: Future<Output: Send + 'static> + Send + 'static> terrace_local::Spawn<F>
            for Here<$Executor>
        {
            fn spawn_task(&self, future: F) -> terrace_local::Task<F::Output> {
                self.0.spawn(future)
            }

            fn spawn_task_eager(&self, future: F) -> terrace_local::Task<F::Output> {
                self.0.spawn_eager(future)
            }
        }
    )+};
}

eager!(
    terrace_local::LocalExecutor<'static>,
    terrace_local::StaticLocalExecutor
);
