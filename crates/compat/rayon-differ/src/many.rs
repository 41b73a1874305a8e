//! Several pools of several threads, and several threads that call them.

use std::thread;

use fastrand::Rng;

use crate::perform::perform;
use crate::plan::{Node, Planner, Style};
use crate::world::{World, outcome};

/// Runs a program.
pub(crate) fn run(rng: &mut Rng) {
    let sizes: Vec<usize> = (0..rng.usize(1..4)).map(|_| rng.usize(1..5)).collect();
    let world = World::new(rng.usize(1..5), &sizes);
    println!("pools {sizes:?}");
    let style = Style {
        pools: sizes.len(),
        ordered: false,
    };
    for turn in 0..rng.u32(1..4) {
        let callers: Vec<_> = (0..rng.usize(1..4))
            .map(|_| Planner::new(rng, style).program())
            .collect();
        let values: Vec<_> = thread::scope(|scope| {
            let call = |program: &'static Node| {
                let caller = thread::Builder::new().name("caller".to_owned());
                let called = caller.spawn_scoped(scope, move || outcome(|| perform(program)));
                called.expect("a thread starts")
            };
            let callers: Vec<_> = callers.into_iter().map(call).collect();
            let join = |caller: thread::ScopedJoinHandle<'_, _>| caller.join().expect("caught");
            callers.into_iter().map(join).collect()
        });
        world.settle();
        println!("turn {turn}: {values:?}");
        world.print(true);
    }
}
