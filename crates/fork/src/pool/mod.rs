//! A pool of threads for fork-join and futures: in a `static`, or owned.

mod broadcast;
mod membership;
mod resize;
mod spawn;
mod thread_pool;

pub use broadcast::Broadcast;
pub use membership::Membership;
pub use spawn::Spawn;
pub use thread_pool::ThreadPool;
