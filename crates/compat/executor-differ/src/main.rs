//! Programs on `async-executor` that print what they see. `cargo xtask compat --differ` builds them against the published
//! crate and against the drop-in. It runs each in a process of its own, and compares the lines. `differ-main` has the command line.
//!
//! A random program prints what the interface promises: which tasks end, what they give, which panic comes out of which
//! call, and when futures and values are dropped. In `steps` it also prints the order, since ticks poll in that of the queue.
//! Elsewhere it prints nothing that depends on the order of polls.

mod drivers;
mod home;
mod known;
mod plan;
mod steps;
mod threads;
mod world;

use std::process::ExitCode;

use fastrand::Rng;

/// A random program.
fn seeded(seed: u64) {
    let mut rng = Rng::with_seed(seed);
    match rng.u32(0..5) {
        0 | 1 => steps::run(&mut rng),
        2 | 3 => drivers::run(&mut rng),
        _ => threads::run(&mut rng),
    }
}

fn main() -> ExitCode {
    differ_main::run(known::PROGRAMS, seeded)
}
