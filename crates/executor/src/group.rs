//! Children of a [`TaskGroup`](terrace_local::TaskGroup) on a pool.

use std::future::Future;

use terrace_local::{Spawn, Task};

use crate::executor::Executor;
use crate::static_executor::StaticExecutor;

impl<'a, F: Future<Output: Send + 'a> + Send + 'a> Spawn<F> for &Executor<'a> {
    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn_task(&self, future: F) -> Task<F::Output> {
        self.spawn(future)
    }

    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn_task_eager(&self, future: F) -> Task<F::Output> {
        self.spawn_eager(future)
    }
}

impl<F: Future<Output: Send + 'static> + Send + 'static> Spawn<F> for &'static StaticExecutor {
    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn_task(&self, future: F) -> Task<F::Output> {
        StaticExecutor::spawn(self, future)
    }

    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn_task_eager(&self, future: F) -> Task<F::Output> {
        StaticExecutor::spawn_eager(self, future)
    }
}
