//! Pools dropped while their tasks run, wait or have not begun.

use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use bevy_tasks::{TaskPool, block_on};

use crate::scenario::{Scenario, common, ours};
use crate::support::{Event, Tally, pool, until, yield_now};

/// The scenarios of this module.
pub(crate) const SCENARIOS: &[Scenario] = &[
    common(
        "pool_dropped_while_tasks_run",
        "a dropped pool ends its threads and drops every task, whatever state it is in",
        dropped_while_tasks_run,
    ),
    common(
        "handles_outlive_pool",
        "awaiting a task of a dropped pool ends: with its output, or with a panic",
        handles_outlive_pool,
    ),
    ours(
        "pool_dropped_by_its_task",
        "a pool whose last owner is one of its tasks ends",
        dropped_by_its_task,
    ),
    common(
        "thread_ends_with_local_tasks",
        "a thread that ends with local tasks left drops them; later wakes do no harm",
        thread_ends_with_local_tasks,
    ),
];

const ROUNDS: usize = 50;
const EACH: usize = 8;

/// Tasks that compute, that wake themselves without end, that wait without end, and that wait for an event.
fn spawn_all_kinds(pool: &TaskPool, event: &Event, dropped: &Tally) -> Vec<bevy_tasks::Task<()>> {
    let mut tasks = Vec::new();
    for n in 0..EACH {
        let guard = dropped.on_drop();
        tasks.push(pool.spawn(async move {
            let _guard = guard;
            thread::sleep(Duration::from_micros(100 * n as u64));
        }));
        let guard = dropped.on_drop();
        tasks.push(pool.spawn(async move {
            let _guard = guard;
            loop {
                yield_now().await;
            }
        }));
        let guard = dropped.on_drop();
        tasks.push(pool.spawn(async move {
            let _guard = guard;
            pending::<()>().await;
        }));
        let (guard, event) = (dropped.on_drop(), event.clone());
        tasks.push(pool.spawn(async move {
            let _guard = guard;
            event.wait().await;
        }));
    }
    tasks
}

/// Drops a pool whose tasks run, while another thread sets their event.
fn drop_in_the_middle(round: usize, dropped: &Tally) -> Vec<bevy_tasks::Task<()>> {
    let (pool, event) = (pool(2), Event::default());
    let tasks = spawn_all_kinds(&pool, &event, dropped);
    if round.is_multiple_of(2) {
        thread::sleep(Duration::from_micros(200));
    }
    thread::scope(|threads| {
        threads.spawn(|| event.set());
        drop(pool);
    });
    tasks
}

fn dropped_while_tasks_run() {
    for round in 0..ROUNDS {
        let dropped = Tally::default();
        for task in drop_in_the_middle(round, &dropped) {
            task.detach();
        }
        // A wake that was under way when the pool ended may drop its task a moment later.
        until(|| dropped.get() == 4 * EACH);
    }
}

fn handles_outlive_pool() {
    for round in 0..ROUNDS {
        for task in drop_in_the_middle(round, &Tally::default()) {
            // The task may have ended in time or not. It must not keep its waiter waiting without
            // end.
            drop(catch_unwind(AssertUnwindSafe(|| block_on(task))));
        }
    }
}

fn dropped_by_its_task() {
    for threads in [1, 2] {
        for _ in 0..ROUNDS {
            let (dropped, ended) = (Tally::default(), Event::default());
            let pool = Arc::new(pool(threads));
            let (last, signal, guard) = (Arc::clone(&pool), ended.clone(), dropped.on_drop());
            let handed_over = Event::default();
            let go = handed_over.clone();
            pool.spawn(async move {
                go.wait().await;
                drop(last);
                signal.set();
                drop(guard);
            })
            .detach();
            drop(pool);
            handed_over.set();
            block_on(ended.wait());
            until(|| dropped.get() == 1);
        }
    }
}

fn thread_ends_with_local_tasks() {
    let keep = Arc::new(Mutex::new(Vec::new()));
    for _ in 0..ROUNDS {
        let (event, dropped) = (Event::default(), Tally::default());
        let (inside, guard, kept) = (event.clone(), dropped.on_drop(), Arc::clone(&keep));
        thread::spawn(move || {
            let pool = Arc::new(pool(1));
            kept.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(Arc::clone(&pool));
            let waiting = pool.spawn_local(async move {
                let _guard = guard;
                inside.wait().await;
            });
            pool.with_local_executor(|local| while local.try_tick() {});
            waiting.detach();
        })
        .join()
        .expect("the thread ends without a panic");
        event.set();
        until(|| dropped.get() == 1);
    }
}
