//! `compare.json`: what one comparison of two trees measured and concluded.
//!
//! The engine fills these types, every renderer reads them, and nothing else passes between the two:
//! a saved file renders to the same report.

use std::fmt;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::units;
pub(crate) use crate::measure::rounds::Failed;
pub(crate) use xtask_stats::Estimate;

/// The form of the files; counts up when a reader of the old form would misread the new one.
pub(crate) const SCHEMA: u32 = 1;
/// [`Side::name`] of what is checked out, committed or not.
pub(crate) const WORKING_TREE: &str = "working tree";

/// One run of `cargo xtask bench-compare`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Comparison {
    pub(crate) schema: u32,
    /// When it was finished: RFC 3339, UTC.
    pub(crate) created: String,
    /// The command line, `cargo xtask …`.
    #[serde(default)]
    pub(crate) command: String,
    /// Wall time of the measuring, in seconds, of all runs if it was resumed.
    pub(crate) seconds: f64,
    /// Whether rounds of an earlier, interrupted run were taken over.
    pub(crate) resumed: bool,
    pub(crate) base: Side,
    pub(crate) head: Side,
    pub(crate) machine: Machine,
    pub(crate) settings: Settings,
    /// Whether the benches' own sources differ: then a ratio may be the harness's doing.
    pub(crate) harness_changed: bool,
    /// What both sides have, in the order of their ids.
    pub(crate) benches: Vec<Bench>,
    /// Ids that HEAD alone has.
    pub(crate) added: Vec<String>,
    /// Ids that BASE alone has.
    pub(crate) removed: Vec<String>,
    /// Benches of both sides that could not be measured.
    #[serde(default)]
    pub(crate) failed: Vec<Failed>,
    /// For each layer and metric with at least one gated bench.
    pub(crate) layers: Vec<LayerMean>,
    /// Sentences for the reader, in order of weight.
    pub(crate) warnings: Vec<String>,
    pub(crate) outcome: Outcome,
}

/// One of the two trees.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Side {
    /// As it was typed, or [`WORKING_TREE`].
    pub(crate) name: String,
    /// The hash of the commit, or of the snapshot.
    pub(crate) commit: String,
    /// Whether there are changes in no commit.
    pub(crate) dirty: bool,
    /// What `--base-arg` or `--head-arg` added to the build.
    pub(crate) args: Vec<String>,
}

/// Where it was measured.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Machine {
    pub(crate) cpu: String,
    /// Hardware threads that this process may use.
    pub(crate) cores: usize,
    pub(crate) os: String,
    /// The first line of `rustc --version`.
    pub(crate) rustc: String,
    /// The load average of one minute when measuring began, where the system has one.
    pub(crate) load_before: Option<f64>,
    /// Microseconds from the wake of a parked thread to its first instruction.
    #[serde(default)]
    pub(crate) wake_us: Option<f64>,
}

impl Machine {
    /// The load in words.
    pub(super) fn load(&self) -> String {
        let load = self.load_before.map(|load| format!("{load:.2}"));
        load.unwrap_or(units::NONE.to_owned())
    }

    /// What a wake costs, in words.
    pub(super) fn wake(&self) -> String {
        let wake = self.wake_us.map(|us| format!("{us:.1} us"));
        wake.unwrap_or(units::NONE.to_owned())
    }
}

/// What was asked for.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Settings {
    pub(crate) rounds: usize,
    /// Of `--budget`: what was undecided after these rounds has more of them.
    #[serde(default)]
    pub(crate) budget_minutes: Option<f64>,
    /// Of each run of a bench, before the measurement.
    pub(crate) warm_up_ms: u64,
    pub(crate) time_ms: u64,
    /// The least change that counts, as a fraction: 0.05 is 5 %.
    pub(crate) threshold: f64,
    /// Not empty; the first one leads in the reports.
    pub(crate) metrics: Vec<Metric>,
    /// The metrics in which slower is a regression.
    pub(crate) fail_on: Vec<Metric>,
    pub(crate) aa: bool,
}

/// What is counted. A time is in nanoseconds, and all are of one iteration.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Metric {
    /// Time by the clock
    Wall,
    /// Time that all threads of the bench spent on processors
    Cpu,
    /// Instructions under callgrind, of the benches called instr_*
    Instr,
}

impl Metric {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Wall => "wall time",
            Self::Cpu => "CPU time",
            Self::Instr => "instructions",
        }
    }
}

/// A bench that both sides have.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Bench {
    pub(crate) id: String,
    pub(crate) layer: String,
    pub(crate) threads: Option<usize>,
    /// False for a bench of more threads than cores: shown, but neither in a mean nor a regression.
    pub(crate) gated: bool,
    /// Whether both sides' executables are byte for byte the same; then nothing was timed.
    pub(crate) identical: bool,
    /// In the order of [`Settings::metrics`]; empty if identical.
    pub(crate) results: Vec<MetricResult>,
}

impl Bench {
    pub(crate) fn result(&self, metric: Metric) -> Option<&MetricResult> {
        self.results.iter().find(|result| result.metric == metric)
    }
}

/// One metric of one bench.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct MetricResult {
    pub(crate) metric: Metric,
    /// Median over the rounds, in the metric's unit.
    pub(crate) base: f64,
    pub(crate) head: f64,
    /// HEAD/BASE of each round.
    pub(crate) rounds: Vec<f64>,
    /// BASE/BASE of each round: the two runs of BASE around those of HEAD.
    pub(crate) aa_rounds: Vec<f64>,
    #[serde(flatten)]
    pub(crate) judgement: Judgement,
}

/// What the rounds of one metric of a bench say.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Judgement {
    /// HEAD/BASE over the rounds, with its confidence interval.
    pub(crate) ratio: Estimate,
    /// What BASE against itself shows as a change, as a fraction.
    pub(crate) floor: f64,
    /// What the interval had to clear, as a fraction: the larger of the floor and
    /// [`Settings::threshold`]. Slower is a low end above `1 + threshold`, faster a high end below
    /// `1 / (1 + threshold)`.
    pub(crate) threshold: f64,
    pub(crate) verdict: Verdict,
}

/// What the interval of a ratio says.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    Same,
    Faster,
    Slower,
    Unstable,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Same => "same",
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Unstable => "unstable",
        })
    }
}

/// The geometric mean of a layer's gated benches.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct LayerMean {
    pub(crate) layer: String,
    pub(crate) metric: Metric,
    pub(crate) mean: Estimate,
    pub(crate) benches: usize,
}

/// How the command ends.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Outcome {
    /// No regression. Exit code 0.
    Pass,
    /// At least one gated bench is slower. Exit code 1.
    Regression,
    /// A bench of a side could not be measured. Exit code 3.
    Failed,
    /// Too many unstable benches, with `--strict`. Exit code 4.
    TooNoisy,
    /// A bench is missing on one side, with `--require-all`. Exit code 5.
    Missing,
}

/// Reads a file of this or an equally versioned form.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<T> {
    #[derive(Deserialize)]
    struct Version {
        schema: u32,
    }
    let shown = path.display();
    let text = fs_err::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
    let version: Version = serde_json::from_str(&text)
        .with_context(|| format!("{shown} is no file of measurements"))?;
    ensure!(
        version.schema == SCHEMA,
        "{shown} has schema {}, this command reads {SCHEMA}: measure again, or use the xtask of its time",
        version.schema
    );
    serde_json::from_str(&text).with_context(|| format!("{shown} does not have the expected form"))
}
