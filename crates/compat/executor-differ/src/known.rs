//! Programs whose lines differ: `expected/executor-differ.txt` says of each why.

use std::cell::Cell;
use std::rc::Rc;
use std::task::Poll;

use async_executor::{Executor, LocalExecutor};
use differ_main::Program;
use futures_lite::future;

/// By name.
pub(crate) const PROGRAMS: &[(&str, Program)] = &[
    ("debug-fields", debug_fields),
    ("leak-polls-again", leak_polls_again),
    ("spawn-many-spawns", spawn_many_spawns),
];

fn debug_fields() {
    let executor = Executor::new();
    assert!(!executor.try_tick());
    println!("{executor:?}");
}

fn leak_polls_again() {
    let polls = Rc::new(Cell::new(0));
    let executor = LocalExecutor::new();
    let count = Rc::clone(&polls);
    let task = executor.spawn(future::poll_fn(move |_| {
        count.set(count.get() + 1);
        Poll::<()>::Pending
    }));
    while executor.try_tick() {}
    let executor = executor.leak();
    while executor.try_tick() {}
    println!("polls {}", polls.get());
    task.detach();
}

fn spawn_many_spawns() {
    let executor = Executor::new();
    let mut tasks = Vec::new();
    let futures = (0..3).map(|number| {
        executor.spawn(future::yield_now()).detach();
        future::ready(number)
    });
    executor.spawn_many(futures, &mut tasks);
    while executor.try_tick() {}
    println!(
        "{:?}",
        tasks.into_iter().map(future::block_on).collect::<Vec<_>>()
    );
}
