//! Runs of the bench program, and reading what it prints.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::Side;
use crate::measure::criterion::Run;
use crate::process::run_limited;
use xtask_stats::median;

/// A run takes well below a second; this is for hangs.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// What a row is run for.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
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
#[derive(Clone, Deserialize, Serialize)]
pub(super) struct Row {
    #[serde(rename = "row")]
    pub(super) id: String,
    pub(super) kind: Kind,
    /// Threads of the pool.
    pub(super) threads: usize,
    /// Why it is not counted.
    pub(super) why: String,
}

/// How long a run is.
#[derive(Clone, Copy)]
pub(super) struct Length {
    pub(super) samples: usize,
    pub(super) sample: Duration,
}

#[derive(Deserialize)]
struct Sample {
    wall_ns: f64,
    cpu_ns: f64,
}

/// The table of rows.
pub(super) fn list(side: &Side) -> Result<Vec<Row>> {
    lines(side, &["--list"], None)
}

/// Runs a row once; its CPU time is the mean of the run's samples.
pub(super) fn run(side: &Side, row: &str, length: Length) -> Result<Run> {
    let samples: Vec<Sample> = lines(
        side,
        &[
            "--row",
            row,
            "--samples",
            &length.samples.to_string(),
            "--sample-ms",
            &length.sample.as_millis().to_string(),
        ],
        None,
    )?;
    evaluated(row, &samples)
}

/// Has a side measure the ideal of a row.
pub(super) fn ideal(side: &Side, row: &str) -> Result<Run> {
    evaluated(row, &lines(side, &["--row", row, "--ideal"], None)?)
}

fn evaluated(row: &str, samples: &[Sample]) -> Result<Run> {
    ensure!(!samples.is_empty(), "{row} printed no sample");
    let mut walls: Vec<_> = samples.iter().map(|s| s.wall_ns).collect();
    Ok(Run {
        wall: median(&mut walls),
        cpu: Some(samples.iter().map(|s| s.cpu_ns).sum::<f64>() / samples.len() as f64),
    })
}

/// Runs the program, with a library preloaded or without, and reads the JSON lines it prints.
pub(super) fn lines<T: for<'a> Deserialize<'a>>(
    side: &Side,
    args: &[&str],
    preload: Option<&Path>,
) -> Result<Vec<T>> {
    let mut command = Command::new(&side.program);
    command.args(args);
    if let Some(library) = preload {
        command.env("LD_PRELOAD", library);
    }
    let shown = format!(
        "{} `{} {}`",
        side.name,
        side.program.display(),
        args.join(" ")
    );
    let finished = run_limited(command, TIME_LIMIT)?;
    finished.passed().with_context(|| shown.clone())?;
    finished
        .output
        .lines()
        .map(|line| serde_json::from_str(line).with_context(|| format!("{shown} printed {line}")))
        .collect()
}
