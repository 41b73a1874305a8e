//! Panics begin with the words of the published crate, which tests of programs expect.

use bevy_tasks::{AsyncComputeTaskPool, ComputeTaskPool, IoTaskPool, TaskPool, block_on};
use terrace_testing::{text_of, watchdog};

#[test]
#[should_panic(
    expected = "The ComputeTaskPool has not been initialized yet. Please call ComputeTaskPool::get_or_init beforehand."
)]
fn compute_pool_before_its_init() {
    let _watchdog = watchdog();
    ComputeTaskPool::get();
}

#[test]
#[should_panic(
    expected = "The AsyncComputeTaskPool has not been initialized yet. Please call AsyncComputeTaskPool::get_or_init beforehand."
)]
fn async_compute_pool_before_its_init() {
    let _watchdog = watchdog();
    AsyncComputeTaskPool::get();
}

#[test]
#[should_panic(
    expected = "The IoTaskPool has not been initialized yet. Please call IoTaskPool::get_or_init beforehand."
)]
fn io_pool_before_its_init() {
    let _watchdog = watchdog();
    IoTaskPool::get();
}

#[test]
fn task_after_its_end() {
    let _watchdog = watchdog();
    let pool = TaskPool::new();
    let mut task = pool.spawn(async { 1 });
    assert_eq!(block_on(&mut task), 1);
    let text = text_of(|| block_on(&mut task));
    assert!(text.starts_with("Task polled after completion"), "{text}");
}
