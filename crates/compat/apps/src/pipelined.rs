//! Bevy's pipelined rendering. A second thread runs schedules whose main-thread systems go to the main thread. That
//! thread runs its own schedule or waits in a scope.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::{self, ThreadId};

use bevy_ecs::prelude::*;
use bevy_ecs::schedule::MainThreadExecutor;
use bevy_ecs::system::NonSendMarker;
use bevy_tasks::ComputeTaskPool;

use crate::scenario::{Scenario, common, ours};
use crate::support::{Event, Tally, options};
use crate::two_scopes::{Seen, work};

/// The scenarios of this module.
pub(crate) const SCENARIOS: &[Scenario] = &[
    common(
        "pipelined_rendering",
        "main-thread systems of two threads' schedules all run on the main thread",
        || {
            pipelined(2);
        },
    ),
    common(
        "pipelined_rendering_1_thread",
        "the same on a pool of one thread",
        || {
            pipelined(1);
        },
    ),
    ours(
        "pipelined_rendering_apart",
        "of two threads' schedules neither thread runs the other's plain systems",
        apart,
    ),
    common(
        "pipelined_rendering_0_threads",
        "the same schedules run on a pool without threads",
        || {
            pipelined(0);
        },
    ),
];

const FRAMES: usize = 200;
const PLAIN: usize = 8;

/// Where each thread's plain systems ran, and the thread that is not the main one.
struct Outcome {
    mains: Arc<Seen>,
    renders: Arc<Seen>,
    render: ThreadId,
}

/// Plain systems, and one that must run on `main`.
fn schedule(seen: &Arc<Seen>, main: ThreadId, ran: &Tally) -> Schedule {
    let mut schedule = Schedule::default();
    for _ in 0..PLAIN {
        let (seen, ran) = (Arc::clone(seen), ran.clone());
        schedule.add_systems(move || {
            seen.note();
            work();
            ran.add();
        });
    }
    let ran = ran.clone();
    schedule.add_systems(move |_: NonSendMarker| {
        assert_eq!(thread::current().id(), main);
        ran.add();
    });
    schedule
}

fn world(executor: &MainThreadExecutor) -> World {
    let mut world = World::new();
    world.insert_resource(executor.clone());
    world
}

fn pipelined(threads: usize) -> Outcome {
    options(threads).create_default_pools();
    let main = thread::current().id();
    let executor = MainThreadExecutor::new();
    let (mains, renders) = (Arc::new(Seen::default()), Arc::new(Seen::default()));
    let (mains_ran, renders_ran) = (Tally::default(), Tally::default());

    let (start_frame, frames) = channel::<Event>();
    let render = {
        let mut schedule = schedule(&renders, main, &renders_ran);
        let mut world = world(&executor);
        thread::spawn(move || {
            for done in frames {
                schedule.run(&mut world);
                done.set();
            }
            thread::current().id()
        })
    };
    let mut main_schedule = schedule(&mains, main, &mains_ran);
    let mut main_world = world(&executor);
    for _ in 0..FRAMES {
        let rendered = Event::default();
        start_frame
            .send(rendered.clone())
            .expect("the render thread lives");
        main_schedule.run(&mut main_world);
        ComputeTaskPool::get().scope_with_executor(true, Some(&executor.0), |scope| {
            scope.spawn(rendered.wait());
        });
    }
    drop(start_frame);
    let render = render.join().expect("the render thread does not panic");
    assert_eq!(mains_ran.get(), FRAMES * (PLAIN + 1));
    assert_eq!(renders_ran.get(), FRAMES * (PLAIN + 1));
    Outcome {
        mains,
        renders,
        render,
    }
}

fn apart() {
    let outcome = pipelined(2);
    let main = thread::current().id();
    assert!(
        !outcome.mains.contains(outcome.render),
        "the render thread ran main's systems"
    );
    assert!(
        !outcome.renders.contains(main),
        "the main thread ran render's systems"
    );
}
