//! Programs that are written out: `expected/rayon-differ.txt` says why their lines differ. Each runs in a pool of one thread.

use differ_main::Program;
use rayon_core::{join, scope, spawn, yield_now};

use crate::world::{World, world};

pub(crate) const PROGRAMS: &[(&str, Program)] = &[
    ("join-spawns", || in_one(join_spawns)),
    ("join-yields", || in_one(join_yields)),
    ("child-yields", || in_one(child_yields)),
];

fn in_one(program: fn()) {
    let world = World::new(1, &[1]);
    world.pools[0].install(program);
    world.settle();
    world.print(false);
}

fn say(text: &str) {
    world().event(text.to_owned());
}

/// A job that ends after these words.
fn spawned(text: &'static str) {
    world().begin(1);
    spawn(move || {
        say(text);
        world().end();
    });
}

fn join_spawns() {
    join(
        || spawned("spawned by the first half"),
        || say("second half"),
    );
}

fn join_yields() {
    let first = || {
        yield_now();
        say("first half");
    };
    join(first, || say("second half"));
}

/// The yields take jobs that are older than the scope. So the children that come later lie below the begin of the scope.
fn child_yields() {
    spawned("older than the scope");
    spawned("older than the scope");
    scope(|scope| {
        scope.spawn(|scope| {
            yield_now();
            yield_now();
            scope.spawn(|_| say("older child"));
            scope.spawn(|_| say("newer child"));
        });
    });
}
