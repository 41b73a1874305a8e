//! Runs of the bench program, and reading what it prints.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::measure::criterion::Program;
use crate::measure::runs::Run;
use crate::process::printed;
use xtask_stats::median;

/// A run takes well below a second; this is for hangs.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// What a row is run for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    /// Part of the mean, and gated.
    Counted,
    /// Gated only.
    Gated,
    /// Gated only; the program knows an ideal, which is a contender.
    Mixed,
    /// Reported only.
    Control,
    /// Reported only, and only where long rows are asked for.
    Long,
}

/// A row of the program's list.
#[derive(Deserialize)]
pub(super) struct Row {
    #[serde(rename = "row")]
    pub(super) id: String,
    pub(super) kind: Kind,
    /// Threads of the pool.
    pub(super) threads: usize,
    /// Why it is not counted.
    pub(super) why: String,
}

/// How long a run is: samples, and milliseconds of each.
#[derive(Clone, Copy)]
pub(super) struct Length {
    pub(super) samples: u64,
    pub(super) millis: u64,
}

#[derive(Deserialize)]
struct Sample {
    wall_ns: f64,
    cpu_ns: f64,
}

/// The table of rows.
pub(super) fn list(program: &Program) -> Result<Vec<Row>> {
    lines(program, &["--list"], None)
}

/// Runs a row once; its CPU time is the mean of the run's samples.
pub(super) fn run(program: &Program, row: &str, length: Length) -> Result<Run> {
    let samples = length.samples.to_string();
    let millis = length.millis.to_string();
    let args = ["--row", row, "--samples", &samples, "--sample-ms", &millis];
    evaluated(row, &lines(program, &args, None)?)
}

/// Has a program measure the ideal of a row.
pub(super) fn ideal(program: &Program, row: &str) -> Result<Run> {
    evaluated(row, &lines(program, &["--row", row, "--ideal"], None)?)
}

fn evaluated(row: &str, samples: &[Sample]) -> Result<Run> {
    ensure!(!samples.is_empty(), "{row} printed no sample");
    let mut walls: Vec<_> = samples.iter().map(|s| s.wall_ns).collect();
    Ok(Run {
        cpu: Some(samples.iter().map(|s| s.cpu_ns).sum::<f64>() / samples.len() as f64),
        ..Run::of(median(&mut walls))
    })
}

/// Runs the program, with a library preloaded or without, and reads the JSON lines it prints.
pub(super) fn lines<T: DeserializeOwned>(
    program: &Program,
    args: &[&str],
    preload: Option<&Path>,
) -> Result<Vec<T>> {
    let mut command = program.command();
    command.args(args);
    command.envs(preload.map(|library| ("LD_PRELOAD", library)));
    let text = printed(command, TIME_LIMIT)?;
    let lines = text.lines().map(serde_json::from_str);
    let lines: serde_json::Result<_> = lines.collect();
    lines.with_context(|| format!("{} on {} printed\n{text}", program.name, program.side))
}
