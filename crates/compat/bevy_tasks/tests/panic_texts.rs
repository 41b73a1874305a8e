//! Panics begin with the words of the published crate, which tests of programs expect.

use bevy_tasks::{AsyncComputeTaskPool, ComputeTaskPool, IoTaskPool, TaskPool, block_on};
use terrace_testing::{text_of, watchdog};

#[test]
fn pools_before_their_init() {
    let _watchdog = watchdog();
    let texts = [
        ("ComputeTaskPool", text_of(|| _ = ComputeTaskPool::get())),
        (
            "AsyncComputeTaskPool",
            text_of(|| _ = AsyncComputeTaskPool::get()),
        ),
        ("IoTaskPool", text_of(|| _ = IoTaskPool::get())),
    ];
    for (pool, text) in texts {
        let published = format!(
            "The {pool} has not been initialized yet. Please call {pool}::get_or_init beforehand."
        );
        assert!(text.starts_with(&published), "{text}");
    }
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
