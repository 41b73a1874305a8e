//! What a thread that takes part in a pool calls there, beside `join`: spawns, broadcasts, waits.

pub(crate) mod broadcast;
pub(crate) mod raw;
pub(crate) mod spawn;
pub(crate) mod spawnable;
