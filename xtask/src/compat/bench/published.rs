//! `--published`: the benches that `async-executor` publishes, as they are, on the stock crate and on the drop-in.

use anyhow::{Context, Result, ensure};
use regex_lite::Regex;

use super::program::Kind;
use super::subject::Limits;
use super::{BenchArgs, ROUNDS, measured};
use crate::compat::published::write_manifest;
use crate::compat::registry::{self, ASYNC_EXECUTOR, source};
use crate::compat::sides::Side;
use crate::measure::build::Tree;
use crate::measure::child;
use crate::measure::criterion::{Length, Program};
use crate::measure::rounds::{Effort, Entry, Row};
use crate::measure::runs;
use crate::workspace::{Workspace, write};

/// Of all rows.
const LIMITS: Limits = Limits {
    row: 1.05,
    wall: 0.60,
    dear_wall: 0.60,
    cpu: f64::INFINITY,
};
/// Milliseconds that a run measures.
pub(super) const MILLIS: u64 = 400;

/// Builds the program of a side.
pub(super) fn build(ws: &Workspace, side: Side) -> Result<Program> {
    let package = &registry::locate(ws, ASYNC_EXECUTOR)?;
    let dir = format!("compat/bench/published-{}", side.name());
    let dir = ws.target.join(dir);
    let table = "[[bench]]\nname = \"executor\"\nharness = false\n";
    let version = ASYNC_EXECUTOR.version;
    let version = format!("version = \"={version}\", features = [\"static\"]");
    let patch = side.patch(ws, &[ASYNC_EXECUTOR]);
    write_manifest(&dir, package, table, &version, "", &patch)?;
    write(&dir, "src/lib.rs", "")?;
    let bench = fs_err::read(source(package).join("benches/executor.rs"))?;
    write(&dir, "benches/executor.rs", bench)?;
    side.prove(ws, &dir, &[], &ASYNC_EXECUTOR)?;
    let tree = Tree {
        target: dir.join("target"),
        root: dir,
        benches: vec!["executor".to_owned()],
        side: side.name().to_owned(),
        ..Tree::default()
    };
    tree.build()?.pop().context("there is a bench program")
}

/// A row: ours, then the stock crate. The part of the bench's name before the `/` says how many threads there are.
fn row(id: &str, [stock, ours]: &[Program; 2]) -> Row {
    let (group, name) = id.split_once('/').unwrap_or(("one", id));
    let entries = [("ours", ours), ("stock", stock)];
    Row {
        name: format!("async-executor/{name}/{group}"),
        entries: entries
            .map(|(contender, program)| Entry::new(contender, id, program))
            .into(),
    }
}

/// Builds both sides, runs them in turn and prints the ratios.
pub(super) fn run(ws: &Workspace, filter: &Regex, args: &BenchArgs) -> Result<()> {
    child::catch_interrupts()?;
    let sides = Side::both(|side| build(ws, side))?;
    let mut ids = sides[0].list()?;
    ids.retain(|id| filter.is_match(id));
    ensure!(!ids.is_empty(), "no row matches the filter");
    let rows: Vec<Row> = ids.iter().map(|id| row(id, &sides)).collect();
    let length = Length::of_millis(MILLIS);
    let rounds = args.rounds.unwrap_or(ROUNDS);
    let home = tempfile::tempdir_in(&ws.target)?;
    let effort = Effort::new("compat --bench --published", runs::Kind::Time, rounds);
    let times = (length.warm_up_ms, length.time_ms);
    let run = |row: &Row, at: usize| {
        let entry = &row.entries[at];
        entry.program.run(&entry.id, length, home.path())
    };
    let kind = |_: &str| Kind::Counted;
    let results = measured(ws, args, effort, times, &rows, run, kind)?;
    let wake_us = results.origin.machine.wake_us;
    LIMITS.check(&results.rows, &results.means, wake_us, kind)
}
