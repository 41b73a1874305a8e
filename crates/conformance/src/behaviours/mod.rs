//! The behaviours: each a function of an executor and a count of living values.

pub(crate) mod basics;
pub(crate) mod batch;
pub(crate) mod cancel;
pub(crate) mod drivers;
pub(crate) mod eager;
pub(crate) mod ending;
pub(crate) mod group;
pub(crate) mod panics;
pub(crate) mod reentry;
pub(crate) mod shutdown;
pub(crate) mod task_set;
pub(crate) mod wakes;
