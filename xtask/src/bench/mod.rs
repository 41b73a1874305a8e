//! `cargo xtask bench`: our layers beside the projects one would use in their place.
//!
//! Every row runs ours and each peer in interleaved rounds; what is compared is a round's ratio, so that a machine that
//! is slow for a while is slow for both. benches/README.md says how rows are named.

mod contenders;
mod instr;
mod latency;
mod programs;
pub(crate) mod results;
pub(crate) mod rounds;
pub(crate) mod rows;
mod smoke;
pub(crate) mod table;

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};
use regex_lite::Regex;

use crate::measure::child;
use crate::measure::criterion::Length;
use crate::report;
use crate::workspace::Workspace;

use rows::Selection;

/// Rounds and milliseconds a run, by default and with `--quick`.
const FULL: (usize, u64) = (9, 200);
const QUICK: (usize, u64) = (3, 50);

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Counted {
    /// Time by the clock, and of the processors
    Time,
    /// Instructions under callgrind, of the benches called instr_*
    Instr,
}

/// Options of `cargo xtask bench`.
#[derive(Args)]
pub(crate) struct BenchArgs {
    /// Only this layer; may be repeated
    #[arg(long = "layer", value_name = "LAYER")]
    layers: Vec<String>,
    /// Only rows of which an id, or its parts layer/workload/param, match this pattern
    #[arg(long, value_name = "REGEX")]
    filter: Option<Regex>,
    /// Only against this peer; may be repeated
    #[arg(long = "peer", value_name = "CONTENDER")]
    peers: Vec<String>,
    /// Only this contender of ours; may be repeated
    #[arg(long = "ours", value_name = "CONTENDER")]
    ours: Vec<String>,
    /// Rounds; a ratio is the median over them [default: 9]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    rounds: Option<u16>,
    /// Milliseconds that each run measures; every contender has two runs a round [default: 200]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    time: Option<u64>,
    /// Few and short rounds: to look at, not to quote
    #[arg(long)]
    quick: bool,
    /// Fail if a gated row's interval lies wholly above this ratio of ours to a peer
    #[arg(long, value_name = "RATIO")]
    gate: Option<f64>,
    /// Write what was measured, for `cargo xtask bench-page`
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// What to count
    #[arg(long, value_enum, default_value = "time")]
    metric: Counted,
    /// Percentiles of the time from a wake to the woken task's poll, instead of the rows
    #[arg(long, conflicts_with_all = ["gate", "metric"])]
    latency: bool,
    /// Run every row of every program once, as short as can be: does it work?
    #[arg(long, conflicts_with_all = ["gate", "json", "metric", "latency", "rounds", "time"])]
    smoke: bool,
}

impl BenchArgs {
    fn selection(&self) -> Selection {
        Selection {
            layers: self.layers.clone(),
            filter: self.filter.clone(),
            peers: self.peers.clone(),
            ours: self.ours.clone(),
        }
    }

    fn rounds(&self) -> usize {
        let default = if self.quick { QUICK.0 } else { FULL.0 };
        self.rounds.map_or(default, usize::from)
    }

    fn length(&self) -> Length {
        let default = if self.quick { QUICK.1 } else { FULL.1 };
        Length::of_millis(self.time.unwrap_or(default))
    }
}

/// Runs what is asked for.
pub(crate) fn run(ws: &Workspace, args: &BenchArgs) -> Result<()> {
    let layers = programs::layers(ws)?;
    for layer in &args.layers {
        ensure!(
            layers.contains(layer),
            "there is no layer called `{layer}` in benches/; there are {}",
            layers.join(", ")
        );
    }
    if args.smoke {
        return smoke::run(ws, args);
    }
    child::catch_interrupts()?;
    if args.latency {
        return latency::run(ws, args);
    }
    match args.metric {
        Counted::Time => time(ws, args),
        Counted::Instr => instr::run(ws, args),
    }
}

fn time(ws: &Workspace, args: &BenchArgs) -> Result<()> {
    let programs = programs::build(ws, &args.layers)?;
    let rows = rows::select(rows::group(programs::list(&programs)?)?, &args.selection())?;
    let measured = rounds::run(ws, &rows, args.rounds(), args.length())?;
    let results = results::results(ws, args, &rows, &measured);
    let note = format!(
        "more threads than the machine has cores ({}): in no mean, not gated",
        results.origin.machine.cores
    );
    println!("{}", table::table(&results, &note));
    for alone in results::alone(&rows, &measured) {
        println!("{alone}");
    }
    if let Some(path) = &args.json {
        report::write(path, &(serde_json::to_string_pretty(&results)? + "\n"))?;
        println!("wrote {}", path.display());
    }
    ensure!(
        measured.failed.is_empty(),
        "{} of {} rows could not be measured:\n{}",
        measured.failed.len(),
        rows.len(),
        measured.failed.join("\n")
    );
    args.gate
        .map_or(Ok(()), |gate| results::check(&results.rows, gate))
}
