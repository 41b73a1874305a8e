//! Rows of many archetypes, of which hardly any has an entity.

use std::hint::black_box;

use bench_main::{Workload, untimed};
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::MultiThreadedExecutor;

use crate::conditions::{empty_systems_of, runner};
use crate::parallel::compute_pool;
use crate::rows::THREADS;

/// One bit of a number that tells archetypes apart.
#[derive(Component, Clone, Copy)]
struct Bit<const B: u16>(#[expect(dead_code, reason = "is not read")] f32);

type Insert = fn(&mut EntityWorldMut<'_>);

fn insert<const B: u16>(entity: &mut EntityWorldMut<'_>) {
    entity.insert(Bit::<B>(1.0));
}

const INSERT: [Insert; 14] = [
    insert::<0>,
    insert::<1>,
    insert::<2>,
    insert::<3>,
    insert::<4>,
    insert::<5>,
    insert::<6>,
    insert::<7>,
    insert::<8>,
    insert::<9>,
    insert::<10>,
    insert::<11>,
    insert::<12>,
    insert::<13>,
];

/// Moves an entity to the archetype with this number, of 16,384.
pub(crate) fn fragment(entity: &mut EntityWorldMut<'_>, number: usize) {
    for (bit, insert) in INSERT.iter().enumerate() {
        if number & (1 << bit) != 0 {
            insert(entity);
        }
    }
}

/// The first run of 100 empty systems after 1,000 archetypes have come. Bevy's executors and systems look at none of them any more; the
/// row stays, as it does among Bevy's benches.
pub(crate) fn added() -> Workload {
    compute_pool(THREADS);
    let mut last = None;
    Box::new(move || {
        let (schedule, world) = untimed(|| {
            let (mut schedule, mut world) = (empty_systems_of(100), World::new());
            schedule.set_executor(MultiThreadedExecutor::new());
            schedule
                .initialize(&mut world)
                .expect("systems without parameters");
            for number in 0..1_000 {
                fragment(&mut world.spawn_empty(), number);
            }
            // The one of the last iteration is dropped here.
            last.insert((schedule, world))
        });
        schedule.run(world);
    })
}

macro_rules! seen {
    ($($name:ident)*) => {
        $(#[derive(Component)] struct $name(#[expect(dead_code, reason = "is not read")] f32);)*

        /// What each entity has, beside the bits of its archetype.
        type Seen<'a> = ($(&'a $name,)*);

        fn all() -> impl Bundle {
            ($($name(1.0),)*)
        }
    };
}

seen!(C0 C1 C2 C3 C4 C5 C6 C7 C8 C9 C10 C11 C12);

fn iter(query: Query<Seen<'_>>) {
    for seen in &query {
        black_box(seen);
    }
}

fn for_each(query: Query<Seen<'_>>) {
    query.iter().for_each(|seen| {
        black_box(seen);
    });
}

fn par_for_each(query: Query<Seen<'_>>) {
    query.par_iter().for_each(|seen| {
        black_box(seen);
    });
}

/// A system that goes through all archetypes, and how it does.
pub(crate) struct Walk {
    pub(crate) name: &'static str,
    add: fn(&mut Schedule),
}

pub(crate) static WALKS: [Walk; 3] = [
    Walk {
        name: "iter",
        add: |schedule| {
            schedule.add_systems(iter);
        },
    },
    Walk {
        name: "for_each",
        add: |schedule| {
            schedule.add_systems(for_each);
        },
    },
    Walk {
        name: "par_for_each",
        add: |schedule| {
            schedule.add_systems(par_for_each);
        },
    },
];

/// One system with a query that so many archetypes match, of which one has an entity.
pub(crate) fn empty(walk: &Walk, archetypes: usize) -> Workload {
    let (mut schedule, mut world) = (Schedule::default(), World::new());
    (walk.add)(&mut schedule);
    for number in 0..archetypes {
        fragment(&mut world.spawn(all()), number);
    }
    world.clear_entities();
    world.spawn(all());
    runner(schedule, world)
}
