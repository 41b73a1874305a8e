//! Rows of systems that do nothing: empty schedules, empty systems, run conditions.

use std::hint::black_box;

use bevy_ecs::prelude::*;
use bevy_ecs::schedule::MultiThreadedExecutor;
use bevy_ecs::world::CommandQueue;

use crate::parallel::compute_pool;
use bench_main::Workload;

use crate::rows::THREADS;

#[derive(Component)]
struct Flag(bool);

#[derive(Resource)]
struct Switch(bool);

fn empty() {}

fn yes() -> bool {
    true
}

fn no() -> bool {
    false
}

fn yes_using_query(flag: Single<&Flag>) -> bool {
    flag.0
}

fn yes_using_resource(switch: Res<Switch>) -> bool {
    switch.0
}

/// A run condition, given to every one of the systems.
pub(crate) struct Condition {
    pub(crate) name: &'static str,
    /// Whether it says no, so that no system runs.
    pub(crate) skips: bool,
    add: fn(&mut Schedule),
}

/// The conditions of Bevy's bench.
pub(crate) static CONDITIONS: &[Condition] = &[
    Condition {
        name: "no",
        skips: true,
        add: |schedule| {
            schedule.add_systems((empty, empty, empty, empty, empty).distributive_run_if(no));
        },
    },
    Condition {
        name: "yes",
        skips: false,
        add: |schedule| {
            schedule.add_systems((empty, empty, empty, empty, empty).distributive_run_if(yes));
        },
    },
    Condition {
        name: "yes_using_query",
        skips: false,
        add: |schedule| {
            schedule.add_systems(
                (empty, empty, empty, empty, empty).distributive_run_if(yes_using_query),
            );
        },
    },
    Condition {
        name: "yes_using_resource",
        skips: false,
        add: |schedule| {
            schedule.add_systems(
                (empty, empty, empty, empty, empty).distributive_run_if(yes_using_resource),
            );
        },
    },
];

/// The schedule with a multi-threaded executor, run once on the pool of [`THREADS`] threads.
pub(crate) fn runner(schedule: Schedule, world: World) -> Workload {
    scheduled(THREADS, schedule, world)
}

/// As [`runner`], on a pool of so many threads.
pub(crate) fn scheduled(threads: usize, mut schedule: Schedule, mut world: World) -> Workload {
    compute_pool(threads);
    schedule.set_executor(MultiThreadedExecutor::new());
    schedule.run(&mut world);
    Box::new(move || schedule.run(&mut world))
}

/// A schedule without systems.
pub(crate) fn empty_schedule() -> Workload {
    runner(Schedule::default(), World::new())
}

/// `amount` systems without parameters.
pub(crate) fn empty_systems(amount: usize) -> Workload {
    runner(empty_systems_of(amount), World::new())
}

/// Their schedule.
pub(crate) fn empty_systems_of(amount: usize) -> Schedule {
    let mut schedule = Schedule::default();
    for _ in 0..amount {
        schedule.add_systems(empty);
    }
    schedule
}

/// One system that is made of eight.
pub(crate) fn combined_systems() -> Workload {
    let mut schedule = Schedule::default();
    let four = empty.pipe(empty).pipe(empty).pipe(empty);
    schedule.add_systems(four.pipe(empty).pipe(empty).pipe(empty).pipe(empty));
    runner(schedule, World::new())
}

/// Commands of which there are none are applied.
pub(crate) fn empty_commands() -> Workload {
    let (mut world, mut queue) = (World::new(), CommandQueue::default());
    Box::new(move || {
        black_box(Commands::new(&mut queue, &world));
        queue.apply(&mut world);
    })
}

/// `amount` systems (a multiple of five) without parameters, each with the condition.
pub(crate) fn conditional_systems(condition: &Condition, amount: usize) -> Workload {
    let mut world = World::new();
    world.spawn(Flag(true));
    world.insert_resource(Switch(true));
    let mut schedule = Schedule::default();
    for _ in 0..amount / 5 {
        (condition.add)(&mut schedule);
    }
    runner(schedule, world)
}
