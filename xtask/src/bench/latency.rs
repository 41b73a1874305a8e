//! `cargo xtask bench --latency`: percentiles of the time from a wake to the woken task's poll.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::rows;
use super::{BenchArgs, programs};
use crate::measure::child;
use crate::measure::criterion::Program;
use crate::measure::machine::origin;
use crate::measure::rounds::{Entry, Row};
use crate::measure::stats::median;
use crate::progress::Progress;
use crate::report::sheet::{Cell, Sheet};
use crate::workspace::Workspace;

/// Of one run of one bench.
const LIMIT: Duration = Duration::from_secs(120);
/// Lines of a failed program's output that the error shows.
const TAIL: usize = 12;
/// How many wakes a run samples by default, and with `--quick`.
const SAMPLES: (usize, usize) = (2_000, 200);

/// Of the table.
const HEADER: [&str; 4] = ["wake to run", "p50", "p90", "p99"];

/// A line that the program prints.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Line {
    p50: f64,
    p90: f64,
    p99: f64,
}

/// Runs the program's benches in interleaved rounds; prints the medians over the rounds.
pub(super) fn run(ws: &Workspace, args: &BenchArgs) -> Result<()> {
    let built = programs::build_targets(ws, vec![programs::LATENCY.to_owned()])?;
    let [program] = &built[..] else {
        anyhow::bail!("the latency program is one program, not {}", built.len());
    };
    let rows = rows::select(rows::group(listed(program)?)?, &args.selection())?;
    let samples = if args.quick { SAMPLES.1 } else { SAMPLES.0 };
    let rounds = usize::from(args.rounds());
    let mut found: BTreeMap<String, Vec<Line>> = BTreeMap::new();
    let progress = Progress::new("bench latency", rounds * rows.len());
    for round in 1..=rounds {
        for row in &rows {
            progress.at(&format!("round {round} of {rounds}: {}", row.name));
            for entry in &row.entries {
                let id = entry.id.clone();
                let line = measure(program, &id, samples)?;
                found.entry(id).or_default().push(line);
            }
            progress.step();
        }
    }
    progress.finish();
    let line = |entry: &Entry| {
        let id = entry.id.clone();
        let of = |part: fn(&Line) -> f64| {
            let mut lines: Vec<f64> = found[&id].iter().map(part).collect();
            Cell::Nanoseconds(median(&mut lines))
        };
        let figures = [of(|l| l.p50), of(|l| l.p90), of(|l| l.p99)];
        [Cell::Text(id.clone())]
            .into_iter()
            .chain(figures)
            .collect()
    };
    let entries = rows.iter().flat_map(|row: &Row| &row.entries);
    let sheet = Sheet {
        origin: origin(ws),
        title: "Latency".to_owned(),
        note: format!(
            "From a wake to the woken task's poll: medians over {rounds} rounds of {samples} wakes each."
        ),
        header: HEADER.map(str::to_owned).into(),
        rows: entries.map(line).collect(),
    };
    println!("{}", sheet.terminal());
    if let Some(path) = &args.json {
        sheet.write(path)?;
    }
    Ok(())
}

fn listed(program: &Program) -> Result<Vec<(String, Program)>> {
    let mut command = std::process::Command::new(&program.path);
    command.arg("--ids");
    let ended = child::run(&mut command, LIMIT, |_, _| {})?;
    ensure!(
        ended.succeeded(),
        "`{} --ids` failed: {}{}",
        program.path.display(),
        ended.how(LIMIT),
        ended.tail(TAIL)
    );
    let pair = |id: &str| (id.to_owned(), program.clone());
    Ok(ended.stdout.lines().map(pair).collect())
}

fn measure(program: &Program, id: &str, samples: usize) -> Result<Line> {
    let mut command = std::process::Command::new(&program.path);
    command.args(["--id", id, "--samples", &samples.to_string()]);
    let ended = child::run(&mut command, LIMIT, |_, _| {})?;
    ensure!(
        ended.succeeded(),
        "`{id}` failed: {}; to see it alone: `{} --id {id} --samples {samples}`{}",
        ended.how(LIMIT),
        program.path.display(),
        ended.tail(TAIL)
    );
    serde_json::from_str(ended.stdout.trim())
        .with_context(|| format!("`{id}` printed something else: {}", ended.stdout.trim()))
}
