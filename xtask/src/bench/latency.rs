//! `cargo xtask bench --latency`: percentiles of the time from a wake to the woken task's poll.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::{BenchArgs, programs, rows};
use crate::measure::child;
use crate::measure::criterion::Program;
use crate::measure::machine::origin;
use crate::measure::rounds::{Effort, measure_whole};
use crate::measure::runs::{Kind, Run, Runs};
use crate::report::sheet::{Cell, Sheet};
use crate::workspace::Workspace;
use xtask_stats::median;

/// Of one run of one bench.
const LIMIT: Duration = Duration::from_secs(120);
/// How many wakes a run samples.
const SAMPLES: usize = 1_000;

/// What the program prints of a run, as JSON.
#[derive(Deserialize)]
struct Percentiles {
    p50: f64,
    p90: f64,
    p99: f64,
}

/// Runs the program's benches in rounds; prints the medians over the rounds.
pub(super) fn run(ws: &Workspace, args: &BenchArgs) -> Result<()> {
    let program = programs::build_latency(ws)?;
    let ids = called(&program, &["--ids"])?;
    let listed = ids.lines().map(|id| (id.to_owned(), program.clone()));
    let rows = rows::select(rows::group(listed.collect())?, &args.selection)?;
    let rounds = args.rounds.into();
    let effort = Effort::new("bench latency", Kind::Time, rounds);
    let found = RefCell::new(BTreeMap::<_, Vec<Percentiles>>::new());
    measure_whole(effort, &rows, &mut Runs::default(), |row, at| {
        let id = &row.entries[at].id;
        let one = measure(&program, id)?;
        let run = Run::of(one.p50);
        found.borrow_mut().entry(id.clone()).or_default().push(one);
        Ok(run)
    })?;
    let found = found.into_inner();
    let line = |id: &String| {
        let of = |part: fn(&Percentiles) -> f64| {
            let mut all: Vec<f64> = found[id].iter().map(part).collect();
            Cell::Nanoseconds(median(&mut all))
        };
        let id = Cell::Text(id.clone());
        vec![id, of(|one| one.p50), of(|one| one.p90), of(|one| one.p99)]
    };
    let entries = rows.iter().flat_map(|row| &row.entries);
    let sheet = Sheet {
        origin: origin(ws),
        title: "Latency".to_owned(),
        note: format!(
            "From a wake to the woken task's poll: medians over {rounds} rounds of two runs, {SAMPLES} wakes each."
        ),
        header: ["wake to run", "p50", "p90", "p99"]
            .map(str::to_owned)
            .into(),
        rows: entries.map(|entry| line(&entry.id)).collect(),
    };
    sheet.conclude(args.json.as_ref())
}

fn called(program: &Program, args: &[&str]) -> Result<String> {
    let mut command = std::process::Command::new(&program.path);
    let ended = child::run(command.args(args), LIMIT, |_, _| {})?;
    let (path, args) = (program.path.display(), args.join(" "));
    Ok(ended.checked(&format!("`{path} {args}` failed"))?.stdout)
}

fn measure(program: &Program, id: &str) -> Result<Percentiles> {
    let printed = called(program, &["--id", id, "--samples", &SAMPLES.to_string()])?;
    serde_json::from_str(&printed).with_context(|| format!("`{id}` printed {}", printed.trim()))
}
