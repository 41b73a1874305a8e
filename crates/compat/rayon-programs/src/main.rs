//! Small programs on crates that stand on rayon. `--list` prints their names; `--program NAME` runs one, whose output does not depend on
//! the number of threads.

mod arrays;
mod bvh;
mod pictures;
mod png;
mod sort;
mod walk;

use std::process::ExitCode;

use differ_main::{Failure, Named, run_named};

const PROGRAMS: [Named; 6] = [
    ("png", png::run),
    ("pictures", pictures::run),
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
    run_named(&PROGRAMS, |_| Err("usage: --list | --program NAME".into()))
}
