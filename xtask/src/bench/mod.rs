//! `cargo xtask bench`: our layers beside the projects one would use in their place.
//!
//! Every row runs ours and each peer in interleaved rounds; what is compared is a round's ratio, so that a machine that
//! is slow for a while is slow for both. benches/README.md says how rows are named.

mod abreast;
pub(crate) mod contenders;
mod instr;
mod latency;
pub(crate) mod programs;
pub(crate) mod results;
mod rows;
mod smoke;

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::measure::child;
use crate::measure::criterion::Length;
use crate::measure::machine::origin;
use crate::measure::rounds::{Effort, measure_all};
use crate::measure::runs::{Kind, Runs};
use crate::report::peers::BenchResults;
use crate::workspace::Workspace;

use rows::Selection;

#[derive(Args)]
pub(crate) struct BenchArgs {
    #[command(flatten)]
    selection: Selection,
    /// Rounds; a ratio is the median over them
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Milliseconds that each run measures; every contender has two runs a round
    #[arg(long, value_name = "MS", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..))]
    time: u64,
    /// Fail if a gated row's interval lies wholly above this ratio of ours to a peer
    #[arg(long, value_name = "RATIO")]
    gate: Option<f64>,
    /// Write what was measured, for `cargo xtask bench-page`
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// With forte as one more peer of fork-join: builds with a rustc of 1.96 or later, which this looks for
    #[arg(long, conflicts_with_all = ["latency"])]
    forte: bool,
    /// What to count
    #[arg(long, value_enum, default_value = "time")]
    metric: Kind,
    /// A line for each contender of a row, with its CPU time, instead of pairs of contenders
    #[arg(long, conflicts_with_all = ["latency", "metric", "smoke"])]
    abreast: bool,
    /// Percentiles of the time from a wake to the woken task's poll, instead of the rows
    #[arg(long, conflicts_with_all = ["gate", "metric"])]
    latency: bool,
    /// Run every row of every program once, as short as can be: does it work?
    #[arg(long, conflicts_with_all = ["gate", "json", "metric", "latency", "rounds", "time"])]
    smoke: bool,
}

/// Runs what is asked for.
pub(crate) fn run(ws: &Workspace, args: &BenchArgs) -> Result<()> {
    if args.smoke {
        return smoke::run(ws, args);
    }
    child::catch_interrupts()?;
    if args.latency {
        return latency::run(ws, args);
    }
    match args.metric {
        Kind::Time => time(ws, args),
        Kind::Instructions => instr::run(ws, args),
    }
}

fn time(ws: &Workspace, args: &BenchArgs) -> Result<()> {
    let programs = programs::build_timed(ws, args)?;
    let mut rows = rows::select(rows::group(programs::list(&programs)?)?, &args.selection)?;
    let home = tempfile::tempdir_in(&ws.target)
        .context("cannot make a temporary directory in the target directory")?;
    let effort = Effort::new("bench", Kind::Time, args.rounds.into());
    let (origin, mut runs) = (origin(ws), Runs::default());
    let length = Length::of_millis(args.time);
    let lost = abreast::Lost::default();
    let failed = measure_all(effort, &rows, &mut runs, |row, at| {
        let entry = &row.entries[at];
        let run = || entry.program.run(&entry.id, length, home.path());
        match args.abreast {
            true => lost.unless(&entry.id, run),
            false => run(),
        }
    })?;
    let all = rows.len();
    rows.retain(|row| failed.iter().all(|f| f.id != row.name));
    let pairs = results::pairs(&rows, &runs, Kind::Time, origin.machine.cores);
    let results = BenchResults {
        origin,
        rounds: args.rounds.into(),
        warm_up_ms: length.warm_up_ms,
        time_ms: length.time_ms,
        means: results::means(&pairs),
        rows: pairs,
    };
    if args.abreast {
        let origin = results.origin.clone();
        let sheet = abreast::sheet(origin, &rows, &runs, &lost, args.rounds, length);
        sheet.conclude(args.json.as_ref())?;
    } else {
        let note = "more threads than the machine has cores: in no mean, not gated";
        results.conclude(note, args.json.as_ref())?;
        results::print_alone(&rows, &runs, Kind::Time);
    }
    let failed = failed.iter().map(|f| format!("{}: {}", f.id, f.message));
    let failed: Vec<_> = failed.collect();
    ensure!(
        failed.is_empty(),
        "{} of {all} rows could not be measured:\n{}",
        failed.len(),
        failed.join("\n")
    );
    results::check(&results.rows, args.gate)
}
