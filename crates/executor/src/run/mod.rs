//! The threads and futures that run a pool's work, from their start to their end.

pub(crate) mod block_on;
pub(crate) mod driver;
pub(crate) mod fork;
pub(crate) mod life;
pub(crate) mod owner;
pub(crate) mod shutdown;
pub(crate) mod stand_in;
pub(crate) mod threadless;
pub(crate) mod wait;
mod watch;
mod worker;
