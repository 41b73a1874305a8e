//! Panics in systems, hooks and observers reach the caller of the schedule, and no other code.

use bevy_ecs::prelude::*;
use bevy_ecs::schedule::ScheduleLabel;
use bevy_ecs::system::NonSendMarker;

use crate::scenario::{Scenario, common};
use crate::support::{Tally, options, panic_message};

/// The scenarios of this module.
pub(crate) const SCENARIOS: &[Scenario] = &[
    common(
        "panicking_systems",
        "a system's panic reaches the schedule's caller; the next schedule runs",
        panicking_systems,
    ),
    common(
        "panicking_main_thread_systems",
        "so does the panic of a system that must run on the main thread",
        panicking_main_thread_systems,
    ),
    common(
        "panicking_hooks",
        "so do panics of component hooks and observers that a system's commands trigger",
        panicking_hooks,
    ),
];

const ROUNDS: usize = 50;

#[derive(ScheduleLabel, Clone, PartialEq, Eq, Hash, Debug)]
struct Once;

fn start_pools() {
    options(2).create_default_pools();
}

/// A schedule of systems that count, whole numbers of tens.
fn good_schedule(ran: &Tally) -> Schedule {
    let mut schedule = Schedule::new(Once);
    for _ in 0..10 {
        let ran = ran.clone();
        schedule.add_systems(move || ran.add());
    }
    schedule
}

/// Runs schedules that `spoil` makes panic with the message "round N", and a good one after each.
fn rounds(world: &mut World, spoil: impl Fn(&mut Schedule, usize)) {
    let mut after = 0;
    for round in 0..ROUNDS {
        let mut schedule = good_schedule(&Tally::default());
        spoil(&mut schedule, round);
        let message = panic_message(|| schedule.run(world));
        assert!(message.contains(&format!("round {round}")), "{message}");

        let ran = Tally::default();
        good_schedule(&ran).run(world);
        after += ran.get();
    }
    assert_eq!(after, 10 * ROUNDS);
}

fn panicking_systems() {
    start_pools();
    rounds(&mut World::new(), |schedule, round| {
        schedule.add_systems(move || {
            if round < ROUNDS {
                panic!("round {round}");
            }
        });
    });
}

fn panicking_main_thread_systems() {
    start_pools();
    rounds(&mut World::new(), |schedule, round| {
        schedule.add_systems(move |_: NonSendMarker| {
            if round < ROUNDS {
                panic!("round {round}");
            }
        });
    });
}

#[derive(Component)]
struct Hooked(usize);

#[derive(Component)]
struct Observed(usize);

fn panicking_hooks() {
    start_pools();
    let mut world = World::new();
    world
        .register_component_hooks::<Hooked>()
        .on_add(|world, context| {
            let round = world.get::<Hooked>(context.entity).map_or(0, |c| c.0);
            panic!("round {round}");
        });
    world.add_observer(|added: On<Add<Observed>>, query: Query<&Observed>| {
        let round = query.get(added.entity).map_or(0, |c| c.0);
        panic!("round {round}");
    });
    rounds(&mut world, |schedule, round| {
        schedule.add_systems(move |mut commands: Commands| {
            if round.is_multiple_of(2) {
                commands.spawn(Hooked(round));
            } else {
                commands.spawn(Observed(round));
            }
        });
    });
}
