//! Long background tasks: each computes for milliseconds between two of its awaits, and the frame loop looks in each frame whether it is
//! done. Their work is the same in each run, so that CPU times can be compared.

use bevy::prelude::*;
use bevy::tasks::futures_lite::future::yield_now;
use bevy::tasks::{AsyncComputeTaskPool, Task, block_on, poll_once};

use crate::mix;

/// How many there are.
const TASKS: usize = 8;
/// A task computes this often in so many frames.
const FRAMES_PER_SLICE: usize = 2;
/// Steps of a computation without an await: a millisecond or two.
const STEPS: u64 = 1_000_000;

/// Looks after the tasks.
pub(crate) struct BackgroundPlugin;

impl Plugin for BackgroundPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<Tasks>().add_systems(Update, look);
    }
}

#[derive(Resource, Default)]
struct Tasks {
    under_way: Vec<(usize, Task<u64>)>,
    results: [u64; TASKS],
}

/// Spawns the tasks.
pub(crate) fn start(world: &mut World, frames: usize) {
    let pool = AsyncComputeTaskPool::get();
    let slices = frames.div_ceil(FRAMES_PER_SLICE);
    let spawned = (0..TASKS).map(|number| (number, pool.spawn(long(number as u64, slices))));
    world.resource_mut::<Tasks>().under_way = spawned.collect();
}

async fn long(seed: u64, slices: usize) -> u64 {
    let mut result = seed;
    for _ in 0..slices {
        result = (0..STEPS).fold(result, mix);
        yield_now().await;
    }
    result
}

/// Looks, without waiting, which are done.
fn look(mut tasks: ResMut<Tasks>) {
    let Tasks { under_way, results } = &mut *tasks;
    under_way.retain_mut(|(number, task)| match block_on(poll_once(task)) {
        Some(result) => {
            results[*number] = result;
            false
        }
        None => true,
    });
}

/// Waits for the others; what all have computed.
pub(crate) fn finish(world: &mut World) -> u64 {
    let mut tasks = world.resource_mut::<Tasks>();
    let Tasks { under_way, results } = &mut *tasks;
    for (number, task) in under_way.drain(..) {
        results[number] = block_on(task);
    }
    results.iter().copied().fold(0, mix)
}
