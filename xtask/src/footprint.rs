//! `cargo xtask footprint`: what an executor costs before it runs anything, beside the two that one would use in its place:
//! bytes of heap, dependencies, time of a clean build.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Args;
use comfy_table::Table;
use serde::{Deserialize, Serialize};
use xshell::{Shell, cmd};

use crate::measure::machine::{machine, now};
use crate::measure::stats::median;
use crate::progress::Progress;
use crate::report::generated;
use crate::report::model::Machine;
use crate::report::write;
use crate::workspace::Workspace;

/// The page, and how it begins before anybody has written more.
const PAGE: &str = "docs/footprint.md";
const OPENING: &str = "# Footprint\n\nWhat an executor costs before it runs anything, beside those one would use in its place.";
const COMMAND: &str = "cargo xtask footprint --page";
/// The program that counts bytes.
const PROGRAM: [&str; 4] = ["-p", "terrace-benches", "--example", "footprint"];

/// Options of `cargo xtask footprint`.
#[derive(Args)]
pub(crate) struct FootprintArgs {
    /// Clean builds of each project, whose median counts; 0 leaves the time out
    #[arg(long, default_value_t = 5)]
    builds: usize,
    /// Also write what was measured
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Also renew the page docs/footprint.md
    #[arg(long)]
    page: bool,
}

/// Bytes of heap.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
struct Bytes {
    /// Of a pool with one worker.
    pool: u64,
    /// Of each further worker.
    worker: u64,
    /// Of a task that waits, with a future of one word.
    task: u64,
}

/// What was measured of one project.
#[derive(Debug, PartialEq, Serialize)]
struct Row {
    project: String,
    bytes: Bytes,
    /// Packages that it needs, itself left out.
    dependencies: usize,
    /// Median seconds of a clean optimised build.
    build: Option<f64>,
}

/// All of it.
#[derive(Serialize)]
struct Footprint {
    machine: Machine,
    measured: String,
    builds: usize,
    rows: Vec<Row>,
}

/// One project, and a package that depends on it and on nothing else.
struct Probe {
    name: &'static str,
    dir: PathBuf,
}

impl Probe {
    fn new(ws: &Workspace, dir: &Path, name: &'static str, source: &str) -> Result<Self> {
        let dir = dir.join(name);
        std::fs::create_dir_all(dir.join("src"))?;
        let manifest = format!(
            "[package]\nname = \"probe\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
             [dependencies]\n{name} = {{ {source} }}\n"
        );
        std::fs::write(dir.join("Cargo.toml"), manifest)?;
        std::fs::write(dir.join("src/lib.rs"), "")?;
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
    let machine = machine();
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
            dependencies,
            build: (!times.is_empty()).then(|| median(&mut times)),
        });
    }
    let footprint = Footprint {
        machine,
        measured: now(),
        builds: args.builds,
        rows,
    };
    println!("{}", table(&footprint));
    if let Some(path) = &args.json {
        write(path, &serde_json::to_string_pretty(&footprint)?)?;
    }
    if args.page {
        ensure!(args.builds > 0, "the page needs the time of builds");
        let path = ws.root.join(PAGE);
        let old = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => OPENING.to_owned(),
            Err(error) => return Err(error).with_context(|| format!("cannot read {PAGE}")),
        };
        let page = generated::replace(&old, COMMAND, &part(&footprint))
            .with_context(|| format!("the generated part of {PAGE} is torn; mend or delete it"))?;
        write(&path, &page)?;
        println!("wrote {PAGE}");
    }
    Ok(())
}

const HEADER: [&str; 6] = [
    "project",
    "pool, bytes",
    "worker, bytes",
    "task, bytes",
    "dependencies",
    "clean build",
];

fn cells(row: &Row) -> [String; 6] {
    [
        row.project.clone(),
        row.bytes.pool.to_string(),
        row.bytes.worker.to_string(),
        row.bytes.task.to_string(),
        row.dependencies.to_string(),
        row.build
            .map_or_else(|| "–".to_owned(), |seconds| format!("{seconds:.1} s")),
    ]
}

fn table(footprint: &Footprint) -> Table {
    let mut table = Table::new();
    table.load_preset(comfy_table::presets::NOTHING);
    table.set_header(HEADER);
    for row in &footprint.rows {
        table.add_row(cells(row));
    }
    table
}

/// The generated part of the page.
fn part(footprint: &Footprint) -> String {
    let Machine {
        cpu, cores, rustc, ..
    } = &footprint.machine;
    let mut text = format!(
        "Measured {} on {cpu}, {cores} cores, {rustc}. A pool is one with a worker that has run a task; bytes are those of the \
         heap that a counting allocator sees, threads' stacks left out. A task waits, and its future holds one word. \
         Dependencies are packages beside the project itself. The build is a clean optimised one, the median of {}, in turn.\n\n",
        footprint.measured, footprint.builds
    );
    text += &format!(
        "| {} |\n|---|{}\n",
        HEADER.join(" | "),
        "---:|".repeat(HEADER.len() - 1)
    );
    for row in &footprint.rows {
        text += &format!("| {} |\n", cells(row).join(" | "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Bytes, Footprint, Row, dependencies, part};
    use crate::report::generated;
    use crate::report::model::Machine;

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
    fn the_page_has_a_row_a_project_and_is_sealed() {
        let row = |project: &str, build| Row {
            project: project.to_owned(),
            bytes: Bytes {
                pool: 1000,
                worker: 200,
                task: 30,
            },
            dependencies: 4,
            build,
        };
        let footprint = Footprint {
            machine: Machine {
                cpu: "a".to_owned(),
                cores: 2,
                os: "b".to_owned(),
                rustc: "c".to_owned(),
                load_before: 0.0,
            },
            measured: "today".to_owned(),
            builds: 5,
            rows: vec![row("one", Some(1.25)), row("other", None)],
        };
        let text = part(&footprint);
        assert!(
            text.contains("| one | 1000 | 200 | 30 | 4 | 1.2 s |"),
            "{text}"
        );
        assert!(
            text.contains("| other | 1000 | 200 | 30 | 4 | – |"),
            "{text}"
        );
        let page = generated::replace("# Title", super::COMMAND, &text).expect("no part yet");
        assert_eq!(generated::check(&page), None);
        assert!(generated::check(&page.replace("1000", "10")).is_some());
    }
}
