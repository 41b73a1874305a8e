//! [`TaskGroup`]: children that end before the work that has spawned them goes on.

pub mod block;
mod spawn;
mod task_group;
mod task_set;
mod tasks;

#[cfg(all(test, not(any(terrace_loom, terrace_shuttle))))]
mod tests;

pub use self::{
    spawn::Spawn,
    task_group::TaskGroup,
    task_set::{TaskError, TaskSet},
};
