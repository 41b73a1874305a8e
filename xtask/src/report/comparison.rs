//! What a comparison of two trees says: the parts of its reports.

use super::document::{Cell, Document, Part, Row, Table};
use super::model::{Bench, Comparison, Judgement, Metric, Outcome, Side, Verdict};
use super::units::{NONE, change, counted, estimate, percent, ratio, unique, values};
use super::words::{effort, lead, verdicts, worst};

const HARNESS: &str =
    "The benches' own sources differ between the sides: a ratio may be the harness's doing.";

/// The report.
pub(super) fn document(comparison: &Comparison) -> Document {
    let benches = &comparison.benches;
    let harness = comparison.harness_changed.then(|| HARNESS.to_owned());
    let warnings = harness.iter().chain(&comparison.warnings).cloned();
    let mut parts = vec![Part::Text(effort(comparison))];
    parts.extend(warnings.map(Part::Warning));
    let failed = comparison.failed.iter();
    let failed = failed.map(|f| (f.id.clone(), f.message.clone()));
    parts.extend(list("could not be measured", failed));

    let weight = |bench: &&Bench| match worst(bench) {
        Some(Verdict::Slower) => 0,
        Some(Verdict::Faster) => 1,
        Some(Verdict::Unstable) => 2,
        _ => 3,
    };
    let mut changed: Vec<&Bench> = benches.iter().filter(|b| weight(b) < 3).collect();
    changed.sort_by_key(weight);
    parts.extend(rows(comparison, "Changes", &changed));
    parts.extend(means(comparison));
    for layer in unique(benches.iter().map(|bench| bench.layer.as_str())) {
        let timed = benches.iter().filter(|b| b.layer == layer && !b.identical);
        let timed: Vec<&Bench> = timed.collect();
        let title = format!("{layer}: {}", counted(timed.len(), "bench", "benches"));
        parts.extend(rows(comparison, &title, &timed));
    }
    let identical = benches.iter().filter(|b| b.identical);
    let identical: Vec<String> = identical.map(|b| b.id.clone()).collect();
    for (what, list) in [
        ("with identical executables, not timed", &identical),
        ("only in HEAD (added)", &comparison.added),
        ("only in BASE (removed)", &comparison.removed),
    ] {
        parts.extend(self::list(
            what,
            list.iter().map(|id| (id.clone(), String::new())),
        ));
    }
    let conditions = conditions(comparison).into_iter();
    parts.push(Part::List {
        title: "Conditions".to_owned(),
        items: conditions
            .map(|(name, value)| (Cell::Word(name.to_owned()), value))
            .collect(),
    });
    let (base, head) = (&comparison.base.name, &comparison.head.name);
    Document {
        title: format!("Benches: `{base}` → `{head}`"),
        tone: tone(comparison),
        lead: lead(comparison),
        parts,
    }
}

fn tone(comparison: &Comparison) -> Verdict {
    match comparison.outcome {
        Outcome::Pass => Verdict::Same,
        Outcome::Regression | Outcome::Failed => Verdict::Slower,
        Outcome::TooNoisy | Outcome::Missing => Verdict::Unstable,
    }
}

/// Benches, if there are any, and what is said of each.
fn list(what: &str, benches: impl Iterator<Item = (String, String)>) -> Option<Part> {
    let items: Vec<_> = benches.map(|(id, said)| (Cell::Name(id), said)).collect();
    let title = format!("{} {what}", counted(items.len(), "bench", "benches"));
    (!items.is_empty()).then_some(Part::List { title, items })
}

/// The benches with the first metric's figures, and the ratios of the others.
fn rows(comparison: &Comparison, title: &str, benches: &[&Bench]) -> Option<Part> {
    let (lead, others) = comparison.settings.metrics.split_first()?;
    benches.first()?;
    let first = format!("{} head/base", lead.name());
    let mut header = vec!["bench", "base", "head", &first, "A/A floor"];
    header.extend(others.iter().map(|metric| metric.name()));
    header.push("verdict");
    let mut table = Table::new(title, &header);
    table.folded = title != "Changes";
    table.rows = benches.iter().map(|b| row(b, *lead, others)).collect();
    if benches.iter().any(|bench| !bench.gated) {
        let cores = counted(comparison.machine.cores, "core", "cores");
        table.note =
            format!("(In brackets): more threads than the {cores} here, shown but not counted.");
    }
    Some(Part::Table(table))
}

fn row(bench: &Bench, lead: Metric, others: &[Metric]) -> Row {
    let figure = |text: &str| Cell::Figure(text.to_owned());
    let mut cells = vec![Cell::Name(bench.id.clone())];
    match bench.result(lead) {
        Some(result) => {
            cells.extend(values(lead, [result.base, result.head]).map(Cell::Figure));
            let Judgement { ratio, floor, .. } = &result.judgement;
            cells.extend([estimate(ratio), percent(*floor)].map(Cell::Figure));
        }
        None => cells.extend([NONE; 4].map(figure)),
    }
    for other in others {
        let value = bench.result(*other).map(|r| r.judgement.ratio.value);
        cells.push(Cell::Figure(value.map_or(NONE.to_owned(), ratio)));
    }
    let words = verdicts(bench);
    cells.push(if bench.gated {
        Cell::Verdict(words, worst(bench))
    } else {
        Cell::Verdict(format!("({words})"), None)
    });
    Row {
        cells,
        plot: bench.results.iter().map(|r| r.judgement).collect(),
    }
}

fn means(comparison: &Comparison) -> Option<Part> {
    let header = ["layer", "metric", "benches", "head/base", "change"];
    let mut table = Table::new("Geometric means", &header);
    for mean in &comparison.layers {
        table.add(vec![
            Cell::Word(mean.layer.clone()),
            Cell::Word(mean.metric.name().to_owned()),
            Cell::Figure(mean.benches.to_string()),
            Cell::Figure(estimate(&mean.mean)),
            Cell::Figure(change(mean.mean.value)),
        ]);
    }
    (!table.rows.is_empty()).then_some(Part::Table(table))
}

/// How it was measured.
fn conditions(comparison: &Comparison) -> Vec<(&'static str, String)> {
    let (settings, machine) = (&comparison.settings, &comparison.machine);
    let side = |side: &Side| {
        let dirty = if side.dirty {
            ", with changes in no commit"
        } else {
            ""
        };
        format!("{} ({}{dirty})", side.name, side.commit)
    };
    let (run, warm_up) = (settings.time_ms, settings.warm_up_ms);
    vec![
        ("command", format!("`{}`", comparison.command)),
        ("BASE", side(&comparison.base)),
        ("HEAD", side(&comparison.head)),
        ("finished", comparison.created.clone()),
        ("a run", format!("{run} ms after {warm_up} ms of warm-up")),
        ("processor", machine.cpu.clone()),
        ("cores", machine.cores.to_string()),
        ("load before", machine.load()),
        ("a wake", machine.wake()),
        ("system", machine.os.clone()),
        ("compiler", machine.rustc.clone()),
    ]
}
