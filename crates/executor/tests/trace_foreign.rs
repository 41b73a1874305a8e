//! What `terrace-trace` counts of tasks in foreign cells. It counts for the whole process, so this program has one test.
#![cfg(feature = "trace")]

use async_task::{Runnable, ScheduleInfo, WithInfo};
use terrace_executor::{Builder, block_on};
use terrace_testing::{Yields, watchdog};
use terrace_trace::snapshot;

#[test]
fn starts_and_polls_are_counted() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(1).build();
    let before = snapshot();
    let scheduler = executor.scheduler();
    let schedule = {
        let scheduler = scheduler.clone();
        move |runnable: Runnable, info: ScheduleInfo| scheduler.schedule(runnable, info)
    };
    let (runnable, task) = async_task::spawn(Yields(2), WithInfo(schedule));
    scheduler.start(runnable);
    block_on(task);
    drop(executor);
    let since = snapshot().since(&before);
    assert_eq!(since.spawned_tasks_count, 1);
    assert_eq!(since.worker_poll_count, 3);
    assert_eq!(since.remote_schedule_count, 1);
    assert_eq!(since.worker_local_schedule_count, 2);
}
