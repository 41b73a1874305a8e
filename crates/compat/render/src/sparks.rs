//! Points that a parallel query moves around the origin. They are not drawn.

use bevy::prelude::*;

use crate::mix;

/// How many there are.
const AMOUNT: u64 = 20_000;

/// Makes them and moves them.
pub(crate) struct SparksPlugin;

impl Plugin for SparksPlugin {
    fn build(&self, app: &mut App) {
        app.add_systems(Startup, spawn).add_systems(Update, fly);
    }
}

#[derive(Component)]
struct Spark {
    number: u64,
    position: Vec3,
    velocity: Vec3,
}

fn spawn(mut commands: Commands) {
    let spark = |number| {
        // Three numbers of 16 bits.
        let bits = mix(mix(1, number), number);
        let part = |at: u64| ((bits >> at) & 0xffff) as f32 / 32_768.0 - 1.0;
        let position = Vec3::new(part(0), part(16), part(32)) * 10.0;
        Spark {
            number,
            position,
            velocity: position.cross(Vec3::Y) * 0.5,
        }
    };
    commands.spawn_batch((0..AMOUNT).map(spark));
}

fn fly(time: Res<Time>, mut sparks: Query<&mut Spark>) {
    let step = time.delta_secs();
    sparks.par_iter_mut().for_each(|mut spark| {
        let distance = spark.position.length().max(1.0);
        let pull = spark.position * (-4.0 / (distance * distance));
        let swirl = Vec3::Y.cross(spark.position) * (0.2 * (distance * 0.3).sin());
        spark.velocity += (pull + swirl) * step;
        let moved = spark.velocity * step;
        spark.position += moved;
    });
}

/// Where all are, bit for bit.
pub(crate) fn fingerprint(world: &mut World) -> u64 {
    let mut sparks = world.query::<&Spark>();
    let of = |spark: &Spark| {
        let numbers = spark.position.to_array().into_iter();
        let bits = numbers.chain(spark.velocity.to_array()).map(f32::to_bits);
        bits.map(u64::from).fold(spark.number, mix)
    };
    // A sum, since the order of the query is no promise.
    sparks.iter(world).map(of).fold(0, u64::wrapping_add)
}
