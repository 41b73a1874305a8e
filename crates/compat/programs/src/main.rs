//! Small real programs on crates that stand on async-executor. `--list` prints their names; `--program NAME` runs one, whose output
//! does not depend on the executor. `--load REQUESTS` prints what so many requests to the HTTP server took.

mod bus;
mod chat;
mod http;
mod load;
mod pools;

use std::error::Error;
use std::process::ExitCode;

/// What ends a program early.
type Failure = Box<dyn Error + Send + Sync>;

/// A program: its name, and what it does. It prints its output.
type Program = (&'static str, fn() -> Result<(), Failure>);

const PROGRAMS: [Program; 4] = [
    ("http", http::run),
    ("bus", bus::run),
    ("chat", chat::run),
    ("pools", pools::run),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["--list"] => {
            PROGRAMS.iter().for_each(|(name, _)| println!("{name}"));
            Ok(())
        }
        ["--program", name] => match PROGRAMS.iter().find(|(known, _)| *known == name) {
            Some((_, run)) => run(),
            None => Err("there is no such program".into()),
        },
        ["--load", requests] => load::run(requests),
        _ => Err("usage: --list | --program NAME | --load REQUESTS".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
