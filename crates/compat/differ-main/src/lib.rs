#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

use std::error::Error;
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

/// What ends a [`Named`] program early.
pub type Failure = Box<dyn Error + Send + Sync>;

/// A program that may fail: its name, and what it does. It prints its output.
pub type Named = (&'static str, fn() -> Result<(), Failure>);

/// Does what the command line of the process says: `--list` prints the names, `--program NAME` runs one. All other words go to `other`.
#[must_use]
pub fn run_named(
    programs: &[Named],
    other: impl FnOnce(&[&str]) -> Result<(), Failure>,
) -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["--list"] => {
            programs.iter().for_each(|(name, _)| println!("{name}"));
            Ok(())
        }
        ["--program", name] => match programs.iter().find(|(known, _)| *known == name) {
            Some((_, run)) => run(),
            None => Err("there is no such program; see --list".into()),
        },
        _ => other(&words),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
