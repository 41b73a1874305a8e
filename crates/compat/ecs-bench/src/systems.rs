//! Rows of systems that swap components of many entities.

use bevy_ecs::bundle::NoBundleEffect;
use bevy_ecs::prelude::*;

use crate::conditions::runner;
use bench_main::Workload;

#[derive(Component)]
struct A(f32);
#[derive(Component)]
struct B(f32);
#[derive(Component)]
struct C(f32);
#[derive(Component)]
struct D(f32);
#[derive(Component)]
struct E(f32);

/// Entities of the smallest group.
const BUNCH: usize = 5_000;

fn swap_ab(mut query: Query<(&mut A, &mut B)>) {
    for (mut a, mut b) in &mut query {
        std::mem::swap(&mut a.0, &mut b.0);
    }
}

fn swap_cd(mut query: Query<(&mut C, &mut D)>) {
    for (mut c, mut d) in &mut query {
        std::mem::swap(&mut c.0, &mut d.0);
    }
}

fn swap_ce(mut query: Query<(&mut C, &mut E)>) {
    for (mut c, mut e) in &mut query {
        std::mem::swap(&mut c.0, &mut e.0);
    }
}

fn swap_ac_then_bd(mut ac: Query<(&mut A, &mut C)>, mut bd: Query<(&mut B, &mut D)>) {
    for (mut a, mut c) in &mut ac {
        std::mem::swap(&mut a.0, &mut c.0);
    }
    for (mut b, mut d) in &mut bd {
        std::mem::swap(&mut b.0, &mut d.0);
    }
}

fn spawn<T: Bundle<Effect: NoBundleEffect>>(
    world: &mut World,
    amount: usize,
    bundle: impl Fn() -> T,
) {
    // `spawn_batch` spawns as its iterator is dropped.
    drop(world.spawn_batch((0..amount).map(|_| bundle())));
}

fn ab() -> (A, B) {
    (A(0.0), B(0.0))
}

fn abc() -> (A, B, C) {
    (A(0.0), B(0.0), C(0.0))
}

fn abcd() -> (A, B, C, D) {
    (A(0.0), B(0.0), C(0.0), D(0.0))
}

fn abce() -> (A, B, C, E) {
    (A(0.0), B(0.0), C(0.0), E(0.0))
}

/// `amount` systems (a multiple of three) over `bunches` times 50,000 entities; two of any three
/// systems can run at once.
pub(crate) fn busy(bunches: usize, amount: usize) -> Workload {
    let mut world = World::new();
    for _ in 0..bunches {
        spawn(&mut world, 4 * BUNCH, ab);
        spawn(&mut world, 4 * BUNCH, abc);
        spawn(&mut world, BUNCH, abcd);
        spawn(&mut world, BUNCH, abce);
    }
    let mut schedule = Schedule::default();
    for _ in 0..amount / 3 {
        schedule.add_systems((swap_ab, swap_cd, swap_ce));
    }
    runner(schedule, world)
}

/// `amount` systems (a multiple of three) over `bunches` times 15,000 entities; the middle one of
/// any three conflicts with the other two.
pub(crate) fn contrived(bunches: usize, amount: usize) -> Workload {
    let mut world = World::new();
    for _ in 0..bunches {
        spawn(&mut world, BUNCH, abcd);
        spawn(&mut world, BUNCH, ab);
        spawn(&mut world, BUNCH, || (C(0.0), D(0.0)));
    }
    let mut schedule = Schedule::default();
    for _ in 0..amount / 3 {
        schedule.add_systems((swap_ab, swap_ac_then_bd, swap_cd));
    }
    runner(schedule, world)
}

/// The three busy systems over 10,000 entities of each kind.
pub(crate) fn base() -> Workload {
    const EACH: usize = 10_000;
    let mut world = World::new();
    spawn(&mut world, EACH, ab);
    spawn(&mut world, EACH, abc);
    spawn(&mut world, EACH, abcd);
    spawn(&mut world, EACH, abce);
    let mut schedule = Schedule::default();
    schedule.add_systems((swap_ab, swap_cd, swap_ce));
    runner(schedule, world)
}
