//! `cargo xtask footprint`: what an executor costs before it runs anything, beside the two that one would use in its place:
//! bytes of heap, dependencies, time of a clean build.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;
use serde::Deserialize;
use xshell::{Shell, cmd};

use crate::measure::machine::origin;
use crate::measure::stats::median;
use crate::progress::Progress;
use crate::report::sheet::{Cell, Sheet};
use crate::workspace::{self, Workspace};

const HEADER: [&str; 6] = [
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

/// Options of `cargo xtask footprint`.
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
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
struct Bytes {
    /// Of a pool with one worker.
    pool: u64,
    /// Of each further worker.
    worker: u64,
    /// Of a task that waits, with a future of one word.
    task: u64,
}

/// What was measured of one project.
#[derive(Debug, PartialEq)]
struct Row {
    project: String,
    bytes: Bytes,
    /// Packages that it needs, itself left out.
    dependencies: u64,
    /// Median seconds of a clean optimised build; NaN without one.
    build: f64,
}

/// One project, and a package that depends on it and on nothing else.
struct Probe {
    name: &'static str,
    dir: PathBuf,
}

impl Probe {
    fn new(ws: &Workspace, dir: &Path, name: &'static str, source: &str) -> Result<Self> {
        let dir = dir.join(name);
        workspace::probe(&dir, &format!("{name} = {{ {source} }}\n"))?;
        // The versions of this workspace; what it does not need cargo takes out.
        std::fs::copy(ws.root.join("Cargo.lock"), dir.join("Cargo.lock"))?;
        Ok(Self { name, dir })
    }

    fn shell(&self) -> Result<Shell> {
        let shell = Shell::new()?;
        shell.change_dir(&self.dir);
        shell.set_var("CARGO_TARGET_DIR", self.target());
        Ok(shell)
    }

    fn target(&self) -> PathBuf {
        self.dir.join("target")
    }

    fn dependencies(&self) -> Result<usize> {
        let shell = self.shell()?;
        let tree = cmd!(shell, "cargo tree --quiet --edges normal --prefix none").read()?;
        Ok(dependencies(&tree, self.name))
    }

    /// Seconds of a clean build.
    fn build(&self) -> Result<f64> {
        let shell = self.shell()?;
        shell.remove_path(self.target())?;
        let start = Instant::now();
        cmd!(shell, "cargo build --quiet --release").quiet().run()?;
        Ok(start.elapsed().as_secs_f64())
    }
}

/// The packages in what `cargo tree` printed, beside the probe and the project.
fn dependencies(tree: &str, project: &str) -> usize {
    let packages: BTreeSet<_> = tree
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?, words.next()?))
        })
        .filter(|(name, _)| ![project, "probe"].contains(name))
        .collect();
    packages.len()
}

/// Measures, prints, and writes where it was told to.
pub(crate) fn run(ws: &Workspace, args: &FootprintArgs) -> Result<()> {
    let origin = origin(ws);
    let program = PROGRAM;
    let counted = cmd!(ws.sh, "cargo run --quiet --release {program...}").read()?;
    let bytes: BTreeMap<String, Bytes> =
        serde_json::from_str(&counted).context("the counting program says something else")?;
    let dir = tempfile::tempdir().context("cannot create a temporary directory")?;
    let own = ws.root.join("crates/executor");
    let own = format!("path = {:?}", own.display().to_string());
    let projects = [
        ("terrace-executor", own.as_str()),
        ("async-executor", r#"version = "1""#),
        ("tokio", r#"version = "1", features = ["rt-multi-thread"]"#),
    ];
    let probes = projects
        .iter()
        .map(|(name, source)| Probe::new(ws, dir.path(), name, source))
        .collect::<Result<Vec<_>>>()?;
    let dependencies = probes
        .iter()
        .map(Probe::dependencies)
        .collect::<Result<Vec<_>>>()?;
    // In turn, so that what slows the machine for a while slows all of them.
    let mut times = vec![Vec::new(); probes.len()];
    let progress = Progress::new("clean builds", args.builds * probes.len());
    for _ in 0..args.builds {
        for (probe, times) in probes.iter().zip(&mut times) {
            progress.at(probe.name);
            times.push(probe.build()?);
        }
    }
    let mut rows = Vec::new();
    for ((probe, dependencies), mut times) in probes.iter().zip(dependencies).zip(times) {
        rows.push(Row {
            project: probe.name.to_owned(),
            bytes: *bytes
                .get(probe.name)
                .with_context(|| format!("the program did not measure {}", probe.name))?,
            dependencies: dependencies as u64,
            build: if times.is_empty() {
                f64::NAN
            } else {
                median(&mut times)
            },
        });
    }
    let sheet = Sheet {
        origin,
        title: "Footprint".to_owned(),
        note: format!("{NOTE} Builds: the median of {}, in turn.", args.builds),
        header: HEADER.map(str::to_owned).into(),
        rows: rows.iter().map(cells).collect(),
    };
    println!("{}", sheet.terminal());
    args.json.as_ref().map_or(Ok(()), |path| sheet.write(path))
}

fn cells(row: &Row) -> Vec<Cell> {
    vec![
        Cell::Text(row.project.clone()),
        Cell::Count(row.bytes.pool),
        Cell::Count(row.bytes.worker),
        Cell::Count(row.bytes.task),
        Cell::Count(row.dependencies),
        Cell::Seconds(row.build),
    ]
}

#[cfg(test)]
mod tests {
    use super::{Bytes, HEADER, Row, cells, dependencies};
    use crate::report::sheet::Cell;

    #[test]
    fn packages_are_counted_once_and_the_project_not_at_all() {
        let tree = "probe v0.0.0 (/a)\ntokio v1.54.0\nbytes v1.0.0\npin v0.2.0\npin v0.2.0 (*)\npin v0.3.0\n";
        assert_eq!(dependencies(tree, "tokio"), 3);
        assert_eq!(
            dependencies("probe v0.0.0 (/a)\nalone v1.0.0\n", "alone"),
            0
        );
    }

    #[test]
    fn a_row_has_a_cell_a_column() {
        let bytes = Bytes {
            pool: 1000,
            worker: 200,
            task: 30,
        };
        let row = Row {
            project: "one".to_owned(),
            bytes,
            dependencies: 4,
            build: 1.25,
        };
        let cells = cells(&row);
        assert_eq!(cells.len(), HEADER.len());
        assert_eq!(cells[1..3], [Cell::Count(1000), Cell::Count(200)]);
        assert_eq!(cells[5], Cell::Seconds(1.25));
    }
}
