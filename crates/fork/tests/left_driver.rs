//! A `run` future that was notified is left unpolled: its thread runs something else on top of its wait. A task that was left to it is
//! taken all the same.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;

use terrace_executor::{Builder, Executor, block_on};
use terrace_fork::scope;
use terrace_testing::{signal, watchdog};

/// The only worker of a pool blocks its thread until a task of its pool has run. A `run` future of that pool sleeps, and its thread
/// waits in a scope for the same task, in the middle of a task of a pool without workers.
#[test]
fn the_watch_takes_a_task_that_a_left_driver_was_notified_of() {
    let _watchdog = watchdog();
    for batch in [false, true, false, true] {
        let pool = Arc::new(Builder::new().workers(1).build());
        let threadless: Arc<Executor<'static>> = Arc::new(Builder::new().workers(0).build());
        let (freed, free) = signal();
        let (ended, end) = signal();
        let driver = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || block_on(pool.run(ended)))
        };
        // The driver's thread is the only one that waits in `block_on`.
        let (opens, opened) = channel();
        let in_scope = Arc::clone(&pool);
        let waiter = threadless.spawn(async move {
            scope(&in_scope, |scope| {
                scope.spawn(freed);
                opens.send(()).unwrap();
            });
        });
        opened.recv().unwrap();
        let (blocks, blocked) = channel();
        let in_task = Arc::clone(&pool);
        let blocker = pool.spawn(async move {
            let (frees, receives) = channel();
            let task = async move {
                free.set();
                frees.send(()).unwrap();
            };
            let mut tasks = Vec::new();
            if batch {
                in_task.spawn_many([task], &mut tasks);
            } else {
                tasks.push(in_task.spawn(task));
            }
            receives.recv().unwrap();
            blocks.send(()).unwrap();
            for task in tasks {
                task.await;
            }
        });
        blocked.recv().unwrap();
        block_on(blocker);
        block_on(waiter);
        end.set();
        driver.join().unwrap();
    }
}
