//! Panics in tasks, in scopes' children, in destructors and in the pool's own hooks.

use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::{Arc, Barrier};

use bevy_tasks::{TaskPool, TaskPoolBuilder, block_on};

use crate::scenario::{Scenario, common, ours};
use crate::support::{Event, Tally, panic_message, pool, until, yield_now};

/// The scenarios of this module.
pub(crate) const SCENARIOS: &[Scenario] = &[
    common(
        "panicking_tasks",
        "a task's panic reaches who awaits it; all threads live on",
        panicking_tasks,
    ),
    ours(
        "panicking_children",
        "a child's panic reaches the scope's caller after all its children have ended",
        panicking_children,
    ),
    ours(
        "panicking_scope_bodies",
        "so does the panic of a scope's own closure",
        panicking_scope_bodies,
    ),
    ours(
        "panicking_destructors",
        "panics of destructors of futures, outputs and payloads end no thread",
        panicking_destructors,
    ),
    ours(
        "panicking_start_hooks",
        "a pool whose start hooks panic still runs every task",
        panicking_start_hooks,
    ),
    common(
        "panicking_stop_hooks",
        "a pool whose stop hooks panic still ends",
        panicking_stop_hooks,
    ),
];

const THREADS: usize = 2;

/// All threads of the pool run tasks: as many tasks meet as there are threads.
fn assert_all_live(pool: &TaskPool) {
    let meeting = Arc::new(Barrier::new(THREADS));
    let tasks: Vec<_> = (0..THREADS)
        .map(|_| {
            let meeting = Arc::clone(&meeting);
            pool.spawn(async move {
                meeting.wait();
            })
        })
        .collect();
    tasks.into_iter().for_each(block_on);
}

fn panicking_tasks() {
    let pool = pool(THREADS);
    for round in 0..200 {
        let task = pool.spawn(async move {
            if round % 2 == 0 {
                yield_now().await;
            }
            if round < 200 {
                panic!("task {round}");
            }
        });
        assert_eq!(panic_message(|| block_on(task)), format!("task {round}"));
        pool.spawn(async { panic!("a detached task's panic") })
            .detach();
    }
    assert_all_live(&pool);
}

#[derive(Clone, Copy, Debug)]
enum Spawn {
    Pool,
    Scope,
    External,
}

fn panicking_children() {
    const CHILDREN: usize = 50;
    let pool = pool(THREADS);
    for how in [Spawn::Pool, Spawn::Scope, Spawn::External] {
        for _ in 0..20 {
            let ended = Tally::default();
            let borrowed = [1_u32; 16];
            let message = panic_message(|| {
                pool.scope(|scope| {
                    for n in 0..CHILDREN {
                        let (guard, borrowed) = (ended.on_drop(), &borrowed);
                        let child = async move {
                            for _ in 0..n % 4 {
                                yield_now().await;
                            }
                            assert!(n != CHILDREN / 2, "child {how:?}");
                            assert_eq!(borrowed.iter().sum::<u32>(), 16);
                            drop(guard);
                        };
                        match how {
                            Spawn::Pool => scope.spawn(child),
                            Spawn::Scope => scope.spawn_on_scope(child),
                            Spawn::External => scope.spawn_on_external(child),
                        }
                    }
                });
            });
            assert_eq!(ended.get(), CHILDREN, "a child outlived its scope");
            assert_eq!(message, format!("child {how:?}"));
        }
    }
    assert_all_live(&pool);
}

fn panicking_scope_bodies() {
    let pool = pool(THREADS);
    for _ in 0..20 {
        let ended = Tally::default();
        let message = panic_message(|| {
            pool.scope(|scope| {
                for n in 0..50 {
                    let guard = ended.on_drop();
                    scope.spawn(async move {
                        for _ in 0..n % 4 {
                            yield_now().await;
                        }
                        drop(guard);
                    });
                }
                assert!(ended.get() > 50, "the body");
            });
        });
        assert_eq!(ended.get(), 50, "a child outlived its scope");
        assert_eq!(message, "the body");
    }
    assert_all_live(&pool);
}

/// Panics when dropped.
struct Bomb(Tally);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.add();
        panic!("a destructor's panic");
    }
}

fn panicking_destructors() {
    let (pool, exploded) = (pool(THREADS), Tally::default());
    const ROUNDS: usize = 20;
    for _ in 0..ROUNDS {
        // A future dropped because it was cancelled.
        let (bomb, started) = (Bomb(exploded.clone()), Event::default());
        let started_inside = started.clone();
        let task = pool.spawn(async move {
            let _bomb = bomb;
            started_inside.set();
            pending::<()>().await;
        });
        block_on(started.wait());
        drop(task);
        // A future dropped because it panicked.
        let bomb = Bomb(exploded.clone());
        let task = pool.spawn(async move {
            let held = bomb;
            yield_now().await;
            drop(held);
        });
        assert_eq!(panic_message(|| block_on(task)), "a destructor's panic");
        // An output that no handle takes.
        let bomb = Bomb(exploded.clone());
        pool.spawn(async move { bomb }).detach();
        // A payload that no handle takes.
        let bomb = Bomb(exploded.clone());
        pool.spawn(async move { panic_any(bomb) }).detach();
    }
    until(|| exploded.get() == 4 * ROUNDS);
    assert_all_live(&pool);
}

fn panicking_start_hooks() {
    for (panics, shown) in [(1, "one thread"), (THREADS, "all threads")] {
        let started = Tally::default();
        let counted = started.clone();
        let pool = TaskPoolBuilder::new()
            .num_threads(THREADS)
            .on_thread_spawn(move || {
                counted.add();
                assert!(counted.get() > panics, "a start hook's panic");
            })
            .build();
        until(|| started.get() == THREADS);
        for _ in 0..20 {
            let outputs = pool.scope(|scope| {
                for n in 0..20 {
                    scope.spawn(async move {
                        yield_now().await;
                        n
                    });
                }
            });
            assert_eq!(outputs, (0..20).collect::<Vec<_>>(), "{shown}");
            assert_eq!(block_on(pool.spawn(async { 7 })), 7, "{shown}");
        }
        // Whether it says so with a panic is left open; it ends.
        drop(catch_unwind(AssertUnwindSafe(|| drop(pool))));
    }
}

fn panicking_stop_hooks() {
    let pool = TaskPoolBuilder::new()
        .num_threads(THREADS)
        .on_thread_destroy(|| panic!("a stop hook's panic"))
        .build();
    assert_eq!(block_on(pool.spawn(async { 7 })), 7);
    drop(catch_unwind(AssertUnwindSafe(|| drop(pool))));
}
