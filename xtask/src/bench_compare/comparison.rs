//! From the runs to the result that is reported.

use std::collections::BTreeSet;

use super::args::BenchCompareArgs;
use super::plan::Plan;
use super::sides::Side;
use super::verdict::judge;
use crate::measure::criterion::Length;
use crate::measure::id;
use crate::measure::machine::now;
use crate::measure::rounds::{Failed, LEAST_ROUNDS, Series, series};
use crate::measure::runs::{Found, Kind, Runs};
use crate::report::model::{
    self, Bench, Comparison, LayerMean, Machine, Metric, MetricResult, Outcome, SCHEMA, Settings,
    Verdict,
};
use xtask_stats::{mean_of_medians, median};

/// The places of BASE and HEAD in a row.
const SIDES: (usize, usize) = (0, 1);

/// All that a comparison is made of.
pub(super) struct Parts<'a> {
    pub(super) args: &'a BenchCompareArgs,
    pub(super) base: &'a Side,
    pub(super) head: &'a Side,
    pub(super) plan: &'a Plan,
    pub(super) runs: &'a Runs,
    pub(super) failed: Vec<Failed>,
    pub(super) length: Length,
    pub(super) machine: Machine,
    pub(super) harness_changed: bool,
    pub(super) warnings: Vec<String>,
}

impl Parts<'_> {
    /// Computes the figures, the verdicts and the outcome.
    pub(super) fn compare(self) -> Comparison {
        let args = self.args;
        let both = self.plan.both.iter();
        let benches: Vec<Bench> = both.map(|(id, same)| self.bench(id, *same)).collect();
        let outcome = outcome(args, &benches, self.plan, &self.failed);
        let mut warnings = self.warnings;
        let lacks_cpu =
            |b: &&Bench| b.result(Metric::Wall).is_some() && b.result(Metric::Cpu).is_none();
        let without = benches.iter().filter(lacks_cpu).count();
        if args.metrics().contains(&Metric::Cpu) && without > 0 {
            warnings.push(format!(
                "{without} benches have no CPU time: the machine was too busy to take it, or has no such clock"
            ));
        }
        let many = benches.iter().filter(|b| !b.gated).count();
        if many > 0 {
            warnings.push(format!(
                "{many} benches have more threads than the machine has cores: they are shown, and fail nothing"
            ));
        }
        Comparison {
            schema: SCHEMA,
            created: now(),
            seconds: self.runs.seconds(),
            resumed: self.runs.resumed > 0,
            base: side(self.base),
            head: side(self.head),
            machine: self.machine,
            settings: Settings {
                rounds: args.rounds() as usize,
                budget_minutes: args.budget,
                warm_up_ms: self.length.warm_up_ms,
                time_ms: self.length.time_ms,
                threshold: args.threshold(args.metrics()[0]),
                metrics: args.metrics(),
                fail_on: args
                    .metrics()
                    .into_iter()
                    .filter(|metric| args.fails_on(*metric))
                    .collect(),
                aa: args.aa,
                strict: args.strict,
                require_all: args.require_all,
                filter: args
                    .selection
                    .filter
                    .as_ref()
                    .map(|f| f.as_str().to_owned()),
                layers: args.selection.layers.clone(),
            },
            harness_changed: self.harness_changed,
            layers: layers(&benches, &args.metrics()),
            benches,
            added: self.plan.added.clone(),
            removed: self.plan.removed.clone(),
            failed: self.failed,
            warnings,
            outcome,
        }
    }

    fn bench(&self, id: &str, identical: bool) -> Bench {
        let threads = id::threads(id);
        let identical = identical && !self.args.aa;
        let failed = self.failed.iter().any(|f| f.id == id);
        let metrics = self.args.metrics();
        let measured = !identical && !failed;
        let rounds = match self.args.budget {
            Some(_) => self.runs.last_round(id),
            None => self.args.rounds(),
        };
        let results = metrics.into_iter().filter(|_| measured);
        Bench {
            layer: id::layer(id).to_owned(),
            threads,
            gated: id::is_gated(id, self.machine.cores),
            identical,
            results: results
                .filter_map(|m| judged(self.args, self.runs, id, m, rounds))
                .collect(),
            id: id.to_owned(),
        }
    }
}

