//! The interface of `async-executor` 1.14.1, on [`terrace_executor`].
#![doc = include_str!("../README.md")]
#![warn(missing_docs, missing_debug_implementations)]

/// The traits that each of the executors has in the original.
macro_rules! is_an_executor {
    ($type:ty) => {
        impl UnwindSafe for $type {}
        impl RefUnwindSafe for $type {}

        impl Default for $type {
            fn default() -> Self {
                Self::new()
            }
        }
    };
}

/// The methods by which a thread runs tasks, which each of the executors passes on to its pool.
macro_rules! drives {
    ($($field:ident).+) => {
        /// Polls one queued task; false if none is queued.
        pub fn try_tick(&self) -> bool {
            self.$($field).+.try_tick()
        }

        /// Waits until a task is queued, and polls it once.
        pub async fn tick(&self) {
            self.$($field).+.tick().await;
        }

        /// Runs tasks until `future` is done.
        pub async fn run<T>(&self, future: impl Future<Output = T>) -> T {
            self.$($field).+.run(future).await
        }
    };
}

mod executors;
#[cfg(feature = "static")]
mod static_executors;

#[doc(no_inline)]
pub use async_task::{FallibleTask, Task};
pub use executors::{Executor, LocalExecutor};
#[cfg(feature = "static")]
pub use static_executors::{StaticExecutor, StaticLocalExecutor};
