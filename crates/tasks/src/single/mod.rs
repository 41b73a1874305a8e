//! Pools without threads: everything runs on the thread that asks for it, and nothing has to be `Send`.

mod builder;
mod pool;
mod scope;
mod share;
mod thread_executor;

pub use builder::TaskPoolBuilder;
pub use pool::TaskPool;
pub use scope::Scope;
pub use thread_executor::ThreadExecutor;
