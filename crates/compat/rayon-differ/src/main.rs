//! Programs on `rayon-core` that print what they see. `cargo xtask compat --differ` builds them against the published crate and against
//! the drop-in. It runs each in a process of its own, and compares the lines. `differ-main` has the command line.
//!
//! A random program is a tree of calls: joins, scopes, spawns, broadcasts, yields, calls into other pools, panics. It prints what the
//! interface promises: values, the pool in which a closure runs, which panic comes out of which call, and what reaches the panic
//! handler. `one` also prints the order, since a pool of one thread has one. `many` prints nothing that depends on the order.

mod known;
mod many;
mod one;
mod perform;
mod plan;
mod world;

use std::process::ExitCode;

use fastrand::Rng;

/// A random program.
fn seeded(seed: u64) {
    let mut rng = Rng::with_seed(seed);
    match rng.u32(0..3) {
        0 => one::run(&mut rng),
        _ => many::run(&mut rng),
    }
}

fn main() -> ExitCode {
    differ_main::run(known::PROGRAMS, seeded)
}
