//! What Bevy 0.17 and 0.18 have, where `Task` is a type of bevy_tasks and features name what blocks.

use std::fmt::Debug;
use std::marker::PhantomPinned;

use bevy_tasks::{Task, TaskPool, block_on, cfg};
use terrace_testing::watchdog;

/// A trait that a program implements for all tasks.
trait Job: Send + Sync + Unpin + Debug {
    fn is_done(&self) -> bool;
}

impl<T: Send> Job for Task<T> {
    fn is_done(&self) -> bool {
        self.is_finished()
    }
}

#[test]
fn tasks() {
    let _watchdog = watchdog();
    let pool = TaskPool::new();
    let mut tasks: Vec<Task<u8>> = Vec::new();
    tasks.extend([1, 2].map(|number| pool.spawn(async move { number })));
    let mut results = tasks.drain(..).map(block_on);
    assert_eq!(results.next(), Some(1));
    drop(results);

    // Of any result, also of one that must not move.
    let pinned: Task<PhantomPinned> = pool.spawn(async { PhantomPinned });
    let job: &dyn Job = &pinned;
    assert!(!format!("{job:?}").is_empty());
    while !job.is_done() {
        std::thread::yield_now();
    }
    assert!(block_on(pinned.cancel()).is_some());

    let never: Task<u8> = pool.spawn(std::future::pending());
    assert!(!never.is_finished());
    assert_eq!(block_on(never.cancel()), None);
    pool.spawn(async {}).detach();
}

#[test]
fn conditions() {
    assert_eq!(cfg::async_io!(), cfg!(feature = "async-io"));
    let has = cfg::futures_lite! { if { true } else { false } };
    assert_eq!(has, cfg!(feature = "futures-lite"));
}
