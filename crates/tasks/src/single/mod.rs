//! Pools without threads: everything runs on the thread that asks for it, and nothing has to be `Send`.

mod pool;
mod scope;
mod share;

pub use pool::{TaskPool, TaskPoolBuilder, ThreadExecutor};
pub use scope::Scope;
