//! tokio's multi-thread runtime.

use tokio::runtime::{Builder, Runtime};

use crate::spawn::{Contender, Spawner};
use crate::{Joined, Lent};

/// tokio's multi-thread runtime, without its drivers of time and IO.
pub struct Tokio(Lent<Runtime>);

impl Contender for Tokio {
    const NAME: &'static str = "tokio";
    type Spawner = &'static Runtime;

    fn new(workers: usize) -> Self {
        let runtime = Builder::new_multi_thread()
            .worker_threads(workers)
            .build()
            .expect("the threads start");
        Self(Lent::new(runtime))
    }

    fn spawner(&self) -> Self::Spawner {
        // SAFETY: the workloads end their tasks before the contender is dropped.
        unsafe { self.0.get() }
    }

    fn run<T>(&self, future: impl Future<Output = T>) -> T {
        self.spawner().block_on(future)
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
