//! The last events of each thread, with their times. The README has the protocol and the layout of a record.

mod chrome;
mod clock;
mod picture;
pub(crate) mod record;
pub(crate) mod sites;
mod spans;
mod taken;
pub(crate) mod threads;
mod write;

pub use self::{
    spans::spawned_type,
    taken::{Timeline, snapshot},
    threads::{ThreadTimeline, set_records_per_thread},
    write::write_on_panic,
};

#[cfg(all(unix, feature = "signal"))]
pub use self::write::write_on_signal;
