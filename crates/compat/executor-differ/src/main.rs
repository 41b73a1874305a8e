//! Programs on `async-executor` that print what they see. `cargo xtask compat --differ` builds them against the published
//! crate and against the drop-in. It runs each in a process of its own, and compares the lines.
//!
//! ```text
//! executor-differ --list           the names of the programs that are written out
//! executor-differ --program NAME   one of them
//! executor-differ --seed N         a random one, always the same for the same number
//! ```
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
    std::panic::set_hook(Box::new(|_| {}));
    let args: Vec<_> = std::env::args().skip(1).collect();
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["--list"] => {
            for (name, _) in known::PROGRAMS {
                println!("{name}");
            }
            return ExitCode::SUCCESS;
        }
        ["--program", name] => {
            let Some((_, program)) = known::PROGRAMS.iter().find(|(known, _)| *known == name)
            else {
                eprintln!("there is no program {name}; see --list");
                return ExitCode::from(2);
            };
            program();
        }
        ["--seed", seed] => match seed.parse() {
            Ok(seed) => seeded(seed),
            Err(_) => return ExitCode::from(2),
        },
        _ => {
            eprintln!("usage: executor-differ --list | --program NAME | --seed N");
            return ExitCode::from(2);
        }
    }
    println!("end");
    ExitCode::SUCCESS
}
