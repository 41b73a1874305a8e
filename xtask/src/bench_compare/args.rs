//! The command line.

use std::collections::HashSet;
use std::path::PathBuf;

use clap::Args;

use super::plan::Selection;
use crate::report::model::Metric;

/// The change that counts, in percent: of times, and of instruction counts, which hardly vary.
const THRESHOLD: f64 = 5.0;
const INSTRUCTIONS_THRESHOLD: f64 = 1.0;

/// Options of `cargo xtask bench-compare`.
#[derive(Args, Clone)]
#[command(after_help = "\
Exit codes: 0 no regression, 1 a regression, 2 wrong arguments or a problem of git or files, 3 a side does not build \
or a bench fails, 4 too noisy (with --strict), 5 benches on one side only (with --require-all), 130 interrupted \
(--resume goes on).")]
pub(crate) struct BenchCompareArgs {
    /// The commit, branch or tag to compare with
    #[arg(required_unless_present = "self_test")]
    base: Option<String>,
    /// What is compared; left out: the working tree as it is, untracked files too
    #[arg(conflicts_with = "aa")]
    pub(super) head: Option<String>,
    #[command(flatten)]
    pub(super) selection: Selection,
    /// Rounds; each runs every bench twice a side; with --quick 6 by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(3..))]
    #[arg(default_value = "10", default_value_if("quick", "true", "6"))]
    pub(super) rounds: u32,
    /// Then go on with the benches that have no verdict yet, until this many minutes were measured in all
    #[arg(long, value_name = "MINUTES", value_parser = positive)]
    pub(super) budget: Option<f64>,
    /// How long one run measures, in milliseconds; with --quick 40 by default
    #[arg(long = "time", value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    #[arg(default_value = "100", default_value_if("quick", "true", "40"))]
    pub(super) time_ms: u64,
    /// Fewer and shorter rounds: a first look
    #[arg(long)]
    quick: bool,
    /// The least change that counts, in percent [default: 5, instructions 1]
    #[arg(long, value_name = "PERCENT", value_parser = positive)]
    threshold: Option<f64>,
    /// What is compared
    #[arg(
        long = "metric",
        value_name = "METRIC",
        value_delimiter = ',',
        default_value = "wall,cpu"
    )]
    metrics: Vec<Metric>,
    /// Of which metrics a regression fails the command [default: all that are compared]
    #[arg(long, value_name = "METRIC", value_delimiter = ',')]
    fail_on: Vec<Metric>,
    /// Compare BASE with itself: what is found is noise
    #[arg(long)]
    pub(super) aa: bool,
    /// A further argument for `cargo bench` of BASE, `--features=x` for instance; may be given again
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    pub(super) base_arg: Vec<String>,
    /// The same for HEAD
    #[arg(
        long,
        value_name = "ARG",
        allow_hyphen_values = true,
        conflicts_with = "aa"
    )]
    pub(super) head_arg: Vec<String>,
    /// Where runs and reports go [default: bench-compare/report in the target directory]
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Fail if a bench is too noisy to say
    #[arg(long)]
    pub(super) strict: bool,
    /// Fail if a bench is on one side only
    #[arg(long)]
    pub(super) require_all: bool,
    /// Go on where an interrupted comparison of the same stopped; with more --rounds, extend it
    #[arg(long)]
    pub(super) resume: bool,
    /// Instead of comparing, prove the command on a small repository with real benches
    #[arg(long, exclusive = true)]
    pub(super) self_test: bool,
}

impl BenchCompareArgs {
    /// What is compared with.
    pub(super) fn base(&self) -> &str {
        self.base
            .as_deref()
            .expect("only --self-test goes without BASE")
    }

    /// What is compared, each once.
    pub(super) fn metrics(&self) -> Vec<Metric> {
        let mut metrics = self.metrics.clone();
        let mut seen = HashSet::new();
        metrics.retain(|metric| seen.insert(*metric));
        metrics
    }

    /// Whether a regression of the metric fails the command.
    pub(super) fn fails_on(&self, metric: Metric) -> bool {
        self.fail_on.is_empty() || self.fail_on.contains(&metric)
    }

    /// The least change that counts, as a fraction.
    pub(super) fn threshold(&self, metric: Metric) -> f64 {
        let usual = match metric {
            Metric::Wall | Metric::Cpu => THRESHOLD,
            Metric::Instr => INSTRUCTIONS_THRESHOLD,
        };
        self.threshold.unwrap_or(usual) / 100.0
    }
}

fn positive(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').parse().ok();
    let number = number.filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| "a positive number of minutes or percent is needed, such as 5".to_owned())
}
