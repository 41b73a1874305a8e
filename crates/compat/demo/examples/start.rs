//! The program of the book's page about Bevy, `docs/book/src/start/bevy.md`.

use bevy_app::{App, TaskPoolPlugin, Update};
use bevy_ecs::prelude::*;

#[derive(Component)]
struct Position(f32);
#[derive(Component)]
struct Speed(f32);

fn fly(mut things: Query<(&mut Position, &Speed)>) {
    things.par_iter_mut().for_each(|(mut at, by)| at.0 += by.0);
}

fn main() {
    let mut app = App::new();
    app.add_plugins(TaskPoolPlugin::default())
        .add_systems(Update, fly);
    let world = app.world_mut();
    world.spawn_batch((0..10_000).map(|n| (Position(0.0), Speed(n as f32))));
    app.finish();
    app.cleanup();
    for _ in 0..100 {
        app.update();
    }
    let world = app.world_mut();
    let mut positions = world.query::<&Position>();
    let farthest = positions.iter(world).map(|at| at.0).fold(0.0, f32::max);
    println!("after 100 frames the farthest is at {farthest}");
    assert_eq!(farthest, 999_900.0);
}
