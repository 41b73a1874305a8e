//! `cargo xtask compat --rayon`: small programs on crates that stand on rayon print the same on the stock rayon-core and on the drop-in.
//!
//! The package `crates/compat/rayon-programs` is built twice, from copies with generated manifests. Each program runs on pools of several
//! sizes, and prints the same on all of them.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::registry::RAYON_CORE;
use super::sides::{self, OPTIMISED, Side};
use crate::process::run_limited;
use crate::workspace::Workspace;

/// Runs of each program on each side and size of the pool.
const RUNS: usize = 3;
/// Sizes of rayon's pool.
const THREADS: [usize; 3] = [1, 2, 8];
/// Far more than a program needs.
const LIMIT: Duration = Duration::from_secs(120);

/// What a program prints on a pool of so many threads.
fn output(side: &Path, program: &str, threads: &usize) -> Result<String> {
    let mut command = Command::new(side);
    command.args(["--program", program]);
    command.env("RAYON_NUM_THREADS", threads.to_string());
    let finished = run_limited(command, LIMIT)?;
    let passed = finished.passed();
    passed.with_context(|| format!("{}, {threads} threads", side.display()))?;
    Ok(finished.output)
}

/// Compares what the programs print whose names contain `filter`.
pub(super) fn run(ws: &Workspace, filter: Option<&str>) -> Result<()> {
    let side = |side: Side| side.program(ws, "rayon-programs", &[RAYON_CORE], OPTIMISED);
    let sides = [side(Side::Stock)?, side(Side::Ours)?];
    let variants = (RUNS, &THREADS[..]);
    sides::compare("compat --rayon", &sides, filter, variants, output)
}
