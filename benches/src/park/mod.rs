//! Sleeping, waking, and announcing work.

mod contenders;
mod group;

pub use contenders::{Crossbeam, Listener, Park, Std, ping_pong, unpark_then_park};
pub use group::{Announce, StdGroup, publish_none_parked, publish_searching, wake_one};
