//! The documented panics say what to do.

use bevy_tasks::{
    AsyncComputeTaskPool, ComputeTaskPool, IoTaskPool, TaskPool, TaskPoolBuilder,
    tick_global_task_pools_on_main_thread,
};

use crate::scenario::{Scenario, common, ours};
use crate::support::panic_message;

/// The scenarios of this module.
pub(crate) const SCENARIOS: &[Scenario] = &[
    common(
        "get_before_init",
        "asking for a pool nobody made names the pool and the call that is missing",
        || get_before_init(&[]),
    ),
    ours(
        "get_before_init_in_an_app",
        "and the plugin that is missing if it is an app",
        || get_before_init(&["TaskPoolPlugin"]),
    ),
    ours(
        "tick_before_init",
        "ticking the global pools before all of them are made names the one that is missing",
        tick_before_init,
    ),
    ours(
        "thread_cannot_be_spawned",
        "a pool whose threads cannot be started says which, why, and what to change",
        thread_cannot_be_spawned,
    ),
];

fn assert_says(message: &str, wanted: &[&str]) {
    for text in wanted {
        assert!(
            message.contains(text),
            "the message does not say {text}: {message}"
        );
    }
}

fn get_before_init(also: &[&str]) {
    let messages = [
        ("ComputeTaskPool", panic_message(ComputeTaskPool::get)),
        (
            "AsyncComputeTaskPool",
            panic_message(AsyncComputeTaskPool::get),
        ),
        ("IoTaskPool", panic_message(IoTaskPool::get)),
    ];
    for (pool, message) in messages {
        assert_says(&message, &[pool, &format!("{pool}::get_or_init")]);
        assert_says(&message, also);
    }
}

fn tick_before_init() {
    let tick = || panic_message(tick_global_task_pools_on_main_thread);
    let call = "tick_global_task_pools_on_main_thread";
    assert_says(
        &tick(),
        &[call, "ComputeTaskPool", "get_or_init", "TaskPoolPlugin"],
    );
    ComputeTaskPool::get_or_init(TaskPool::new);
    assert_says(&tick(), &[call, "AsyncComputeTaskPool", "get_or_init"]);
    AsyncComputeTaskPool::get_or_init(TaskPool::new);
    assert_says(&tick(), &[call, "IoTaskPool", "get_or_init"]);
    IoTaskPool::get_or_init(TaskPool::new);
    tick_global_task_pools_on_main_thread();
}

fn thread_cannot_be_spawned() {
    let message = panic_message(|| {
        TaskPoolBuilder::new()
            .num_threads(2)
            .thread_name("Enormous".to_owned())
            .stack_size(1 << 46)
            .build()
    });
    assert_says(&message, &["Enormous", "stack_size", "num_threads"]);
}
