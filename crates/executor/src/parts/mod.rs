//! The parts of a pool. No part knows the pool: the caller of a part passes what that part needs of another one.

pub(crate) mod beat;
pub(crate) mod current;
pub(crate) mod eager;
pub(crate) mod fairness;
pub(crate) mod forks;
pub(crate) mod gather;
pub(crate) mod hint;
pub(crate) mod injector;
#[cfg(feature = "inspect")]
pub(crate) mod long_polls;
pub(crate) mod naps;
pub(crate) mod pacing;
pub(crate) mod ref_cache;
pub(crate) mod rotation;
pub(crate) mod scopes;
pub(crate) mod seat;
pub(crate) mod spin;
pub(crate) mod threads;
pub(crate) mod waiters;
