//! What a comparison says, in sentences that all reports share.

use std::time::Duration;

use indicatif::FormattedDuration;

use super::model::{Bench, Comparison, MetricResult, Outcome, Verdict, WORKING_TREE};
use super::units::{change, counted, first, percent};

/// Ids that a sentence names.
const NAMED: usize = 5;

/// What is said of a bench on the whole; a verdict only if it counts.
fn word(bench: &Bench) -> String {
    match worst(bench) {
        None => unmeasured(bench).to_owned(),
        _ if !bench.gated => "not counted".to_owned(),
        Some(verdict) => verdict.to_string(),
    }
}

/// Why a bench has no results.
fn unmeasured(bench: &Bench) -> &'static str {
    if bench.identical {
        "identical"
    } else {
        "not measured"
    }
}

/// `2 slower, 1 faster, 38 same`: how many benches there are of each kind.
fn tally(benches: &[Bench]) -> String {
    let kinds = [
        "slower",
        "faster",
        "unstable",
        "same",
        "identical",
        "not measured",
        "not counted",
    ];
    let amount = |kind: &str| benches.iter().filter(|b| word(b) == kind).count();
    let parts = kinds.map(|kind| (amount(kind), kind)).into_iter();
    let parts = parts.filter(|(amount, _)| *amount > 0);
    let parts = parts.map(|(amount, kind)| format!("{amount} {kind}"));
    parts.collect::<Vec<_>>().join(", ")
}

/// The verdict that weighs most; none for a bench without results.
pub(super) fn worst(bench: &Bench) -> Option<Verdict> {
    use Verdict::{Faster, Same, Slower, Unstable};
    let has = |verdict| bench.results.iter().any(|r| r.judgement.verdict == verdict);
    [Slower, Unstable, Faster, Same]
        .into_iter()
        .find(|v| has(*v))
}

/// The verdicts of a bench's metrics: the first one's, and of the others what they found.
pub(super) fn verdicts(bench: &Bench) -> String {
    let Some((lead, others)) = bench.results.split_first() else {
        return unmeasured(bench).to_owned();
    };
    let found =
        |r: &&MetricResult| matches!(r.judgement.verdict, Verdict::Slower | Verdict::Faster);
    let others = others.iter().filter(found);
    let others = others.map(|r| format!(", {} {}", r.metric.name(), r.judgement.verdict));
    lead.judgement.verdict.to_string() + &others.collect::<String>()
}

/// The gated benches that are slower in a metric that counts, the worst first, each with the metric
/// that says it loudest.
fn regressions(comparison: &Comparison) -> Vec<(&Bench, &MetricResult)> {
    let counts = |result: &&MetricResult| {
        result.judgement.verdict == Verdict::Slower
            && comparison.settings.fail_on.contains(&result.metric)
    };
    let ratio = |result: &MetricResult| result.judgement.ratio.value;
    let gated = comparison.benches.iter().filter(|bench| bench.gated);
    let mut found: Vec<_> = gated
        .filter_map(|bench| {
            let slower = bench.results.iter().filter(counts);
            let worst = slower.max_by(|a, b| ratio(a).total_cmp(&ratio(b)))?;
            Some((bench, worst))
        })
        .collect();
    found.sort_by(|a, b| ratio(b.1).total_cmp(&ratio(a.1)));
    found
}

/// The conclusion, and what to do next.
pub(super) fn lead(comparison: &Comparison) -> [String; 2] {
    let next = next_step(comparison);
    [headline(comparison), format!("Next: {next}")]
}

