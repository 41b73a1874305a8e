//! A real app whose plugin is ready only when a task of the IO pool is done.

use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use bevy_app::{App, AppExit, Plugin, ScheduleRunnerPlugin, Startup, TaskPoolPlugin, Update};
use bevy_ecs::prelude::*;
use bevy_ecs::system::NonSendMarker;
use bevy_tasks::{AsyncComputeTaskPool, ComputeTaskPool, IoTaskPool, Task, block_on};

#[cfg(feature = "multi_threaded")]
use crate::scenario::ours;
use crate::scenario::{Scenario, common};
use crate::support::{Event, Tally, options, yield_now};

/// The scenarios of this module.
pub(crate) const SCENARIOS: &[Scenario] = &[
    #[cfg(feature = "multi_threaded")]
    ours(
        "startup_0_threads",
        "an app that waits for an IO task starts and runs on pools without threads",
        || start_up(0),
    ),
    #[cfg(feature = "multi_threaded")]
    common(
        "startup_1_thread",
        "an app that waits for an IO task starts and runs on pools of one thread",
        || start_up(1),
    ),
    #[cfg(feature = "multi_threaded")]
    common(
        "startup_2_threads",
        "an app that waits for an IO task starts and runs on pools of two threads",
        || start_up(2),
    ),
    #[cfg(not(feature = "multi_threaded"))]
    common(
        "startup_single_threaded",
        "an app that waits for an IO task starts and runs without multi_threaded",
        || start_up(1),
    ),
];

const FRAMES: u32 = 20;
const ENTITIES: usize = 5_000;

/// Holds the app back until its task is done.
#[derive(Default)]
struct Loading(Mutex<Option<Task<u64>>>);

#[derive(Resource)]
struct Loaded(u64);

impl Plugin for Loading {
    fn build(&self, _: &mut App) {
        let task = IoTaskPool::get().spawn(load());
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
    }

    fn ready(&self, _: &App) -> bool {
        let task = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        task.as_ref().is_some_and(Task::is_finished)
    }

    fn finish(&self, app: &mut App) {
        let mut task = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let task = task
            .take()
            .expect("it was spawned when the plugin was built");
        app.insert_resource(Loaded(block_on(task)));
    }
}

/// Wakes itself, is woken by a thread outside the pools, and waits for tasks of the other pools.
async fn load() -> u64 {
    for _ in 0..3 {
        yield_now().await;
    }
    let arrived = Event::default();
    arrived.set_soon();
    arrived.wait().await;
    let parsed = AsyncComputeTaskPool::get().spawn(async {
        let summed = ComputeTaskPool::get().spawn(async { (1..=5).sum::<u64>() });
        summed.await + 6
    });
    parsed.await * 2
}

#[derive(Component)]
struct Position(f32);

#[derive(Component)]
struct Velocity(f32);

#[derive(Resource)]
struct MainThread(ThreadId);

#[derive(Resource, Clone, Default)]
struct Ran {
    moved: Tally,
    on_main: Tally,
    blocked: Tally,
}

fn spawn_entities(mut commands: Commands, loaded: Res<Loaded>) {
    assert_eq!(loaded.0, 42);
    commands.spawn_batch((0..ENTITIES).map(|_| (Position(0.0), Velocity(1.0))));
}

fn move_all(mut query: Query<(&mut Position, &Velocity)>, ran: Res<Ran>) {
    query.par_iter_mut().for_each(|(mut position, velocity)| {
        position.0 += velocity.0;
        ran.moved.add();
    });
}

fn on_the_main_thread(_: NonSendMarker, main: Res<MainThread>, ran: Res<Ran>) {
    assert_eq!(thread::current().id(), main.0);
    ran.on_main.add();
}

/// As `bevy_asset` users do: waits inside of a system for a task of another pool.
fn block_on_io(ran: Res<Ran>) {
    let seven = IoTaskPool::get().spawn(async {
        yield_now().await;
        7
    });
    assert_eq!(block_on(seven), 7);
    ran.blocked.add();
}

fn count_frames(mut frames: Local<u32>, mut exit: MessageWriter<AppExit>) {
    *frames += 1;
    if *frames == FRAMES {
        exit.write(AppExit::Success);
    }
}

fn start_up(threads: usize) {
    let ran = Ran::default();
    let mut app = App::new();
    app.add_plugins((
        TaskPoolPlugin {
            task_pool_options: options(threads),
        },
        ScheduleRunnerPlugin::run_loop(Duration::ZERO),
        Loading::default(),
    ))
    .insert_resource(MainThread(thread::current().id()))
    .insert_resource(ran.clone())
    .add_systems(Startup, spawn_entities)
    .add_systems(
        Update,
        (move_all, on_the_main_thread, block_on_io, count_frames),
    );
    assert!(app.run().is_success());
    let frames = FRAMES as usize;
    assert_eq!(ran.moved.get(), frames * ENTITIES);
    assert_eq!(ran.on_main.get(), frames);
    assert_eq!(ran.blocked.get(), frames);
}
