//! A pool of threads for fork-join and futures: in a `static`, or owned.

mod membership;
mod resize;
mod thread_pool;

pub use membership::Membership;
pub use thread_pool::ThreadPool;