/// The outcome in one sentence.
fn headline(comparison: &Comparison) -> String {
    let all = &comparison.benches;
    let benches = counted(all.len(), "bench", "benches");
    let some = |ids: Vec<&String>| first(&ids, NAMED);
    let said = match comparison.outcome {
        Outcome::Pass if all.iter().all(|bench| bench.identical) => {
            return format!("No change: both sides have the same executables ({benches}).");
        }
        Outcome::Pass => "No regression that fails: ".to_owned(),
        Outcome::Regression => {
            let found = regressions(comparison);
            let worst = found.first().map(|(bench, worst)| {
                let change = change(worst.judgement.ratio.value);
                format!("{} {change} in {}", bench.id, worst.metric.name())
            });
            let worst = worst.unwrap_or_default();
            format!("{} slower, the worst is {worst}; ", found.len())
        }
        Outcome::Failed => {
            let failed = comparison.failed.iter().map(|f| &f.id).collect();
            format!("Not measured: {}; ", some(failed))
        }
        Outcome::TooNoisy => {
            let unstable = all.iter().filter(|bench| word(bench) == "unstable");
            let unstable = unstable.map(|bench| &bench.id).collect();
            format!("It was too noisy to say: {}; ", some(unstable))
        }
        Outcome::Missing => {
            let missing = comparison.added.iter().chain(&comparison.removed);
            format!("On one side only: {}; ", some(missing.collect()))
        }
    };
    format!("{said}{benches} compared ({}).", tally(all))
}

/// What to do next, in one sentence.
fn next_step(comparison: &Comparison) -> String {
    let again = |id: Option<&Bench>| again(comparison, id, comparison.settings.rounds * 2);
    let mut gated = comparison.benches.iter().filter(|b| b.gated);
    match comparison.outcome {
        Outcome::Failed => format!(
            "run it alone: `cargo bench -p benches -- --exact {}`; `--resume` runs only what is missing.",
            quoted(&comparison.failed[0].id)
        ),
        Outcome::Missing => {
            "give both sides the same benches, or leave out `--require-all`.".to_owned()
        }
        Outcome::Regression if comparison.settings.aa => {
            "the same code was flagged: measure on a quieter machine, with more rounds or a \
             higher `--threshold`."
                .to_owned()
        }
        Outcome::Regression => {
            let worst = regressions(comparison).first().map(|(bench, _)| *bench);
            format!("look closer: `{}`.", again(worst))
        }
        Outcome::TooNoisy => format!("measure again on a quieter machine: `{}`.", again(None)),
        Outcome::Pass => match gated.find(|b| worst(b) == Some(Verdict::Unstable)) {
            Some(bench) => format!(
                "what is unstable has no verdict yet: `{}`.",
                again(Some(bench))
            ),
            None => "report.md is ready for the pull request.".to_owned(),
        },
    }
}

/// How much was measured, and how long that took.
pub(super) fn effort(comparison: &Comparison) -> String {
    let settings = &comparison.settings;
    let rounds = counted(settings.rounds, "round", "rounds");
    let resumed = if comparison.resumed { ", resumed" } else { "" };
    let control = if settings.aa {
        ", BASE against itself"
    } else {
        ""
    };
    let more = match settings.budget_minutes {
        Some(budget) => format!(" and more without a verdict, for {budget} min in all,"),
        None => String::new(),
    };
    format!(
        "{rounds}{more} of {} ms a run, at least {} counts{control}; took {}{resumed}",
        settings.time_ms,
        percent(settings.threshold),
        FormattedDuration(Duration::from_secs_f64(comparison.seconds))
    )
}

/// The command that measures this, or one bench of it, again.
fn again(comparison: &Comparison, bench: Option<&Bench>, rounds: usize) -> String {
    let mut command = format!(
        "cargo xtask bench-compare {}",
        quoted(&comparison.base.name)
    );
    if comparison.head.name != WORKING_TREE {
        command += &format!(" {}", quoted(&comparison.head.name));
    }
    if let Some(bench) = bench {
        let pattern = format!("^{}$", regex_lite::escape(&bench.id));
        command += &format!(" --filter {}", quoted(&pattern));
    }
    command + &format!(" --rounds {rounds}")
}

/// As one word of a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@+~^".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
