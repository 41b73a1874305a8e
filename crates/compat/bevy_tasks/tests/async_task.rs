//! What `Task` has since Bevy 0.19, where it is that of the crate async-task.

use bevy_tasks::{Task, TaskPool, block_on};
use terrace_testing::watchdog;

fn generic<T, M>(task: &Task<T, M>) -> &M {
    task.metadata()
}

#[test]
fn metadata() {
    let _watchdog = watchdog();
    let pool = TaskPool::new();
    let task: Task<u8, ()> = pool.spawn(async { 1 });
    let (): &() = generic(&task);
    assert_eq!(block_on(task), 1);
    let (): () = *pool.spawn(async {}).metadata();
}

#[test]
fn fallible() {
    let _watchdog = watchdog();
    let pool = TaskPool::new();
    assert_eq!(block_on(pool.spawn(async { 5 }).fallible()), Some(5));
}
