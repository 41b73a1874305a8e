//! The last events of each thread, with their times. The README has the protocol and the layout of a record.

#[cfg(not(any(terrace_loom, terrace_shuttle)))]
mod chrome;
#[cfg(not(any(terrace_loom, terrace_shuttle)))]
mod clock;
#[cfg(not(any(terrace_loom, terrace_shuttle)))]
mod picture;
#[cfg(not(any(terrace_loom, terrace_shuttle)))]
pub(crate) mod record;
#[doc(hidden)]
pub mod ring;
#[cfg(not(any(terrace_loom, terrace_shuttle)))]
pub(crate) mod sites;
#[cfg(not(any(terrace_loom, terrace_shuttle)))]
mod spans;
#[cfg(not(any(terrace_loom, terrace_shuttle)))]
mod taken;
#[cfg(not(any(terrace_loom, terrace_shuttle)))]
pub(crate) mod threads;
#[cfg(not(any(terrace_loom, terrace_shuttle)))]
mod when;
#[cfg(not(any(terrace_loom, terrace_shuttle)))]
mod write;

#[cfg(not(any(terrace_loom, terrace_shuttle)))]
pub use self::{
    spans::spawned_type,
    taken::{Timeline, snapshot},
    threads::{ThreadTimeline, set_records_per_thread},
    when::write_on_panic,
};

#[cfg(all(unix, feature = "signal", not(any(terrace_loom, terrace_shuttle))))]
pub use self::when::write_on_signal;
