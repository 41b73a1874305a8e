//! `report.md`: for a pull request on GitHub.

use super::conditions;
use super::escape::{code, plain, table};
use super::model::{Bench, Comparison, Verdict};
use super::units::{NONE, change, counted, estimate, percent, ratio, values};
use super::words::{again, headline, next_step, short, verdicts, worst};

/// GitHub takes 65,536 characters in a comment; what is beyond this budget is left to the other
/// reports, and said so.
const BUDGET: usize = 60_000;

/// The whole text.
pub(crate) fn markdown(comparison: &Comparison) -> String {
    let mut parts = vec![format!(
        "## {} Benches: {}\n\n{}\n\nNext: {}",
        mark(comparison),
        title(comparison),
        plain(&headline(comparison)),
        commands(&next_step(comparison))
    )];
    if comparison.harness_changed {
        parts.push("> The benches' own sources differ between the sides: a ratio may be the harness's doing.".to_owned());
    }
    parts.extend(
        comparison
            .warnings
            .iter()
            .map(|w| format!("> {}", plain(w))),
    );
    if !comparison.failed.is_empty() {
        let lines = comparison.failed.iter();
        let lines = lines.map(|f| format!("- {}: {}", code(&f.id), plain(&f.message)));
        parts.push(format!("### Could not be measured\n\n{}", limited(lines)));
    }
    let changed = |bench: &&Bench| worst(bench).is_some_and(|v| v != Verdict::Same);
    let mut changes: Vec<&Bench> = comparison.benches.iter().filter(changed).collect();
    changes.sort_by_key(|bench| match worst(bench) {
        Some(Verdict::Slower) => 0,
        Some(Verdict::Faster) => 1,
        _ => 2,
    });
    if !changes.is_empty() {
        parts.push(format!("### Changes\n\n{}", rows(comparison, &changes)));
    }
    if !comparison.layers.is_empty() {
        parts.push(format!("### Geometric means\n\n{}", means(comparison)));
    }
    let timed: Vec<&Bench> = comparison.benches.iter().filter(|b| !b.identical).collect();
    if !timed.is_empty() {
        let what = format!(
            "All {} that were timed",
            counted(timed.len(), "bench", "benches")
        );
        parts.push(details(&what, &rows(comparison, &timed)));
    }
    let identical = comparison.benches.iter().filter(|b| b.identical);
    let identical: Vec<&str> = identical.map(|b| b.id.as_str()).collect();
    let lists = [
        ("with identical executables", identical),
        (
            "only in HEAD (added)",
            comparison.added.iter().map(String::as_str).collect(),
        ),
        (
            "only in BASE (removed)",
            comparison.removed.iter().map(String::as_str).collect(),
        ),
    ];
    for (what, ids) in lists {
        if !ids.is_empty() {
            let summary = format!("{} {what}", counted(ids.len(), "bench", "benches"));
            let lines = ids.iter().map(|id| format!("- {}", code(id)));
            parts.push(details(&summary, &limited(lines)));
        }
    }
    parts.push(details("Conditions", &conditions(comparison)));
    parts.join("\n\n") + "\n"
}

fn mark(comparison: &Comparison) -> &'static str {
    use super::model::Outcome;
    match comparison.outcome {
        Outcome::Pass if comparison.benches.is_empty() => "🟡",
        Outcome::Pass => "🟢",
        Outcome::Regression | Outcome::Failed => "🔴",
        Outcome::TooNoisy | Outcome::Missing | Outcome::Interrupted => "🟡",
    }
}

fn title(comparison: &Comparison) -> String {
    format!(
        "{} → {}",
        code(&comparison.base.name),
        code(&comparison.head.name)
    )
}

/// Text in which what stands between backticks stays a command.
fn commands(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let parts = parts.map(|(index, part)| {
        if index % 2 == 1 {
            code(part)
        } else {
            plain(part)
        }
    });
    parts.collect()
}

fn details(summary: &str, content: &str) -> String {
    format!("<details><summary>{summary}</summary>\n\n{content}\n\n</details>")
}

fn means(comparison: &Comparison) -> String {
    let rows = comparison.layers.iter().map(|mean| {
        vec![
            plain(&mean.layer),
            mean.metric.name().to_owned(),
            mean.benches.to_string(),
            estimate(&mean.mean),
            change(mean.mean.value),
        ]
    });
    table(&["layer", "metric", "benches", "head/base", "change"], rows)
}

fn rows(comparison: &Comparison, benches: &[&Bench]) -> String {
    let Some((lead, others)) = comparison.settings.metrics.split_first() else {
        return "Nothing was measured.".to_owned();
    };
    let mut header = vec!["bench", "base", "head"];
    let ratio_name = format!("{} head/base", short(*lead));
    header.extend([ratio_name.as_str(), "A/A floor"]);
    header.extend(others.iter().map(|metric| short(*metric)));
    header.push("verdict");
    let row = |bench: &Bench| {
        let mut row = vec![code(&bench.id)];
        match bench.result(*lead) {
            Some(result) => {
                row.extend(values(*lead, [result.base, result.head]));
                row.extend([estimate(&result.ratio), percent(result.floor)]);
            }
            None => row.extend([NONE; 4].map(str::to_owned)),
        }
        for other in others {
            let value = bench.result(*other).map(|r| r.ratio.value);
            row.push(ratio(value.unwrap_or(f64::NAN)));
        }
        let words: Vec<String> = verdicts(bench)
            .into_iter()
            .map(|(words, _)| words)
            .collect();
        let words = words.join(", ");
        row.push(match worst(bench) {
            _ if !bench.gated => format!("({words})"),
            Some(Verdict::Slower | Verdict::Faster) => format!("**{words}**"),
            _ => words,
        });
        row
    };
    // Twice at most: the changes, and all.
    let mut left = BUDGET / 3;
    let mut shown = Vec::new();
    for bench in benches {
        let row = row(bench);
        let length: usize = row.iter().map(|cell| cell.chars().count() + 3).sum();
        if length > left {
            break;
        }
        left -= length;
        shown.push(row);
    }
    let missing = benches.len() - shown.len();
    let mut text = table(&header, shown);
    if missing > 0 {
        text += &format!(
            "\n\n{} more, which do not fit into a comment, are in report.html.",
            counted(missing, "bench", "benches")
        );
    }
    if benches.iter().any(|bench| !bench.gated) {
        text += &format!(
            "\n\n(In brackets): more threads than the {} here, shown but not counted.",
            counted(comparison.machine.cores, "core", "cores")
        );
    }
    text
}

/// Lines up to a share of the budget.
fn limited(lines: impl ExactSizeIterator<Item = String>) -> String {
    let total = lines.len();
    let mut left = BUDGET / 20;
    let shown: Vec<String> = lines
        .take_while(|line| {
            let length = line.chars().count() + 1;
            let fits = length <= left;
            left = left.saturating_sub(length);
            fits
        })
        .collect();
    let missing = total - shown.len();
    let mut text = shown.join("\n");
    if missing > 0 {
        text += &format!("\n- … and {missing} more");
    }
    text
}

fn conditions(comparison: &Comparison) -> String {
    let again = again(comparison, None, comparison.settings.rounds);
    let lines = conditions::conditions(comparison).into_iter();
    let lines = lines.map(|(name, value)| format!("- {name}: {}", plain(&value)));
    let lines = lines.chain([format!("- again: {}", code(&again))]);
    lines.collect::<Vec<_>>().join("\n")
}
