//! `cargo xtask compat --rayon`: small programs on crates that stand on rayon print the same on the stock rayon-core and on the drop-in.
//!
//! The package `crates/compat/rayon-programs` is built twice, from copies with generated manifests. Each program runs on pools of several
//! sizes, and prints the same on all of them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::registry::RAYON_CORE;
use super::sides::{self, build, listed};
use crate::process::{difference, run_limited};
use crate::progress::run_all;
use crate::workspace::Workspace;

const PACKAGE: &str = "rayon-programs";
/// Runs of each program on each side and size of the pool.
const RUNS: usize = 3;
/// Sizes of rayon's pool.
const THREADS: [usize; 3] = [1, 2, 8];
/// Far more than a program needs.
const LIMIT: Duration = Duration::from_secs(120);

/// The program on the stock crate, or on ours.
fn compile(ws: &Workspace, ours: bool) -> Result<PathBuf> {
    let (name, drop_ins): (_, &[_]) = if ours {
        ("ours", &[RAYON_CORE])
    } else {
        ("stock", &[])
    };
    let dir = sides::copy(ws, PACKAGE, &format!("{PACKAGE}/{name}"), "", drop_ins)?;
    sides::prove(ws, &dir, &RAYON_CORE, ours)?;
    let way = ("optimised", &["--release"][..]);
    build(&dir, &dir.join("target"), "release/rayon-programs", way)
}

/// What a program prints on a pool of so many threads.
fn output(side: &Path, program: &str, threads: usize) -> Result<String> {
    let mut command = Command::new(side);
    command.args(["--program", program]);
    command.env("RAYON_NUM_THREADS", threads.to_string());
    let finished = run_limited(command, LIMIT)?;
    finished.passed()?;
    Ok(finished.output)
}

/// Compares what the programs print whose names contain `filter`.
pub(super) fn run(ws: &Workspace, filter: Option<&str>) -> Result<()> {
    let sides = [("stock", compile(ws, false)?), ("ours", compile(ws, true)?)];
    let mut names = listed(&sides[0].1)?;
    names.retain(|name| filter.is_none_or(|text| name.contains(text)));
    ensure!(!names.is_empty(), "no program's name contains the filter");
    run_all("compat --rayon", &names, String::clone, |name| {
        let first = output(&sides[0].1, name, THREADS[0])?;
        ensure!(!first.is_empty(), "it prints nothing");
        for threads in THREADS {
            for run in 0..2 * RUNS {
                let (side, program) = &sides[run % 2];
                let printed = output(program, name, threads)
                    .with_context(|| format!("{side}, {threads} threads"))?;
                let difference = difference([("stock", &first), (side, &printed)]);
                ensure!(
                    difference.is_none(),
                    "{threads} threads: {}",
                    difference.unwrap_or_default()
                );
            }
        }
        let lines = first.lines().count();
        Ok(format!(
            "the same {lines} lines, {RUNS} times on each side with {THREADS:?} threads"
        ))
    })
}
