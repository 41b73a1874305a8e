//! [`TaskGroup`]: children that end before the work that has spawned them goes on.

pub mod block;
#[cfg(not(terrace_loom))]
mod task_group;
#[cfg(not(terrace_loom))]
mod task_set;
#[cfg(not(terrace_loom))]
mod tasks;

#[cfg(all(test, not(any(terrace_loom, terrace_shuttle))))]
mod tests;

#[cfg(not(terrace_loom))]
pub use self::{
    task_group::TaskGroup,
    task_set::{TaskError, TaskSet},
};
