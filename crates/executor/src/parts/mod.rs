//! The parts of a pool. No part knows the pool: the caller of a part passes what that part needs of another one.

pub(crate) mod current;
pub(crate) mod forks;
pub(crate) mod hint;
pub(crate) mod injector;
#[cfg(feature = "inspect")]
pub(crate) mod long_polls;
pub(crate) mod pacing;
pub(crate) mod processor;
pub(crate) mod scopes;
pub(crate) mod seat;
pub(crate) mod threads;
pub(crate) mod turns;
pub(crate) mod waiters;
