//! What a comparison says, in sentences that all reports share.

use super::model::{Bench, Comparison, MetricResult, Outcome, Verdict};
use super::units::{change, counted, first, percent, span};

/// Ids that a sentence names.
const NAMED: usize = 5;

/// What is said of a bench on the whole; a verdict only if it counts.
fn word(bench: &Bench) -> String {
    match worst(bench) {
        None if bench.identical => "identical".to_owned(),
        None => "not measured".to_owned(),
        _ if !bench.gated => "not counted".to_owned(),
        Some(verdict) => verdict.to_string(),
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

/// The first few ids.
fn some<'i>(ids: impl Iterator<Item = &'i str>) -> String {
    first(&ids.collect::<Vec<_>>(), NAMED)
}

/// The verdict that weighs most; none for a bench without results.
pub(super) fn worst(bench: &Bench) -> Option<Verdict> {
    if bench.results.is_empty() {
        return None;
    }
    use Verdict::{Faster, Same, Slower, Unstable};
    let found = [Slower, Unstable, Faster]
        .into_iter()
        .find(|v| bench.has(*v));
    Some(found.unwrap_or(Same))
}

/// The verdicts of a bench's metrics: the first one's, and of the others what they found.
pub(super) fn verdicts(bench: &Bench) -> String {
    let Some((lead, others)) = bench.results.split_first() else {
        let word = if bench.identical {
            "identical"
        } else {
            "not measured"
        };
        return word.to_owned();
    };
    let found =
        |r: &&MetricResult| matches!(r.judgement.verdict, Verdict::Slower | Verdict::Faster);
    let others = others.iter().filter(found);
    let others = others.map(|r| format!(", {} {}", r.metric.short(), r.judgement.verdict));
    lead.judgement.verdict.to_string() + &others.collect::<String>()
}

/// The gated benches that are slower in a metric that counts, the worst first, each with the metric
/// that says it loudest.
pub(super) fn regressions(comparison: &Comparison) -> Vec<(&Bench, &MetricResult)> {
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

/// The outcome in one sentence.
pub(super) fn headline(comparison: &Comparison) -> String {
    let all = &comparison.benches;
    let benches = counted(all.len(), "bench", "benches");
    let tally = format!("{benches} compared ({})", tally(all));
    let unstable = all.iter().filter(|bench| word(bench) == "unstable");
    match comparison.outcome {
        Outcome::Pass if all.is_empty() => {
            "Nothing was compared: no bench is on both sides.".to_owned()
        }
        Outcome::Pass if all.iter().all(|bench| bench.identical) => {
            format!("No change: both sides have the same executables ({benches}).")
        }
        Outcome::Pass => format!("No regression that fails: {tally}."),
        Outcome::Regression => {
            let found = regressions(comparison);
            let worst = found.first().map(|(bench, worst)| {
                let change = change(worst.judgement.ratio.value);
                format!("{} {change} in {}", bench.id, worst.metric.name())
            });
            let worst = worst.unwrap_or_default();
            format!("{} slower, the worst is {worst}; {tally}.", found.len())
        }
        Outcome::Failed => {
            let failed = some(comparison.failed.iter().map(|f| f.id.as_str()));
            format!("Not measured: {failed}; {tally}.")
        }
        Outcome::TooNoisy => {
            let unstable = some(unstable.map(|bench| bench.id.as_str()));
            format!("It was too noisy to say: {unstable}; {tally}.")
        }
        Outcome::Missing => {
            let missing = comparison.added.iter().chain(&comparison.removed);
            let missing = some(missing.map(String::as_str));
            format!("On one side only: {missing}; {tally}.")
        }
    }
}

/// What to do next, in one sentence.
pub(super) fn next_step(comparison: &Comparison) -> String {
    let rounds = comparison.settings.rounds;
    match comparison.outcome {
        Outcome::Failed => match comparison.failed.first() {
            Some(failure) => format!(
                "run it alone: `cargo bench -p benches -- --exact {}`; `--resume` runs only what is missing.",
                quoted(&failure.id)
            ),
            None => "see the messages above.".to_owned(),
        },
        Outcome::Missing => {
            "give both sides the same benches, or leave out `--require-all`.".to_owned()
        }
        Outcome::Regression if comparison.settings.aa => {
            "the same code was flagged: measure on a quieter machine, with more rounds or a \
             higher `--threshold`."
                .to_owned()
        }
        Outcome::Regression => {
            let found = regressions(comparison);
            let id = found.first().map(|(bench, _)| bench.id.as_str());
            format!("look closer: `{}`.", again(comparison, id, rounds * 2))
        }
        Outcome::TooNoisy => format!(
            "measure again on a quieter machine: `{}`.",
            again(comparison, None, rounds * 2)
        ),
        Outcome::Pass if comparison.benches.is_empty() => {
            "check `--layer` and `--filter`, and that both sides have benches.".to_owned()
        }
        Outcome::Pass => {
            let mut gated = comparison.benches.iter().filter(|b| b.gated);
            match gated.find(|b| worst(b) == Some(Verdict::Unstable)) {
                Some(bench) => format!(
                    "what is unstable has no verdict yet: `{}`.",
                    again(comparison, Some(&bench.id), rounds * 2)
                ),
                None => "report.md is ready for the pull request.".to_owned(),
            }
        }
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
        span(comparison.seconds)
    )
}

/// The command that measures this again.
pub(super) fn again(comparison: &Comparison, id: Option<&str>, rounds: usize) -> String {
    let mut command = format!(
        "cargo xtask bench-compare {}",
        quoted(&comparison.base.name)
    );
    if comparison.head.name != super::model::WORKING_TREE {
        command += &format!(" {}", quoted(&comparison.head.name));
    }
    if let Some(id) = id {
        let pattern = format!("^{}$", regex_lite::escape(id));
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

#[cfg(test)]
mod tests {
    use super::{again, headline, next_step, quoted, regressions, tally};
    use crate::report::model::{Metric, Outcome};
    use crate::report::sample;

    #[test]
    fn words_of_a_shell_stay_one_word() {
        assert_eq!(quoted("origin/main~2"), "origin/main~2");
        assert_eq!(quoted("it's $x"), r"'it'\''s $x'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn the_worst_regression_leads() {
        let comparison = sample::comparison(42);
        let found = regressions(&comparison);
        let ratios: Vec<f64> = found.iter().map(|(_, r)| r.judgement.ratio.value).collect();
        assert!(found.len() > 1 && ratios.is_sorted_by(|a, b| a >= b));
        assert!(headline(&comparison).contains(&found[0].0.id));
        assert!(next_step(&comparison).contains("--rounds 30"));
        assert!(found.iter().all(|(bench, _)| bench.gated));
    }

    #[test]
    fn slower_in_a_metric_that_does_not_fail_is_no_regression() {
        let mut comparison = sample::comparison(42);
        comparison.settings.fail_on = vec![Metric::Instr];
        comparison.outcome = Outcome::Pass;
        assert!(regressions(&comparison).is_empty());
        assert!(headline(&comparison).starts_with("No regression that fails: "));
    }

    #[test]
    fn every_bench_is_tallied_once() {
        let mut comparison = sample::comparison(300);
        comparison.benches[0].results.clear();
        let words = tally(&comparison.benches);
        let amounts = words.split(", ").filter_map(|part| part.split_once(' '));
        let amounts = amounts.map(|(amount, _)| amount.parse::<usize>().expect("a number"));
        assert_eq!(amounts.sum::<usize>(), 300, "{words}");
    }

    #[test]
    fn the_working_tree_is_no_argument() {
        let mut comparison = sample::comparison(1);
        let command = again(&comparison, None, 5);
        assert_eq!(command, "cargo xtask bench-compare main --rounds 5");
        comparison.head.name = "topic".to_owned();
        assert!(again(&comparison, None, 5).contains(" main topic "));
    }

    #[test]
    fn every_outcome_has_its_words() {
        let mut comparison = sample::extreme();
        let outcomes = [
            (Outcome::Failed, "Not measured: fork/panics", "cargo bench"),
            (Outcome::TooNoisy, "too noisy to say: ", "--rounds"),
            (Outcome::Missing, " and 36 more", "--require-all"),
        ];
        for (outcome, said, next) in outcomes {
            comparison.outcome = outcome;
            assert!(headline(&comparison).contains(said));
            assert!(next_step(&comparison).contains(next));
        }
    }
}