/// Whether a metric of times has no verdict after that many rounds.
pub(super) fn is_undecided(args: &BenchCompareArgs, runs: &Runs, id: &str, rounds: u32) -> bool {
    let metrics = args.metrics().into_iter();
    let mut times = metrics.filter(|metric| *metric != Metric::Instr);
    times.any(|metric| {
        let result = judged(args, runs, id, metric, rounds);
        result.is_some_and(|result| result.judgement.verdict == Verdict::Unstable)
    })
}

/// What the first rounds say, if they are enough.
fn judged(
    args: &BenchCompareArgs,
    runs: &Runs,
    id: &str,
    metric: Metric,
    rounds: u32,
) -> Option<MetricResult> {
    let time = |value: fn(Found) -> Option<f64>| series(runs, id, Kind::Time, rounds, SIDES, value);
    let series = match metric {
        Metric::Wall => time(|f| Some(f.value)),
        // A process that slept through the samples has no ratio.
        Metric::Cpu => time(|f| f.cpu.filter(|cpu| *cpu > 0.0)),
        Metric::Instr => series(runs, id, Kind::Instructions, 1, SIDES, |f| Some(f.value)),
    };
    let least = match metric {
        Metric::Wall | Metric::Cpu => LEAST_ROUNDS,
        Metric::Instr => 1,
    };
    let enough = series.aa.len() >= least;
    enough.then(|| result(metric, series, args.threshold(metric)))
}

fn result(metric: Metric, mut series: Series, threshold: f64) -> MetricResult {
    let rounds = series.ratios();
    MetricResult {
        metric,
        base: median(&mut series.base),
        head: median(&mut series.head),
        judgement: judge(&rounds, &series.aa, threshold),
        rounds,
        aa_rounds: series.aa,
    }
}

fn layers(benches: &[Bench], metrics: &[Metric]) -> Vec<LayerMean> {
    let names: BTreeSet<&str> = benches.iter().map(|b| b.layer.as_str()).collect();
    let mut means = Vec::new();
    for layer in names {
        for &metric in metrics {
            let rows: Vec<Vec<f64>> = benches
                .iter()
                .filter(|b| b.layer == layer && b.gated)
                .filter_map(|b| b.result(metric))
                .map(|result| result.rounds.clone())
                .collect();
            if !rows.is_empty() {
                means.push(LayerMean {
                    layer: layer.to_owned(),
                    metric,
                    mean: mean_of_medians(&rows),
                    benches: rows.len(),
                });
            }
        }
    }
    means
}

/// Whether the bench has the verdict in a metric that can fail the command.
fn counts(args: &BenchCompareArgs, bench: &Bench, verdict: Verdict) -> bool {
    let counts = |r: &MetricResult| r.judgement.verdict == verdict && args.fails_on(r.metric);
    bench.gated && bench.results.iter().any(counts)
}

fn outcome(args: &BenchCompareArgs, benches: &[Bench], plan: &Plan, failed: &[Failed]) -> Outcome {
    let any = |verdict| benches.iter().any(|b| counts(args, b, verdict));
    if !failed.is_empty() {
        Outcome::Failed
    } else if any(Verdict::Slower) {
        Outcome::Regression
    } else if args.require_all && !(plan.added.is_empty() && plan.removed.is_empty()) {
        Outcome::Missing
    } else if args.strict && any(Verdict::Unstable) {
        Outcome::TooNoisy
    } else {
        Outcome::Pass
    }
}

fn side(side: &Side) -> model::Side {
    model::Side {
        name: side.revision.name.clone(),
        commit: side.revision.commit.clone(),
        dirty: side.revision.dirty,
        args: side.args.clone(),
    }
}
