//! ECS workloads on the real `bevy_ecs`, timed one row at a time.
//!
//! `cargo xtask compat --bench` builds this program twice, on the stock `bevy_tasks` and on the
//! drop-in, and runs the two in turn. The rows are those of Bevy's own benches: see
//! `rows` for the table.

mod archetypes;
mod conditions;
mod mixed;
mod parallel;
mod rows;
mod systems;

use std::process::ExitCode;

fn main() -> ExitCode {
    bench_main::main(rows::all())
}
