//! Tasks that wait for tasks of their own pool.

use std::sync::Arc;

use bevy_ecs::prelude::*;
use bevy_tasks::{ComputeTaskPool, TaskPool, block_on};

use crate::scenario::{Scenario, common, ours};
use crate::support::{Tally, options, pool, yield_now};

/// The scenarios of this module.
pub(crate) const SCENARIOS: &[Scenario] = &[
    common(
        "awaits_own_pool",
        "a child that awaits a task of its own pool of one thread gets it",
        awaits_own_pool,
    ),
    ours(
        "blocks_on_own_pool",
        "a task that blocks on a task of its own pool, and so on five deep, gets it",
        blocks_on_own_pool,
    ),
    ours(
        "many_block_on_own_pool",
        "as do many such tasks at once, more than the pool has threads",
        many_block_on_own_pool,
    ),
    ours(
        "systems_block_on_own_pool",
        "systems that block on compute tasks of a compute pool of one thread get them",
        systems_block_on_own_pool,
    ),
    common(
        "systems_open_scopes",
        "systems that open scopes on the compute pool of one thread they run on end",
        systems_open_scopes,
    ),
];

fn awaits_own_pool() {
    let pool = pool(1);
    for _ in 0..200 {
        let outputs = pool.scope(|scope| {
            for n in 0..4 {
                let pool = &pool;
                scope.spawn(async move {
                    let inner = pool.spawn(async move {
                        yield_now().await;
                        n
                    });
                    inner.await + 1
                });
            }
        });
        assert_eq!(outputs, [1, 2, 3, 4]);
    }
}

/// Blocks on a task that blocks on a task, and so on.
fn block_deep(pool: &Arc<TaskPool>, depth: u32) -> u32 {
    if depth == 0 {
        return 0;
    }
    let inner = Arc::clone(pool);
    let task = pool.spawn(async move {
        yield_now().await;
        block_deep(&inner, depth - 1)
    });
    block_on(task) + 1
}

fn blocks_on_own_pool() {
    for threads in [0, 1, 2] {
        let pool = Arc::new(pool(threads));
        for _ in 0..20 {
            assert_eq!(block_deep(&pool, 5), 5);
        }
    }
}

fn many_block_on_own_pool() {
    for threads in [0, 1, 2] {
        let pool = Arc::new(pool(threads));
        let tasks: Vec<_> = (0..8)
            .map(|_| {
                let inner = Arc::clone(&pool);
                pool.spawn(async move { block_deep(&inner, 3) })
            })
            .collect();
        for task in tasks {
            assert_eq!(block_on(task), 3);
        }
    }
}

fn run_systems(ran: &Tally, system: impl Fn() + Clone + Send + Sync + 'static) {
    let mut schedule = Schedule::default();
    for _ in 0..4 {
        let (ran, system) = (ran.clone(), system.clone());
        schedule.add_systems(move || {
            system();
            ran.add();
        });
    }
    let mut world = World::new();
    for _ in 0..50 {
        schedule.run(&mut world);
    }
    assert_eq!(ran.get(), 4 * 50);
}

fn systems_block_on_own_pool() {
    options(1).create_default_pools();
    run_systems(&Tally::default(), || {
        let task = ComputeTaskPool::get().spawn(async {
            yield_now().await;
            1
        });
        assert_eq!(block_on(task), 1);
    });
}

fn systems_open_scopes() {
    options(1).create_default_pools();
    run_systems(&Tally::default(), || {
        let outputs = ComputeTaskPool::get().scope(|scope| {
            for n in 0..8 {
                scope.spawn(async move {
                    yield_now().await;
                    n
                });
            }
        });
        assert_eq!(outputs, [0, 1, 2, 3, 4, 5, 6, 7]);
    });
}
