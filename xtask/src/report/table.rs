//! The table for a terminal.

use std::io::IsTerminal;

use comfy_table::{Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, Table, Width};

use super::model::{Bench, Comparison, Metric, MetricResult, Verdict};
use super::units::{NONE, counted, estimate, percent, ratio, values};
use super::words::{Tally, effort, headline, next_step, short, verdicts, worst};

/// No line is longer, counted in characters; ids and messages are broken.
const WIDTH: u16 = 100;
/// Of the columns after the id.
const VALUE: u16 = 10;
const RATIO: u16 = 21;
const FLOOR: u16 = 8;
const OTHER: u16 = 8;
const VERDICT: u16 = 12;

/// The table with what goes before and after it; in colour on a terminal unless `NO_COLOR` is set.
pub(crate) fn table(comparison: &Comparison) -> String {
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    text(comparison, wanted && std::io::stdout().is_terminal())
}

pub(super) fn text(comparison: &Comparison, colour: bool) -> String {
    let mut out = vec![sides(comparison)];
    for layer in layers(&comparison.benches) {
        let benches: Vec<_> = comparison
            .benches
            .iter()
            .filter(|bench| bench.layer == layer && !bench.identical)
            .collect();
        out.push(heading(comparison, layer));
        if !benches.is_empty() {
            out.push(block(comparison, &benches, colour));
        }
    }
    let notes = notes(comparison);
    if !notes.is_empty() {
        out.push(notes.join("\n"));
    }
    out.push(format!(
        "{}\n{}",
        wrapped(&headline(comparison)),
        wrapped(&format!("Next: {}", next_step(comparison)))
    ));
    out.join("\n\n") + "\n"
}

/// The layers in the order of their first bench.
pub(super) fn layers(benches: &[Bench]) -> Vec<&str> {
    let mut layers: Vec<&str> = Vec::new();
    for bench in benches {
        if !layers.contains(&bench.layer.as_str()) {
            layers.push(&bench.layer);
        }
    }
    layers
}

fn sides(comparison: &Comparison) -> String {
    let side = |word: &str, side: &super::model::Side| {
        let changed = if side.dirty { ", with changes" } else { "" };
        let commit: String = side.commit.chars().take(12).collect();
        wrapped(&format!("{word}  {} ({commit}{changed})", side.name))
    };
    format!(
        "{}\n{}\n{}",
        side("BASE", &comparison.base),
        side("HEAD", &comparison.head),
        wrapped(&effort(comparison))
    )
}

fn heading(comparison: &Comparison, layer: &str) -> String {
    let of_layer = |bench: &&Bench| bench.layer == layer;
    let benches = comparison.benches.iter().filter(of_layer);
    let identical = benches.filter(|bench| bench.identical).count();
    let mut parts: Vec<String> = comparison
        .layers
        .iter()
        .filter(|mean| mean.layer == layer)
        .map(|mean| {
            format!(
                "{} {} over {}",
                short(mean.metric),
                estimate(&mean.mean),
                mean.benches
            )
        })
        .collect();
    if !parts.is_empty() {
        parts[0].insert_str(0, "geometric mean ");
    }
    if identical > 0 {
        parts.push(format!("{identical} identical"));
    }
    let parts = if parts.is_empty() {
        String::new()
    } else {
        format!(": {}", parts.join(", "))
    };
    wrapped(&format!("{layer}{parts}"))
}

fn block(comparison: &Comparison, benches: &[&Bench], colour: bool) -> String {
    let (lead, others) = match comparison.settings.metrics.split_first() {
        Some((lead, others)) => (*lead, others),
        None => (Metric::Wall, &[][..]),
    };
    let mut table = Table::new();
    table
        .load_preset(comfy_table::presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH);
    if colour {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    let mut header = vec!["bench".to_owned(), "base".into(), "head".into()];
    header.extend([format!("{} head/base", short(lead)), "floor".into()]);
    header.extend(others.iter().map(|metric| short(*metric).to_owned()));
    header.push("verdict".to_owned());
    table.set_header(header);

    let after = 2 * VALUE + RATIO + FLOOR + OTHER * others.len() as u16 + VERDICT;
    let id_width = WIDTH - after;
    for bench in benches {
        table.add_row(row(bench, lead, others, usize::from(id_width) - 2));
    }
    let mut widths = vec![id_width, VALUE, VALUE, RATIO, FLOOR];
    widths.extend(others.iter().map(|_| OTHER));
    widths.push(VERDICT);
    let last = widths.len() - 1;
    for (index, width) in widths.into_iter().enumerate() {
        if let Some(column) = table.column_mut(index) {
            column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(width)));
            column.set_padding((0, if index == last { 0 } else { 1 }));
            if (1..last).contains(&index) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
    }
    table.trim_fmt()
}

