#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

use std::process::ExitCode;

/// A program that is written out.
pub type Program = fn();

/// Does what the command line of the process says. No panic prints a message.
///
/// `programs` have names; `seeded` is the random one of a number.
#[must_use]
pub fn run(programs: &[(&str, Program)], seeded: fn(u64)) -> ExitCode {
    std::panic::set_hook(Box::new(|_| {}));
    let mut args = std::env::args();
    let this = args.next().unwrap_or_default();
    let args: Vec<_> = args.collect();
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["--list"] => {
            for (name, _) in programs {
                println!("{name}");
            }
            return ExitCode::SUCCESS;
        }
        ["--program", name] => {
            let Some((_, program)) = programs.iter().find(|(known, _)| *known == name) else {
                eprintln!("there is no program {name}; see --list");
                return ExitCode::from(2);
            };
            program();
        }
        ["--seed", seed] => match seed.parse() {
            Ok(seed) => seeded(seed),
            Err(error) => {
                eprintln!("{seed} is no seed: {error}");
                return ExitCode::from(2);
            }
        },
        _ => {
            eprintln!("usage: {this} --list | --program NAME | --seed N");
            return ExitCode::from(2);
        }
    }
    println!("end");
    ExitCode::SUCCESS
}
