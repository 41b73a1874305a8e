//! A record of each task, for reports, for calls about long polls, and as a span of `tracing`. Without the feature `inspect` this module is
//! `inspect_off.rs`.
//!
//! | file       | has                                                     |
//! |------------|---------------------------------------------------------|
//! | `table`    | the records of a pool                                   |
//! | `record`   | the record of one task, and the waker that writes there |
//! | `recorded` | the futures and closures that have records              |
//! | `spans`    | the span of a task                                      |
//! | `threads`  | the names of threads, and since when they do something  |

mod record;
pub(crate) mod recorded;
mod spans;
mod table;
mod threads;

pub use recorded::{Recorded, call, child, task, waits};
pub use table::{Records, Table};
pub use threads::{Began, Since, name_of};

/// Whether each task has a record.
pub const ENABLED: bool = true;
