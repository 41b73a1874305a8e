//! tokio's multi-thread runtime.

use tokio::runtime::{Builder, Runtime};

use crate::spawn::{Contender, Spawner};
use crate::{Joined, Lent};

/// tokio's multi-thread runtime, without its drivers of time and IO.
pub struct Tokio(Lent<Runtime>);

impl Tokio {
    fn build(builder: &mut Builder) -> Self {
        Self(Lent::new(builder.build().expect("the threads start")))
    }
}

impl Contender for Tokio {
    const NAME: &'static str = "tokio";
    type Spawner = &'static Runtime;

    fn new(workers: usize) -> Self {
        Self::build(Builder::new_multi_thread().worker_threads(workers))
    }

    fn spawner(&self) -> Self::Spawner {
        // SAFETY: the workloads end their tasks before the contender is dropped.
        unsafe { self.0.get() }
    }

    fn run<T>(&self, future: impl Future<Output = T>) -> T {
        self.spawner().block_on(future)
    }
}

/// tokio's multi-thread runtime, with its driver of IO.
pub struct TokioIo(Tokio);

impl Contender for TokioIo {
    const NAME: &'static str = Tokio::NAME;
    type Spawner = &'static Runtime;

    fn new(workers: usize) -> Self {
        let builder = &mut Builder::new_multi_thread();
        Self(Tokio::build(builder.worker_threads(workers).enable_io()))
    }

    fn spawner(&self) -> Self::Spawner {
        self.0.spawner()
    }

    fn run<T>(&self, future: impl Future<Output = T>) -> T {
        self.0.run(future)
    }
}

impl Spawner for &'static Runtime {
    type Task<T: Send + 'static> = Joined<T>;

    fn spawn<T: Send + 'static>(
        self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Joined<T> {
        Joined(Runtime::spawn(self, future))
    }

    fn detach<T: Send + 'static>(task: Joined<T>) {
        drop(task);
    }
}
