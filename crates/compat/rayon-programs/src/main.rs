//! Small programs on crates that stand on rayon. `--list` prints their names; `--program NAME` runs one, whose output does not depend on
//! the number of threads.

mod arrays;
mod bvh;
mod png;
mod sort;
mod walk;

use std::error::Error;
use std::process::ExitCode;

/// What ends a program early.
type Failure = Box<dyn Error + Send + Sync>;

/// A program: its name, and what it does. It prints its output.
type Program = (&'static str, fn() -> Result<(), Failure>);

const PROGRAMS: [Program; 5] = [
    ("png", png::run),
    ("arrays", arrays::run),
    ("bvh", bvh::run),
    ("walk", walk::run),
    ("sort", sort::run),
];

/// A checksum of bytes (FNV-1a).
fn checksum(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The number at a place in a sequence without a pattern.
fn number(place: u64) -> u64 {
    let mut number = place.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    number ^= number >> 29;
    number = number.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number ^ (number >> 32)
}

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
        _ => Err("usage: --list | --program NAME".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
