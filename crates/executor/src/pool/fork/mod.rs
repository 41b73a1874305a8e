//! Fork-join on the threads of a pool: the seat in which a thread forks, when it tells others of a job, and how a thief runs one.

pub(crate) mod consider;
pub(crate) mod worker;
