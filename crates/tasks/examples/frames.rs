//! A few frames of a game on Bevy's task pools: systems in a scope, a slice in chunks, and a task that outlasts a frame.
//!
//! ```sh
//! cargo run -p terrace-tasks --features multi_threaded --example frames
//! ```
//!
//! Without the feature everything runs on the calling thread, with the same results.

use terrace_tasks::prelude::*;
use terrace_tasks::{TaskPool, TaskPoolBuilder, block_on, tick_global_task_pools_on_main_thread};

/// Particles.
const PARTICLES: usize = 10_000;
/// Particles of one task.
const CHUNK: usize = 1_000;
/// Frames.
const FRAMES: usize = 3;

fn main() {
    let threads = |name: &str| {
        let builder = TaskPoolBuilder::new().num_threads(2);
        builder.thread_name(name.to_owned()).build()
    };
    let compute = ComputeTaskPool::get_or_init(|| threads("compute"));
    let background = AsyncComputeTaskPool::get_or_init(|| threads("background"));
    IoTaskPool::get_or_init(TaskPool::new);

    // Outlasts the frames.
    let level = background.spawn(async { (1..=1_000_u64).sum::<u64>() });

    let mut positions = vec![0.0_f32; PARTICLES];
    let velocities: Vec<f32> = (0..PARTICLES).map(|n| n as f32).collect();
    for frame in 1..=FRAMES {
        // Two systems at the same time. They borrow, and the results come in the order of the spawns.
        let sums = compute.scope(|scope| {
            for half in velocities.chunks(PARTICLES / 2) {
                scope.spawn(async move { half.iter().sum::<f32>() });
            }
        });
        assert_eq!(sums.len(), 2);

        // A system over a slice, in chunks.
        positions.par_chunk_map_mut(compute, CHUNK, |index, chunk| {
            for (position, velocity) in chunk.iter_mut().zip(&velocities[index * CHUNK..]) {
                *position += velocity;
            }
        });
        println!(
            "frame {frame}: the last particle is at {}",
            positions[PARTICLES - 1]
        );
        tick_global_task_pools_on_main_thread();
    }

    println!("the level: {}", block_on(level));
    assert_eq!(positions[PARTICLES - 1], (FRAMES * (PARTICLES - 1)) as f32);
}
