//! Programs on `bevy_tasks` that print what they see. `cargo xtask compat --differ` builds them against the published
//! crate and against the drop-in. It runs each in a process of its own, and compares the lines. `differ-main` has the command line.
//!
//! The output of a random program depends on the interface's promises only, and on nothing that the published crate
//! leaves to chance. It depends neither on the thread that runs a task, nor on the progress of siblings when a panic
//! cancels them. It is also one that ends there: `known.rs` has those that do not.

#[cfg(feature = "multi_threaded")]
mod known;
mod random;
mod scopes;
mod support;
mod tasks;

use std::process::ExitCode;

use random::Random;
use support::World;

/// How many acts a program has.
const ACTS: u64 = 6;

type Act = fn(&mut Random, &World);

/// A random program: on pools of random sizes, some of the acts in a random order.
fn seeded(seed: u64) {
    let mut random = Random::new(seed);
    let world = World::new(&mut random);
    println!("pools {:?}", world.sizes);
    let acts: &[Act] = &[
        scopes::results,
        tasks::locals,
        tasks::slices,
        #[cfg(feature = "multi_threaded")]
        scopes::panic,
        #[cfg(feature = "multi_threaded")]
        scopes::body_panic,
        #[cfg(feature = "multi_threaded")]
        scopes::blocking,
        #[cfg(feature = "multi_threaded")]
        scopes::external,
        #[cfg(feature = "multi_threaded")]
        tasks::panics,
        #[cfg(feature = "multi_threaded")]
        tasks::spawned,
    ];
    for _ in 0..1 + random.below(ACTS) {
        let act = acts[random.below(acts.len() as u64) as usize];
        act(&mut random, &world);
    }
}

/// Without threads no program is written out.
#[cfg(not(feature = "multi_threaded"))]
mod known {
    pub(crate) const PROGRAMS: &[(&str, differ_main::Program)] = &[];
}

fn main() -> ExitCode {
    differ_main::run(known::PROGRAMS, seeded)
}
