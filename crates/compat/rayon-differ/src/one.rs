//! A pool of one thread, whose order is printed.

use fastrand::Rng;

use crate::perform::perform;
use crate::plan::{Planner, Style};
use crate::world::{World, outcome};

/// Runs a program.
pub(crate) fn run(rng: &mut Rng) {
    let world = World::new(1, &[1]);
    let style = Style {
        pools: 1,
        ordered: true,
    };
    for turn in 0..rng.u32(1..4) {
        let program = Planner::new(rng, style).program();
        let value = outcome(|| world.pools[0].install(|| perform(program)));
        world.settle();
        println!("program {turn}: {value:?}");
        world.print(false);
    }
}
