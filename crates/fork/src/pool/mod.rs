//! A pool of threads for fork-join and futures: in a `static`, or owned.

mod members;
mod thread_pool;

pub use members::Membership;
pub use thread_pool::ThreadPool;
