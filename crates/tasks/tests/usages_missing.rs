//! The panics of a process's pools before they exist. One test, as they cannot be taken away again.

use terrace_tasks::{
    AsyncComputeTaskPool, ComputeTaskPool, IoTaskPool, TaskPool,
    tick_global_task_pools_on_main_thread as tick,
};
use terrace_testing::text_of;

#[test]
fn missing_pools_are_named_with_what_to_do() {
    let panics = [
        ("ComputeTaskPool", text_of(|| _ = ComputeTaskPool::get())),
        (
            "AsyncComputeTaskPool",
            text_of(|| _ = AsyncComputeTaskPool::get()),
        ),
        ("IoTaskPool", text_of(|| _ = IoTaskPool::get())),
    ];
    for (pool, panic) in panics {
        // As in the published `bevy_tasks`.
        let published = format!(
            "The {pool} has not been initialized yet. Please call {pool}::get_or_init beforehand."
        );
        assert!(
            panic.starts_with(&published) && panic.contains("TaskPoolPlugin"),
            "{panic}"
        );
    }
    assert!(ComputeTaskPool::try_get().is_none());

    let tick_needs = |pool: &str| {
        let panic = text_of(tick);
        assert!(
            panic.contains("all three pools") && panic.contains(&format!("the {pool} has not")),
            "{panic}"
        );
    };
    tick_needs("ComputeTaskPool");
    ComputeTaskPool::get_or_init(TaskPool::new);
    tick_needs("AsyncComputeTaskPool");
    AsyncComputeTaskPool::get_or_init(TaskPool::new);
    tick_needs("IoTaskPool");
    IoTaskPool::get_or_init(TaskPool::new);
    tick();
}
