//! Rows of data parallelism and of bare tasks.

use std::hint::black_box;

use bevy_ecs::prelude::*;
use bevy_tasks::{ComputeTaskPool, ParallelIterator, TaskPool, TaskPoolBuilder, block_on};

use bench_main::Workload;

use crate::archetypes::fragment;
use crate::rows::THREADS;

/// The global compute pool, which schedules and queries run on.
pub(crate) fn compute_pool(threads: usize) -> &'static ComputeTaskPool {
    ComputeTaskPool::get_or_init(|| pool(threads))
}

fn pool(threads: usize) -> TaskPool {
    TaskPoolBuilder::new().num_threads(threads).build()
}

#[derive(Component, Clone, Copy)]
struct Position([f32; 3]);
#[derive(Component, Clone, Copy)]
struct Velocity([f32; 3]);
/// Four-by-four matrix; only its size matters, as with the next two.
#[derive(Component, Clone, Copy)]
struct Transform(#[expect(dead_code, reason = "fills the table, is not read")] [f32; 16]);
#[derive(Component, Clone, Copy)]
struct Rotation(#[expect(dead_code, reason = "fills the table, is not read")] [f32; 3]);

/// 100,000 entities; a parallel query adds velocities to positions. The first `fragments` of the
/// entities are each in an archetype of their own.
pub(crate) fn par_iter_simple(fragments: usize) -> Workload {
    const X: [f32; 3] = [1.0, 0.0, 0.0];
    const IDENTITY: [f32; 16] = [
        1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0,
    ];
    compute_pool(THREADS);
    let mut world = World::new();
    let bundle = (Transform(IDENTITY), Position(X), Rotation(X), Velocity(X));
    let entities: Vec<Entity> = world
        .spawn_batch(std::iter::repeat_n(bundle, 100_000))
        .collect();
    for (number, &entity) in entities.iter().enumerate().take(fragments) {
        fragment(&mut world.entity_mut(entity), number);
    }
    let mut query = world.query::<(&Velocity, &mut Position)>();
    Box::new(move || {
        query.par_iter_mut(&mut world).for_each(|(v, mut p)| {
            for (p, v) in p.0.iter_mut().zip(v.0) {
                *p += v;
            }
        });
    })
}

#[derive(Component, Clone, Copy)]
struct InTable(f32);
#[derive(Component, Clone, Copy)]
#[component(storage = "SparseSet")]
struct Sparse(f32);

/// 100,000 entities with a component in a table and one in a sparse set, whose order is another one; a parallel query adds the second
/// to the first.
pub(crate) fn par_iter_hybrid() -> Workload {
    const ENTITIES: usize = 100_000;
    /// Has no divisor in common with their number.
    const STEP: usize = 39_119;
    compute_pool(THREADS);
    let mut world = World::new();
    let bundles = std::iter::repeat_n(InTable(0.0), ENTITIES);
    let entities: Vec<Entity> = world.spawn_batch(bundles).collect();
    for number in 0..ENTITIES {
        let entity = entities[number * STEP % ENTITIES];
        world.entity_mut(entity).insert(Sparse(1.0));
    }
    let mut query = world.query::<(&mut InTable, &Sparse)>();
    Box::new(move || {
        let query = query.par_iter_mut(&mut world);
        query.for_each(|(mut sum, sparse)| sum.0 += sparse.0);
    })
}

/// Batches of a slice, for a parallel iterator.
struct Batches<'a, T>(std::slice::ChunksMut<'a, T>);

impl<'a, T: Send> ParallelIterator<std::slice::IterMut<'a, T>> for Batches<'a, T> {
    fn next_batch(&mut self) -> Option<std::slice::IterMut<'a, T>> {
        self.0.next().map(|batch| batch.iter_mut())
    }
}

const ITEMS: usize = 10_000;
const BATCH: usize = 100;

fn par_iter(threads: usize, body: impl Fn(&mut usize) + Clone + Send + Sync + 'static) -> Workload {
    let pool = pool(threads);
    let mut items: Vec<usize> = (0..ITEMS).collect();
    Box::new(move || Batches(items.chunks_mut(BATCH)).for_each(&pool, body.clone()))
}

/// 100 batches of 100 items, nothing done to them.
pub(crate) fn overhead_par_iter(threads: usize) -> Workload {
    par_iter(threads, |item| {
        black_box(item);
    })
}

/// 100 batches of 100 items, a loop of 10,000 steps for each.
pub(crate) fn for_each_par_iter(threads: usize) -> Workload {
    par_iter(threads, |item| {
        loop_of(10_000);
        *item = item.wrapping_mul(*item);
    })
}

fn loop_of(mut left: usize) {
    while left > 0 {
        left = black_box(left - 1);
    }
}

/// A map of an item that takes a loop of 1,000 steps.
fn step(item: usize) -> usize {
    loop_of(1_000);
    item
}

/// 10,000 items, each through ten maps, on this thread.
pub(crate) fn many_maps_iter() -> Workload {
    let items: Vec<usize> = (0..ITEMS).collect();
    Box::new(move || {
        let items = items.iter().copied().map(step).map(step).map(step);
        let items = items.map(step).map(step).map(step).map(step);
        items.map(step).map(step).map(step).for_each(|item| {
            black_box(item);
        });
    })
}

/// The same in 100 batches.
pub(crate) fn many_maps_par_iter(threads: usize) -> Workload {
    let pool = pool(threads);
    let mut items: Vec<usize> = (0..ITEMS).collect();
    Box::new(move || {
        let items = Batches(items.chunks_mut(BATCH)).map(|item: &mut usize| step(*item));
        let items = items.map(step).map(step).map(step).map(step).map(step);
        let items = items.map(step).map(step).map(step).map(step);
        items.for_each(&pool, |item| {
            black_box(item);
        });
    })
}

/// A scope with 100 tasks that do nothing.
pub(crate) fn scope_of_tasks() -> Workload {
    let pool = pool(THREADS);
    Box::new(move || {
        pool.scope(|scope| {
            for _ in 0..100 {
                scope.spawn(async {});
            }
        });
    })
}

/// One task, which an external thread spawns and waits for.
pub(crate) fn spawn_await() -> Workload {
    let pool = pool(THREADS);
    Box::new(move || {
        black_box(block_on(pool.spawn(async { black_box(1_u32) })));
    })
}
