//! Tasks that last several frames of an app.

use std::rc::Rc;
use std::thread;

use bevy_app::{App, TaskPoolPlugin, Update};
use bevy_ecs::prelude::*;
use bevy_ecs::system::NonSendMarker;
use bevy_tasks::futures::check_ready;
use bevy_tasks::{AsyncComputeTaskPool, ComputeTaskPool, IoTaskPool, Task};

#[cfg(feature = "multi_threaded")]
use crate::scenario::ours;
use crate::scenario::{Scenario, common};
use crate::support::{Event, Tally, options, yield_now};

/// The scenarios of this module.
pub(crate) const SCENARIOS: &[Scenario] = &[
    #[cfg(feature = "multi_threaded")]
    ours(
        "background_0_threads",
        "background tasks polled once a frame end on pools without threads",
        || background_tasks(0),
    ),
    #[cfg(feature = "multi_threaded")]
    common(
        "background_1_thread",
        "background tasks polled once a frame end on pools of one thread",
        || background_tasks(1),
    ),
    #[cfg(feature = "multi_threaded")]
    common(
        "background_2_threads",
        "background tasks polled once a frame end on pools of two threads",
        || background_tasks(2),
    ),
    #[cfg(not(feature = "multi_threaded"))]
    common(
        "background_single_threaded",
        "background tasks polled once a frame end without multi_threaded",
        || background_tasks(1),
    ),
    common(
        "detached_local_tasks",
        "detached tasks of the main thread end, on the main thread, as frames pass",
        detached_local_tasks,
    ),
];

const TASKS: usize = 100;

#[derive(Component)]
struct Pending(Task<usize>, usize);

#[derive(Resource, Default)]
struct Results(Vec<usize>);

fn spawn_one(mut commands: Commands, mut spawned: Local<usize>) {
    if *spawned == TASKS {
        return;
    }
    let number = *spawned;
    *spawned += 1;
    let task = AsyncComputeTaskPool::get().spawn(async move {
        for _ in 0..number % 5 {
            yield_now().await;
        }
        if number.is_multiple_of(10) {
            let arrived = Event::default();
            arrived.set_soon();
            arrived.wait().await;
        }
        number * number
    });
    commands.spawn(Pending(task, number));
}

fn poll_all(
    mut commands: Commands,
    mut pending: Query<(Entity, &mut Pending)>,
    mut results: ResMut<Results>,
) {
    for (entity, mut pending) in &mut pending {
        if let Some(square) = check_ready(&mut pending.0) {
            assert_eq!(square, pending.1 * pending.1);
            results.0.push(square);
            commands.entity(entity).despawn();
        }
    }
}

fn app(threads: usize) -> App {
    let mut app = App::new();
    app.add_plugins(TaskPoolPlugin {
        task_pool_options: options(threads),
    });
    app
}

fn background_tasks(threads: usize) {
    let mut app = app(threads);
    app.init_resource::<Results>()
        .add_systems(Update, (spawn_one, poll_all).chain());
    app.finish();
    app.cleanup();
    while app.world().resource::<Results>().0.len() < TASKS {
        app.update();
    }
}

/// The content of a `!Send` future; counted when it ends.
fn local_task(done: &Tally) -> impl Future<Output = ()> + use<> {
    let (done, home) = (Rc::new(done.on_drop()), thread::current().id());
    let arrived = Event::default();
    arrived.set_soon();
    async move {
        assert_eq!(thread::current().id(), home);
        yield_now().await;
        arrived.wait().await;
        assert_eq!(thread::current().id(), home);
        drop(done);
    }
}

fn detached_local_tasks() {
    let mut app = app(1);
    let done = Tally::default();
    let counted = done.clone();
    app.add_systems(Update, move |_: NonSendMarker, mut spawned: Local<bool>| {
        if !std::mem::replace(&mut *spawned, true) {
            for _ in 0..10 {
                ComputeTaskPool::get()
                    .spawn_local(local_task(&counted))
                    .detach();
                AsyncComputeTaskPool::get()
                    .spawn_local(local_task(&counted))
                    .detach();
                IoTaskPool::get().spawn_local(local_task(&counted)).detach();
            }
        }
    });
    app.finish();
    app.cleanup();
    while done.get() < 30 {
        app.update();
    }
}
