//! Ours, with worker threads of its own.

use terrace_executor::Builder;

use crate::Lent;
use crate::eager::EagerSpawner;
use crate::spawn::Contender;

/// The droppable kind: its threads end with the row.
pub struct Executor(Lent<terrace_executor::Executor<'static>>);

impl Contender for Executor {
    const NAME: &'static str = "executor";
    type Spawner = &'static terrace_executor::Executor<'static>;

    fn new(workers: usize) -> Self {
        Self(Lent::new(Builder::new().workers(workers).build()))
    }

    fn spawner(&self) -> Self::Spawner {
        // SAFETY: the workloads end their tasks before the contender is dropped.
        unsafe { self.0.get() }
    }

    fn run<T>(&self, future: impl Future<Output = T>) -> T {
        terrace_executor::block_on(future)
    }
}

/// The droppable kind, whose workers wait for sockets in async-io.
pub struct ExecutorMain(Executor);

impl Contender for ExecutorMain {
    const NAME: &'static str = "executor_main";
    type Spawner = &'static terrace_executor::Executor<'static>;

    fn new(workers: usize) -> Self {
        let builder = Builder::new()
            .workers(workers)
            .worker_main(|worker| async_io::block_on(worker));
        Self(Executor(Lent::new(builder.build())))
    }

    fn spawner(&self) -> Self::Spawner {
        self.0.spawner()
    }

    fn run<T>(&self, future: impl Future<Output = T>) -> T {
        self.0.run(future)
    }
}

/// The same, whose workers each wait in a runtime of tokio of their own.
pub struct ExecutorMainTokio(Executor);

impl Contender for ExecutorMainTokio {
    const NAME: &'static str = "executor_main_tokio";
    type Spawner = &'static terrace_executor::Executor<'static>;

    fn new(workers: usize) -> Self {
        let builder = Builder::new().workers(workers).worker_main(|worker| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_io()
                .build();
            runtime.expect("the reactor starts").block_on(worker);
        });
        Self(Executor(Lent::new(builder.build())))
    }

    fn spawner(&self) -> Self::Spawner {
        self.0.spawner()
    }

    fn run<T>(&self, future: impl Future<Output = T>) -> T {
        self.0.run(future)
    }
}

/// The static kind. Its threads end with the row; a few words of it are left.
pub struct StaticExecutor(&'static terrace_executor::StaticExecutor);

impl Contender for StaticExecutor {
    const NAME: &'static str = "static_executor";
    type Spawner = &'static terrace_executor::StaticExecutor;

    fn new(workers: usize) -> Self {
        let executor = Builder::new().workers(workers).try_build_static();
        Self(executor.expect("the threads start"))
    }

    fn spawner(&self) -> Self::Spawner {
        self.0
    }

    fn run<T>(&self, future: impl Future<Output = T>) -> T {
        terrace_executor::block_on(future)
    }
}

impl Drop for StaticExecutor {
    fn drop(&mut self) {
        self.0.set_workers(0).expect("no thread is started");
    }
}

/// The static kind without workers: the calling thread alone polls the tasks, in a `run`. A few words of it are left.
pub struct StaticExecutorAlone(&'static terrace_executor::StaticExecutor);

impl Contender for StaticExecutorAlone {
    const NAME: &'static str = "static_executor_alone";
    type Spawner = &'static terrace_executor::StaticExecutor;

    fn new(_: usize) -> Self {
        Self(Box::leak(Box::default()))
    }

    fn spawner(&self) -> Self::Spawner {
        self.0
    }

    fn run<T>(&self, future: impl Future<Output = T>) -> T {
        futures_lite::future::block_on(self.0.run(future))
    }
}

impl EagerSpawner for &'static terrace_executor::StaticExecutor {
    #[inline(always)]
    fn spawn_eager<T: Send + 'static>(
        self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Self::Task<T> {
        terrace_executor::StaticExecutor::spawn_eager(self, future)
    }
}
