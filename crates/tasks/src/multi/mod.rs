//! Pools with threads.

mod builder;
mod kinds;
mod pool;
mod results;
mod scope;
mod share;
mod thread_executor;

pub use builder::TaskPoolBuilder;
pub use pool::TaskPool;
pub use scope::Scope;
pub use thread_executor::{ThreadExecutor, ThreadExecutorTicker};
