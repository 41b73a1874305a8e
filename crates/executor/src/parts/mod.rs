//! The parts of a pool. No part knows the pool: the caller of a part passes what that part needs of another one.

pub(crate) mod awake;
pub(crate) mod beat;
pub(crate) mod config;
pub(crate) mod cores;
pub(crate) mod current;
pub(crate) mod eager;
pub(crate) mod event;
pub(crate) mod external_waiters;
pub(crate) mod fairness;
pub(crate) mod injector;
pub(crate) mod lanes;
pub(crate) mod pacing;
pub(crate) mod quiet_waiters;
pub(crate) mod ref_cache;
pub(crate) mod scope_slot;
pub(crate) mod scopes;
pub(crate) mod seat;
pub(crate) mod seat_counts;
pub(crate) mod slot_table;
pub(crate) mod spin;
pub(crate) mod task_count;
pub(crate) mod threads;
pub(crate) mod trace_index;
pub(crate) mod watch;
