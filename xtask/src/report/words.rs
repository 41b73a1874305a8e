//! What a comparison says, in sentences that all reports share.

use super::model::{Bench, Comparison, Metric, MetricResult, Outcome, Verdict};
use super::units::{change, counted, percent, span};

/// How often a verdict was given to the counted benches, by the worst of each one's metrics.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Tally {
    pub(super) slower: usize,
    pub(super) faster: usize,
    pub(super) unstable: usize,
    pub(super) same: usize,
    pub(super) identical: usize,
    /// Those without a result, such as the failed ones.
    pub(super) unmeasured: usize,
    /// Those that do not count, whatever their verdicts are.
    pub(super) ungated: usize,
}

impl Tally {
    pub(super) fn new(benches: &[Bench]) -> Self {
        let mut tally = Self::default();
        for bench in benches {
            *match worst(bench) {
                None if bench.identical => &mut tally.identical,
                None => &mut tally.unmeasured,
                _ if !bench.gated => &mut tally.ungated,
                Some(Verdict::Slower) => &mut tally.slower,
                Some(Verdict::Unstable) => &mut tally.unstable,
                Some(Verdict::Faster) => &mut tally.faster,
                Some(Verdict::Same) => &mut tally.same,
            } += 1;
        }
        tally
    }

    /// How many there are of each kind.
    pub(super) fn parts(&self) -> [(usize, &'static str); 7] {
        [
            (self.slower, "slower"),
            (self.faster, "faster"),
            (self.unstable, "unstable"),
            (self.same, "same"),
            (self.identical, "identical"),
            (self.unmeasured, "not measured"),
            (self.ungated, "not counted"),
        ]
    }

    /// `2 slower, 1 faster, 38 same`; names what there is.
    pub(super) fn words(&self) -> String {
        let parts = self.parts().into_iter().filter(|(amount, _)| *amount > 0);
        let parts: Vec<_> = parts.map(|(n, word)| format!("{n} {word}")).collect();
        parts.join(", ")
    }
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

/// For each metric that has something to say: `slower`, `CPU slower`, and the ratio if that is why.
pub(super) fn verdicts(bench: &Bench) -> Vec<(String, f64)> {
    let why = |result: &MetricResult| match result.verdict {
        Verdict::Slower | Verdict::Faster => result.ratio.value,
        Verdict::Same | Verdict::Unstable => f64::NAN,
    };
    let Some((lead, others)) = bench.results.split_first() else {
        let word = if bench.identical {
            "identical"
        } else {
            "not measured"
        };
        return vec![(word.to_owned(), f64::NAN)];
    };
    let others = others
        .iter()
        .filter(|r| !matches!(r.verdict, Verdict::Same | Verdict::Unstable))
        .map(|r| (format!("{} {}", short(r.metric), r.verdict), why(r)));
    std::iter::once((lead.verdict.to_string(), why(lead)))
        .chain(others)
        .collect()
}

/// The name of a metric for a narrow place.
pub(super) fn short(metric: Metric) -> &'static str {
    match metric {
        Metric::Wall => "wall",
        Metric::Cpu => "CPU",
        Metric::Instr => "instr",
    }
}

/// The gated benches that are slower in a metric that counts, the worst first, each with the metric
/// that says it loudest.
pub(super) fn regressions(comparison: &Comparison) -> Vec<(&Bench, &MetricResult)> {
    let counts = |result: &&MetricResult| {
        result.verdict == Verdict::Slower && comparison.settings.fail_on.contains(&result.metric)
    };
    let gated = comparison.benches.iter().filter(|bench| bench.gated);
    let mut found: Vec<_> = gated
        .filter_map(|bench| {
            let slower = bench.results.iter().filter(counts);
            let worst = slower.max_by(|a, b| a.ratio.value.total_cmp(&b.ratio.value))?;
            Some((bench, worst))
        })
        .collect();
    found.sort_by(|a, b| b.1.ratio.value.total_cmp(&a.1.ratio.value));
    found
}

/// The outcome in one sentence.
pub(super) fn headline(comparison: &Comparison) -> String {
    let compared = comparison.benches.len();
    let tally = Tally::new(&comparison.benches);
    let benches = counted(compared, "bench", "benches");
    let all = format!("{benches} compared ({})", tally.words());
    match comparison.outcome {
        _ if compared == 0 && comparison.outcome == Outcome::Pass => {
            "Nothing was compared: no bench is on both sides.".to_owned()
        }
        Outcome::Pass if tally.identical == compared => {
            format!("No change: both sides have the same executables ({benches}).")
        }
        Outcome::Pass if tally.slower > 0 => format!("No regression that fails: {all}."),
        Outcome::Pass => format!("No regression: {all}."),
        Outcome::Regression => match regressions(comparison).as_slice() {
            [] => format!("Regression: {all}."),
            found @ [(bench, worst), ..] => format!(
                "Regression in {} of {benches}: {}{} {} in {}.",
                found.len(),
                if found.len() > 1 { "the worst is " } else { "" },
                bench.id,
                change(worst.ratio.value),
                worst.metric.name(),
            ),
        },
        Outcome::Failed => format!(
            "{} could not be measured; {all}.",
            counted(comparison.failed.len(), "bench", "benches")
        ),
        Outcome::TooNoisy => format!("Too noisy for a verdict: {all}."),
        Outcome::Missing => format!(
            "Benches are not the same on both sides: {} added, {} removed; {all}.",
            comparison.added.len(),
            comparison.removed.len()
        ),
        Outcome::Interrupted => format!("Interrupted; until then, {all}."),
    }
}

/// What to do next, in one sentence.
pub(super) fn next_step(comparison: &Comparison) -> String {
    let rounds = comparison.settings.rounds;
    match comparison.outcome {
        Outcome::Interrupted => "the same command with `--resume` continues.".to_owned(),
        Outcome::Failed => match comparison.failed.first() {
            Some(failure) => format!(
                "run it alone: `cargo bench -p benches -- --exact {}`.",
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
        let pattern = format!("^{}$", escaped(id));
        command += &format!(" --filter {}", quoted(&pattern));
    }
    command + &format!(" --rounds {rounds}")
}

/// As a pattern that matches itself; `-`, which every other id has, needs no backslash.
fn escaped(id: &str) -> String {
    let mut out = String::new();
    for c in id.chars() {
        if r"\.+*?()|[]{}^$".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
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
    use super::{Tally, again, escaped, headline, next_step, quoted, regressions};
    use crate::report::model::{Metric, Outcome, Verdict};
    use crate::report::sample;

    #[test]
    fn words_of_a_shell_stay_one_word() {
        assert_eq!(quoted("origin/main~2"), "origin/main~2");
        assert_eq!(quoted("it's $x"), r"'it'\''s $x'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn patterns_match_the_id_alone() {
        for id in ["queue/push-pop/8", "a.b(c)|[d]{e}+*?^$\\", "x<&>"] {
            let pattern = regex_lite::Regex::new(&format!("^{}$", escaped(id)));
            assert!(pattern.expect("a pattern").is_match(id), "{id}");
        }
        let dot = regex_lite::Regex::new(&escaped("a.b")).expect("a pattern");
        assert!(!dot.is_match("axb"));
    }

    #[test]
    fn the_worst_regression_leads() {
        let comparison = sample::comparison(42);
        let found = regressions(&comparison);
        assert!(found.len() > 1);
        let ratios: Vec<f64> = found.iter().map(|(_, r)| r.ratio.value).collect();
        assert!(ratios.is_sorted_by(|a, b| a >= b));
        let sentence = headline(&comparison);
        assert!(sentence.contains(&found[0].0.id), "{sentence}");
        assert!(next_step(&comparison).contains(&escaped(&found[0].0.id)));
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
        let comparison = sample::comparison(300);
        let tally = Tally::new(&comparison.benches);
        let counted = tally.slower + tally.faster + tally.unstable + tally.same;
        assert_eq!(counted + tally.identical + tally.ungated, 300);
        assert_eq!(tally.unmeasured, 0);
        let gated = || comparison.benches.iter().filter(|b| b.gated);
        assert_eq!(counted, gated().filter(|b| !b.identical).count());
        let slower = gated().filter(|b| b.has(Verdict::Slower));
        assert_eq!(tally.slower, slower.count());
        assert!(
            tally
                .words()
                .starts_with(&format!("{} slower, ", tally.slower))
        );
    }

    #[test]
    fn a_bench_without_results_has_no_verdict() {
        let mut comparison = sample::comparison(1);
        comparison.benches[0].results.clear();
        let tally = Tally::new(&comparison.benches);
        assert_eq!((tally.unmeasured, tally.same), (1, 0));
        assert_eq!(tally.words(), "1 not measured");
    }

    #[test]
    fn the_working_tree_is_no_argument() {
        let mut comparison = sample::comparison(1);
        assert_eq!(
            again(&comparison, None, 5),
            "cargo xtask bench-compare main --rounds 5"
        );
        comparison.head.name = "topic".to_owned();
        assert!(again(&comparison, None, 5).contains(" main topic "));
    }

    #[test]
    fn every_outcome_has_its_words() {
        let mut comparison = sample::extreme();
        let outcomes = [
            (Outcome::Failed, "could not be measured", "cargo bench"),
            (Outcome::TooNoisy, "Too noisy", "--rounds"),
            (Outcome::Missing, "1 added, 40 removed", "--require-all"),
            (Outcome::Interrupted, "Interrupted", "--resume"),
        ];
        for (outcome, said, next) in outcomes {
            comparison.outcome = outcome;
            assert!(headline(&comparison).contains(said));
            assert!(next_step(&comparison).contains(next));
        }
    }
}
