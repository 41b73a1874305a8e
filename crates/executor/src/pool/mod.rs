//! One pool: its state, the thread that polls its tasks, and where a runnable goes.

pub(crate) mod consider;
pub(crate) mod fork;
pub(crate) mod frames;
pub(crate) mod look;
pub(crate) mod runner;
pub(crate) mod schedule;
pub(crate) mod shared;
pub(crate) mod spawn;
