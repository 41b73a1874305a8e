//! Particles that fall, are drawn to wells, bounce and heat up: parallel queries, two of which can run at the same time.

use std::hash::{DefaultHasher, Hasher};

use bevy_app::{App, Plugin, Startup, Update};
use bevy_ecs::prelude::*;

/// Where a particle is, in a box from 0 to [`SIZE`].
#[derive(Component, Clone, Copy)]
pub(crate) struct Position(pub(crate) [f32; 2]);

#[derive(Component)]
struct Velocity([f32; 2]);

#[derive(Component)]
pub(crate) struct Heat(pub(crate) f32);

#[derive(Resource)]
struct Amount(usize);

/// Side of the box.
pub(crate) const SIZE: f32 = 100.0;

const GRAVITY: f32 = -9.81;
/// The points that attract the particles, besides the floor.
const WELLS: [[f32; 2]; 4] = [[20.0, 70.0], [50.0, 40.0], [80.0, 70.0], [50.0, 90.0]];
const PULL: f32 = 400.0;
const STEP: f32 = 1.0 / 60.0;
/// Part of the speed left after a bounce.
const BOUNCE: f32 = 0.9;
/// Part of the heat kept in a step.
const COOLING: f32 = 0.99;

/// Spawns `amount` particles and moves them.
pub(crate) struct ParticlesPlugin {
    pub(crate) amount: usize,
}

impl Plugin for ParticlesPlugin {
    fn build(&self, app: &mut App) {
        app.insert_resource(Amount(self.amount))
            .add_systems(Startup, spawn)
            .add_systems(Update, ((fall, attract, advance, bounce).chain(), warm));
    }
}

/// The `n`-th of numbers that fill 0 to 1 evenly (multiples of the golden ratio).
fn spread(n: usize, offset: f32) -> f32 {
    (n as f64 * 0.618_033_988_749_894_9 + f64::from(offset)).fract() as f32
}

fn spawn(mut commands: Commands, amount: Res<Amount>) {
    commands.spawn_batch((0..amount.0).map(|n| {
        (
            Position([spread(n, 0.0) * SIZE, spread(n / 2, 0.5) * SIZE]),
            Velocity([spread(n, 0.25) - 0.5, spread(n / 3, 0.75) - 0.5]),
            Heat(0.0),
        )
    }));
}

fn fall(mut query: Query<&mut Velocity>) {
    query.par_iter_mut().for_each(|mut velocity| {
        velocity.0[1] += GRAVITY * STEP;
    });
}

fn attract(mut query: Query<(&mut Velocity, &Position)>) {
    query.par_iter_mut().for_each(|(mut velocity, position)| {
        for well in WELLS {
            let way = [well[0] - position.0[0], well[1] - position.0[1]];
            let distance = way[0].hypot(way[1]).max(1.0);
            let change = PULL * STEP / distance.powi(3);
            velocity.0[0] += way[0] * change;
            velocity.0[1] += way[1] * change;
        }
    });
}

fn advance(mut query: Query<(&mut Position, &Velocity)>) {
    query.par_iter_mut().for_each(|(mut position, velocity)| {
        for (position, velocity) in position.0.iter_mut().zip(velocity.0) {
            *position += velocity * STEP;
        }
    });
}

fn bounce(mut query: Query<(&mut Position, &mut Velocity)>) {
    query
        .par_iter_mut()
        .for_each(|(mut position, mut velocity)| {
            for axis in 0..2 {
                if !(0.0..=SIZE).contains(&position.0[axis]) {
                    position.0[axis] = position.0[axis].clamp(0.0, SIZE);
                    velocity.0[axis] *= -BOUNCE;
                }
            }
        });
}

/// The same for two worlds whose particles are at the same places, bit for bit.
pub(crate) fn fingerprint(world: &mut World) -> u64 {
    let mut hasher = DefaultHasher::new();
    for (position, heat) in world.query::<(&Position, &Heat)>().iter(world) {
        for value in [position.0[0], position.0[1], heat.0] {
            hasher.write_u32(value.to_bits());
        }
    }
    hasher.finish()
}

fn warm(mut query: Query<&mut Heat>) {
    query.par_iter_mut().for_each(|mut heat| {
        heat.0 = (heat.0 + 1.0) * COOLING;
    });
}
