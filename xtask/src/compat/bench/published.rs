//! `--published`: the benches that `async-executor` publishes, as they are, on the stock crate and on the drop-in.

use anyhow::{Result, ensure};

use super::subject::{Limits, exceeding};
use super::{BenchArgs, QUICK, show};
use crate::bench::results::{means, pairs};
use crate::compat::published::dependencies;
use crate::compat::registry::{self, ASYNC_EXECUTOR, source, write_if_changed};
use crate::compat::sides::Side;
use crate::measure::build::{Special, Tree};
use crate::measure::child;
use crate::measure::criterion::{Length, Program};
use crate::measure::rounds::{Effort, Entry, Row, measure_whole};
use crate::measure::runs::{Kind, Runs};
use crate::workspace::Workspace;

/// Of all rows.
const LIMITS: Limits = Limits {
    row: 1.05,
    wall: 0.60,
    cpu: f64::INFINITY,
};
/// Rounds by default.
const ROUNDS: u32 = 9;
/// Milliseconds that a run measures, by default and with `--quick`.
const MILLIS: (u64, u64) = (400, 100);

/// Builds the program of a side.
fn build(ws: &Workspace, side: Side) -> Result<Program> {
    let work = ws.target.join("compat");
    let wanted = [(ASYNC_EXECUTOR.name, ASYNC_EXECUTOR.version)];
    let packages = registry::locate(&work.join("locate-bench"), &wanted)?;
    let dir = work
        .join("bench")
        .join(format!("published-{}", side.name()));
    let manifest = format!(
        "[package]\nname = \"published\"\nversion = \"0.0.0\"\nedition = \"{}\"\n\n[workspace]\n\n[[bench]]\nname = \"executor\"\n\
         harness = false\n\n[dependencies]\n{} = {{ version = \"={}\", features = [\"static\"] }}\n\n[dev-dependencies]\n{}{}",
        packages[0].edition,
        ASYNC_EXECUTOR.name,
        ASYNC_EXECUTOR.version,
        dependencies(&packages[0], |_| true)?,
        registry::patch(&ws.root, side.patched(&[ASYNC_EXECUTOR])),
    );
    write_if_changed(&dir.join("Cargo.toml"), manifest.as_bytes())?;
    write_if_changed(&dir.join("src/lib.rs"), b"")?;
    let bench = fs_err::read(source(&packages[0]).join("benches/executor.rs"))?;
    write_if_changed(&dir.join("benches/executor.rs"), &bench)?;
    side.prove(ws, &dir, &ASYNC_EXECUTOR)?;
    let tree = Tree {
        target: dir.join("target"),
        root: dir,
        package: "".into(),
        benches: vec!["executor".to_owned()],
        features: None,
        args: Vec::new(),
        special: Special::default(),
        others: Vec::new(),
        side: side.name().to_owned(),
    };
    let programs = tree.build()?;
    ensure!(programs.len() == 1, "there is one bench program");
    Ok(programs[0].clone())
}

/// A row: ours, then the stock crate. The part of the bench's name before the `/` says how many threads there are.
fn row(id: &str, sides: &[Program; 2]) -> Row {
    let (group, name) = id.split_once('/').unwrap_or(("one", id));
    let entries = ["ours", "stock"].into_iter().zip(sides);
    let entries = entries.map(|(contender, program)| Entry::new(contender, id, program));
    Row {
        name: format!("async-executor/{name}/{group}"),
        entries: entries.collect(),
    }
}

/// Builds both sides, runs them in turn and prints the ratios.
pub(super) fn run(ws: &Workspace, filter: Option<&str>, args: &BenchArgs) -> Result<()> {
    child::catch_interrupts()?;
    let stock = build(ws, Side::Stock)?;
    let ours = if args.aa {
        stock.clone()
    } else {
        build(ws, Side::Ours)?
    };
    let filter = filter.map(regex_lite::Regex::new).transpose()?;
    let mut ids = stock.list()?;
    ids.retain(|id| filter.as_ref().is_none_or(|f| f.is_match(id)));
    let sides = [ours, stock];
    let rows: Vec<Row> = ids.iter().map(|id| row(id, &sides)).collect();
    ensure!(!rows.is_empty(), "no row matches the filter");
    let (rounds, millis) = if args.quick {
        (QUICK.0, MILLIS.1)
    } else {
        (ROUNDS, MILLIS.0)
    };
    let (rounds, length) = (args.rounds.unwrap_or(rounds), Length::of_millis(millis));
    let home = tempfile::tempdir_in(&ws.target)?;
    let effort = Effort::new("compat --bench --published", Kind::Time, rounds);
    let mut runs = Runs::default();
    let run = |row: &Row, at: usize| {
        let entry = &row.entries[at];
        entry.program.run(&entry.id, length, home.path())
    };
    measure_whole(effort, &rows, &mut runs, run)?;
    let pairs = pairs(&rows, &runs, Kind::Time, usize::MAX);
    ensure!(!pairs.is_empty(), "nothing was compared");
    let means = means(&pairs);
    let failures = exceeding(pairs.iter(), &means, LIMITS);
    let length = (rounds, length.warm_up_ms, length.time_ms);
    show(ws, args, length, (pairs, means))?;
    ensure!(args.aa || failures.is_empty(), "{}", failures.join("; "));
    Ok(())
}
