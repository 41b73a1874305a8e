//! `cargo xtask footprint`: what an executor costs before it runs anything, beside the two that one would use in its place:
//! bytes of heap, dependencies, time of a clean build.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;
use serde::Deserialize;

use crate::build::Build;
use crate::measure::machine::origin;
use crate::package::locked_probe;
use crate::process::said;
use crate::progress::Progress;
use crate::report::sheet::{Cell, Sheet};
use crate::workspace::{Workspace, empty};
use xtask_stats::median;

pub(crate) const HEADER: [&str; 6] = [
    "project",
    "pool, bytes",
    "worker, bytes",
    "task, bytes",
    "dependencies",
    "clean build",
];

/// Below the table.
const NOTE: &str = "A pool is one with a worker that has run a task; bytes are those of the heap that a counting allocator \
                    sees, threads' stacks left out. A task waits, and its future holds one word. Dependencies are packages \
                    beside the project itself. The build is a clean optimised one.";

/// The program that counts bytes.
const PROGRAM: [&str; 4] = ["-p", "terrace-benches", "--example", "footprint"];

#[derive(Args)]
pub(crate) struct FootprintArgs {
    /// Clean builds of each project, whose median counts; 0 leaves the time out
    #[arg(long, default_value_t = 5)]
    builds: usize,
    /// Write what was measured, for `cargo xtask bench-page`
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Bytes of heap.
#[derive(Deserialize)]
struct Bytes {
    /// Of a pool with one worker.
    pool: u64,
    /// Of each further worker.
    worker: u64,
    /// Of a task that waits, with a future of one word.
    task: u64,
}

/// Seconds of a clean build.
fn build_anew(build: &Build) -> Result<f64> {
    empty(build.target())?;
    let start = Instant::now();
    build.quiet_cargo(&["build", "--quiet", "--release"])?;
    Ok(start.elapsed().as_secs_f64())
}

/// The packages in what `cargo tree` printed, beside the probe and the project.
fn dependencies(tree: &str, project: &str) -> u64 {
    let name_and_version = |line: &'_ str| {
        let mut words = line.split_whitespace().map(str::to_owned);
        Some([words.next()?, words.next()?])
    };
    let packages = tree.lines().filter_map(name_and_version);
    let others = packages.filter(|[name, _]| ![project, "probe"].contains(&name.as_str()));
    others.collect::<BTreeSet<_>>().len() as u64
}

/// Measures, prints, and writes where it was told to.
pub(crate) fn run(ws: &Workspace, args: &FootprintArgs) -> Result<()> {
    let origin = origin(ws);
    let words = [&["run", "--quiet", "--release"], &PROGRAM[..]].concat();
    let counted = said(Build::plain(ws).command(&words))?;
    let bytes: BTreeMap<String, Bytes> =
        serde_json::from_str(&counted).context("the counting program says something else")?;
    let dir = tempfile::tempdir().context("cannot create a temporary directory")?;
    let own = ws.root.join("crates/executor");
    let own = format!("path = {:?}", own.display().to_string());
    let mut probes = Vec::new();
    for (name, source) in [
        ("terrace-executor", own.as_str()),
        ("async-executor", r#"version = "1""#),
        ("tokio", r#"version = "1", features = ["rt-multi-thread"]"#),
    ] {
        let dir = dir.path().join(name);
        locked_probe(ws, &dir, &format!("{name} = {{ {source} }}\n"))?;
        let build = Build::of(&dir, dir.join("target"));
        probes.push((name, build, Vec::new()));
    }
    // In turn, so that what slows the machine for a while slows all of them.
    let progress = Progress::new("clean builds", args.builds * probes.len());
    for _ in 0..args.builds {
        for (name, build, times) in &mut probes {
            progress.at(name);
            times.push(build_anew(build)?);
        }
    }
    let mut rows = Vec::new();
    for (name, build, mut times) in probes {
        let bytes = bytes.get(name);
        let bytes = bytes.with_context(|| format!("the program did not measure {name}"))?;
        let tree = ["tree", "--quiet", "--edges", "normal", "--prefix", "none"];
        let tree = said(build.command(&tree))?;
        let time = if times.is_empty() {
            f64::NAN
        } else {
            median(&mut times)
        };
        rows.push(vec![
            Cell::Text(name.to_owned()),
            Cell::Count(bytes.pool),
            Cell::Count(bytes.worker),
            Cell::Count(bytes.task),
            Cell::Count(dependencies(&tree, name)),
            Cell::Seconds(time),
        ]);
    }
    let sheet = Sheet {
        origin,
        title: "Footprint".to_owned(),
        note: format!("{NOTE} Builds: the median of {}, in turn.", args.builds),
        header: HEADER.map(str::to_owned).into(),
        rows,
    };
    sheet.conclude(args.json.as_ref())
}

#[cfg(test)]
mod tests {
    use super::dependencies;

    #[test]
    fn packages_are_counted_once_and_the_project_not_at_all() {
        let tree = "probe v0.0.0 (/a)\ntokio v1.54.0\nbytes v1.0.0\npin v0.2.0\npin v0.2.0 (*)\npin v0.3.0\n";
        assert_eq!(dependencies(tree, "tokio"), 3);
    }
}
