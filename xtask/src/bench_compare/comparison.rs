//! From the runs to the result that is reported.

use std::collections::BTreeSet;

use super::args::BenchCompareArgs;
use super::plan::Plan;
use super::verdict::judge;
use crate::measure::id;
use crate::measure::rounds::{Failed, LEAST_ROUNDS, series};
use crate::measure::runs::{Kind, Run, Runs};
use crate::report::model::{Bench, LayerMean, Metric, MetricResult, Outcome, Verdict};
use xtask_stats::{mean_of_medians, median};

/// What was run, and how it went.
pub(super) struct Measured<'a> {
    pub(super) args: &'a BenchCompareArgs,
    pub(super) plan: &'a Plan,
    pub(super) runs: &'a Runs,
    pub(super) failed: &'a [Failed],
    pub(super) cores: usize,
}

impl Measured<'_> {
    /// The benches of both sides, with their figures and verdicts.
    pub(super) fn benches(&self) -> Vec<Bench> {
        let both = self.plan.both.iter();
        both.map(|(id, same)| self.bench(id, *same)).collect()
    }

    fn bench(&self, id: &str, identical: bool) -> Bench {
        let identical = identical && !self.args.aa;
        let failed = self.failed.iter().any(|f| f.id == id);
        let rounds = match self.args.budget {
            Some(_) => self.runs.last_round(id),
            None => self.args.rounds,
        };
        let metrics = self.args.metrics().into_iter();
        let measured = metrics.filter(|_| !identical && !failed);
        Bench {
            layer: id::layer(id).to_owned(),
            threads: id::threads(id),
            gated: id::is_gated(id, self.cores),
            identical,
            results: measured
                .filter_map(|metric| judged(self.args, self.runs, id, metric, rounds))
                .collect(),
            id: id.to_owned(),
        }
    }

    /// How the command ends with these benches.
    pub(super) fn outcome(&self, benches: &[Bench]) -> Outcome {
        let (args, plan) = (self.args, self.plan);
        let gated = benches.iter().filter(|bench| bench.gated);
        let results = gated.flat_map(|bench| &bench.results);
        let counted = results.filter(|result| args.fails_on(result.metric));
        let any = |verdict| counted.clone().any(|r| r.judgement.verdict == verdict);
        if !self.failed.is_empty() {
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
}

/// What a reader of the figures has to know.
pub(super) fn warnings(metrics: &[Metric], benches: &[Bench]) -> Vec<String> {
    let mut warnings = Vec::new();
    let lacks_cpu =
        |b: &&Bench| b.result(Metric::Wall).is_some() && b.result(Metric::Cpu).is_none();
    let without = benches.iter().filter(lacks_cpu).count();
    if metrics.contains(&Metric::Cpu) && without > 0 {
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
    warnings
}

/// Whether a metric of times has no verdict after that many rounds.
pub(super) fn is_undecided(args: &BenchCompareArgs, runs: &Runs, id: &str, rounds: u32) -> bool {
    let metrics = args.metrics().into_iter();
    let times = metrics.filter(|metric| *metric != Metric::Instr);
    let mut results = times.filter_map(|metric| judged(args, runs, id, metric, rounds));
    results.any(|result| result.judgement.verdict == Verdict::Unstable)
}

/// What the first rounds say, if they are enough.
fn judged(
    args: &BenchCompareArgs,
    runs: &Runs,
    id: &str,
    metric: Metric,
    rounds: u32,
) -> Option<MetricResult> {
    let wall = |run: Run| Some(run.value);
    // A process that slept through the samples has no ratio.
    let cpu = |run: Run| run.cpu.filter(|cpu| *cpu > 0.0);
    let sides = (0, 1);
    let (mut series, least) = match metric {
        Metric::Wall => (
            series(runs, id, Kind::Time, rounds, sides, wall),
            LEAST_ROUNDS,
        ),
        Metric::Cpu => (
            series(runs, id, Kind::Time, rounds, sides, cpu),
            LEAST_ROUNDS,
        ),
        Metric::Instr => (series(runs, id, Kind::Instructions, 1, sides, wall), 1),
    };
    let rounds = series.ratios();
    (rounds.len() >= least).then(|| MetricResult {
        metric,
        base: median(&mut series.base),
        head: median(&mut series.head),
        judgement: judge(&rounds, &series.aa, args.threshold(metric)),
        rounds,
        aa_rounds: series.aa,
    })
}

/// The means of the gated benches of each layer.
pub(super) fn layers(benches: &[Bench], metrics: &[Metric]) -> Vec<LayerMean> {
    let names: BTreeSet<&str> = benches.iter().map(|b| b.layer.as_str()).collect();
    let mut means = Vec::new();
    for layer in names {
        let gated = benches.iter().filter(|b| b.layer == layer && b.gated);
        for &metric in metrics {
            let results = gated.clone().filter_map(|b| b.result(metric));
            let rows: Vec<Vec<f64>> = results.map(|result| result.rounds.clone()).collect();
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
