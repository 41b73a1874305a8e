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

/// The benches of both sides, with their figures and verdicts.
pub(super) fn benches(
    args: &BenchCompareArgs,
    plan: &Plan,
    runs: &Runs,
    failed: &[Failed],
    cores: usize,
) -> Vec<Bench> {
    let mut benches = Vec::new();
    for (id, is_same) in &plan.both {
        let identical = *is_same && !args.aa;
        let is_measured = !identical && failed.iter().all(|failed| failed.id != *id);
        let rounds = match args.budget {
            Some(_) => runs.last_round(id),
            None => args.rounds,
        };
        let metrics = args.metrics().into_iter().filter(|_| is_measured);
        benches.push(Bench {
            id: id.clone(),
            layer: id::layer(id).to_owned(),
            threads: id::threads(id),
            gated: id::is_gated(id, cores),
            identical,
            results: metrics
                .filter_map(|metric| judged(args, runs, id, metric, rounds))
                .collect(),
        });
    }
    benches
}

/// How the command ends with these benches.
pub(super) fn outcome(
    args: &BenchCompareArgs,
    plan: &Plan,
    failed: &[Failed],
    benches: &[Bench],
) -> Outcome {
    let gated = benches.iter().filter(|bench| bench.gated);
    let results = gated.flat_map(|bench| &bench.results);
    let counted = results.filter(|result| args.fails_on(result.metric));
    let any = |verdict| counted.clone().any(|r| r.judgement.verdict == verdict);
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
    let (kind, rounds, least) = match metric {
        Metric::Wall | Metric::Cpu => (Kind::Time, rounds, LEAST_ROUNDS),
        Metric::Instr => (Kind::Instructions, 1, 1),
    };
    let figure = |run: Run| match metric {
        Metric::Wall | Metric::Instr => Some(run.value),
        // A process that slept through the samples has no ratio.
        Metric::Cpu => run.cpu.filter(|cpu| *cpu > 0.0),
    };
    let mut series = series(runs, id, kind, rounds, (0, 1), figure);
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
