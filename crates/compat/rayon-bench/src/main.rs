//! Workloads on rayon, timed one row at a time.
//!
//! `cargo xtask compat --bench --rayon` builds this program twice, on the stock `rayon-core` and on the drop-in, and runs the two in turn.
//! See `rows` for the table.

mod items;
mod life;
mod numbers;
mod rows;
mod scenes;
mod sorts;
mod tiny;

use std::process::ExitCode;

fn main() -> ExitCode {
    bench_main::main(rows::all())
}
