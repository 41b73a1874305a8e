//! Programs whose lines differ: `expected/differ.txt` says of each why.

use std::future::pending;

use bevy_tasks::{Scope, TaskPool, TaskPoolBuilder, block_on};
use differ_main::Program;

use crate::support::{Yields, outcome};

/// By name.
pub(crate) const PROGRAMS: &[(&str, Program)] = &[
    ("block-on-runs-local-tasks", block_on_runs_local_tasks),
    ("body-panics-beside-pinned", body_panics_beside_pinned),
    ("body-panics-without-threads", body_panics_without_threads),
    ("destructor-panics", destructor_panics),
    ("endless-before-a-panic", endless_before_a_panic),
    (
        "later-panic-of-an-earlier-task",
        later_panic_of_an_earlier_task,
    ),
    ("panic-without-threads", panic_without_threads),
    ("worker-blocks-on-its-pool", worker_blocks_on_its_pool),
];

fn pool(threads: usize) -> TaskPool {
    TaskPoolBuilder::new().num_threads(threads).build()
}

fn scope<'env>(threads: usize, f: impl for<'s> FnOnce(&'s Scope<'s, 'env, u64>)) {
    let pool = pool(threads);
    println!("{:?}", outcome(|| pool.scope(f)));
}

fn block_on_runs_local_tasks() {
    let task = pool(0).spawn_local(async { 1 });
    println!("{}", block_on(task));
}

fn body_panics_beside_pinned() {
    scope(1, |s| {
        s.spawn_on_scope(pending());
        panic!("the body");
    });
}

fn body_panics_without_threads() {
    scope(0, |s| {
        s.spawn(pending());
        panic!("the body");
    });
}

fn destructor_panics() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("a destructor");
        }
    }
    let bomb = Bomb;
    scope(1, |s| {
        s.spawn(std::future::poll_fn(move |_| {
            let _bomb = &bomb;
            std::task::Poll::Ready(1)
        }));
    });
}

fn endless_before_a_panic() {
    scope(1, |s| {
        s.spawn(pending());
        s.spawn(async { panic!("a task") });
    });
}

fn later_panic_of_an_earlier_task() {
    scope(0, |s| {
        s.spawn(async {
            Yields(100).await;
            panic!("the first in spawn order");
        });
        s.spawn(async { panic!("the first in time") });
    });
}

fn panic_without_threads() {
    scope(0, |s| {
        s.spawn(async { panic!("a task") });
        s.spawn(pending());
    });
}

fn worker_blocks_on_its_pool() {
    let pool = pool(1);
    let outer = pool.scope_with_executor(false, None, |s| {
        s.spawn(async { block_on(pool.spawn(async { 1 })) });
    });
    println!("{outer:?}");
}