fn row(bench: &Bench, lead: Metric, others: &[Metric], id_width: usize) -> Vec<Cell> {
    let name = bench.id.strip_prefix(&bench.layer).unwrap_or(&bench.id);
    let name = broken(name.trim_start_matches('/'), id_width);
    let mut cells = vec![Cell::new(name)];
    match bench.result(lead) {
        Some(result) => {
            let [base, head] = values(lead, [result.base, result.head]);
            let ratio = estimate(&result.ratio);
            cells.extend([base, head, ratio, percent(result.floor)].map(Cell::new));
        }
        None => cells.extend([NONE; 4].map(Cell::new)),
    }
    for other in others {
        let value = bench.result(*other).map(|r: &MetricResult| r.ratio.value);
        cells.push(Cell::new(ratio(value.unwrap_or(f64::NAN))));
    }
    let words = verdicts(bench).into_iter().map(|(words, _)| {
        if bench.gated {
            words
        } else {
            format!("({words})")
        }
    });
    let word = Cell::new(words.collect::<Vec<_>>().join("\n"));
    let colour = match worst(bench) {
        Some(Verdict::Slower) if bench.gated => Some(Color::Red),
        Some(Verdict::Faster) if bench.gated => Some(Color::Green),
        Some(Verdict::Unstable) => Some(Color::Yellow),
        _ => None,
    };
    cells.push(match colour {
        Some(colour) => word.fg(colour),
        None => word,
    });
    cells
}

/// What the table leaves out.
fn notes(comparison: &Comparison) -> Vec<String> {
    let mut notes = Vec::new();
    let tally = Tally::new(&comparison.benches);
    if tally.ungated > 0 {
        notes.push(format!(
            "(in brackets): {} with more threads than the {} cores here, shown but not counted",
            counted(tally.ungated, "bench", "benches"),
            comparison.machine.cores
        ));
    }
    for (word, ids) in [
        ("added", &comparison.added),
        ("removed", &comparison.removed),
    ] {
        if !ids.is_empty() {
            notes.push(format!("{word}: {}", some(ids)));
        }
    }
    for failure in &comparison.failed {
        notes.push(format!("not measured: {}: {}", failure.id, failure.message));
    }
    if comparison.harness_changed {
        notes.push("the benches' own sources differ between the sides".to_owned());
    }
    notes.extend(comparison.warnings.iter().map(|w| format!("warning: {w}")));
    notes.iter().map(|note| wrapped(note)).collect()
}

/// The first few, and how many more there are.
fn some(ids: &[String]) -> String {
    const SHOWN: usize = 5;
    let first = ids.iter().take(SHOWN).map(String::as_str);
    let mut text = first.collect::<Vec<_>>().join(", ");
    if ids.len() > SHOWN {
        text += &format!(" and {} more", ids.len() - SHOWN);
    }
    text
}

/// Breaks a name after a slash where one is near, else anywhere.
fn broken(name: &str, width: usize) -> String {
    const INDENT: &str = "  ";
    let mut out = String::new();
    let mut left = width;
    for part in printable(name).split_inclusive('/') {
        let length = part.chars().count();
        if left < width - INDENT.len() && length > left {
            left = 0;
        }
        for c in part.chars() {
            if left == 0 {
                out.push('\n');
                out.push_str(INDENT);
                left = width - INDENT.len();
            }
            out.push(c);
            left -= 1;
        }
    }
    out
}

/// Without what moves a terminal's cursor or changes its colours.
fn printable(text: &str) -> String {
    let shown = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    text.chars().map(shown).collect()
}

/// Breaks a sentence between words. A word that is too long, such as a name, keeps a line of its
/// own, and so does a command between backticks: it is to be copied.
fn wrapped(text: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for (index, part) in text.split('`').enumerate() {
        let part = printable(part);
        if index % 2 == 1 {
            words.push(format!("`{part}`"));
            continue;
        }
        let glued = index > 0 && !part.starts_with(char::is_whitespace);
        let mut rest = part.split_whitespace().map(str::to_owned);
        if glued && let (Some(last), Some(first)) = (words.last_mut(), rest.next()) {
            last.push_str(&first);
        }
        words.extend(rest);
    }
    let mut out = String::new();
    let mut length = 0;
    for word in words {
        let word_length = word.chars().count();
        if length > 0 && length + 1 + word_length > usize::from(WIDTH) {
            out.push_str("\n  ");
            length = 2;
        } else if length > 0 {
            out.push(' ');
            length += 1;
        }
        out.push_str(&word);
        length += word_length;
    }
    out
}
