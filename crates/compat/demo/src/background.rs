//! Background tasks: maps of where the particles are, computed over several frames.

use bevy_app::{App, Plugin, PostUpdate};
use bevy_ecs::prelude::*;
use bevy_tasks::futures::check_ready;
use bevy_tasks::futures_lite::future::yield_now;
use bevy_tasks::{AsyncComputeTaskPool, Task};

use crate::particles::{Position, SIZE};

/// A map is started every so many frames.
const EVERY: u32 = 20;
/// Cells along a side of a map.
const CELLS: usize = 64;
/// A task lets others run after so many particles.
const PART: usize = 4_096;

/// Spawns the tasks and collects what they compute.
pub(crate) struct BackgroundPlugin;

impl Plugin for BackgroundPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<Maps>()
            .add_systems(PostUpdate, (start_map, collect_maps).chain());
    }
}

/// Tasks under way, and the results of the finished ones.
#[derive(Resource, Default)]
struct Maps {
    under_way: Vec<(u32, Task<usize>)>,
    frame: u32,
    results: Results,
}

/// The work of background tasks.
#[derive(Clone, Copy, Default)]
pub(crate) struct Results {
    /// Tasks spawned.
    pub(crate) started: usize,
    /// Tasks finished.
    pub(crate) finished: usize,
    /// Frames that passed while the tasks ran, over all finished tasks.
    pub(crate) frames_waited: u32,
    /// Particles in the fullest cell of the last map.
    pub(crate) fullest_cell: usize,
}

fn start_map(mut maps: ResMut<Maps>, query: Query<&Position>) {
    maps.frame += 1;
    if !maps.frame.is_multiple_of(EVERY) {
        return;
    }
    let positions: Vec<_> = query.iter().copied().collect();
    let task = AsyncComputeTaskPool::get().spawn(fullest_cell(positions));
    let frame = maps.frame;
    maps.under_way.push((frame, task));
    maps.results.started += 1;
}

async fn fullest_cell(positions: Vec<Position>) -> usize {
    let mut cells = vec![0; CELLS * CELLS];
    for part in positions.chunks(PART) {
        for Position([x, y]) in part {
            let cell = |at: f32| ((at / SIZE * CELLS as f32) as usize).min(CELLS - 1);
            cells[cell(*y) * CELLS + cell(*x)] += 1;
        }
        yield_now().await;
    }
    cells.into_iter().max().unwrap_or_default()
}

/// Looks, without waiting, for finished tasks.
fn collect_maps(mut maps: ResMut<Maps>) {
    let Maps {
        under_way,
        frame,
        results,
    } = &mut *maps;
    under_way.retain_mut(|(started, task)| {
        let Some(fullest_cell) = check_ready(task) else {
            return true;
        };
        results.finished += 1;
        results.frames_waited += *frame - *started;
        results.fullest_cell = fullest_cell;
        false
    });
}

/// The work of the tasks so far.
pub(crate) fn results(app: &App) -> Results {
    app.world().resource::<Maps>().results
}
