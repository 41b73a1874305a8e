//! Programs on `bevy_tasks` that print what they see. `cargo xtask compat --differ` builds them against the published
//! crate and against the drop-in. It runs each in a process of its own, and compares the lines.
//!
//! ```text
//! differ --list           the names of the programs that are written out
//! differ --program NAME   one of them
//! differ --seed N         a random one, always the same for the same number
//! ```
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

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|_| {}));
    let args: Vec<_> = std::env::args().skip(1).collect();
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    match args[..] {
        #[cfg(feature = "multi_threaded")]
        ["--list"] => {
            for (name, _) in known::PROGRAMS {
                println!("{name}");
            }
            return ExitCode::SUCCESS;
        }
        #[cfg(feature = "multi_threaded")]
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
            eprintln!("usage: differ --list | --program NAME | --seed N");
            return ExitCode::from(2);
        }
    }
    println!("end");
    ExitCode::SUCCESS
}
