//! Reports on a terminal.

use comfy_table::{CellAlignment, Color};

use super::document::{Cell, Document, Part, Table};
use super::model::Verdict;
use super::units::{counted, first};

/// Ids of a list that are shown.
const SHOWN: usize = 5;

/// The report, with the conclusion at its end.
pub(super) fn document(document: &Document, colour: bool) -> String {
    let parts = parts(&document.parts, colour);
    let (title, lead) = (
        printable(&document.title),
        printable(&document.lead.join("\n")),
    );
    format!("{title}\n\n{parts}\n\n{lead}\n")
}

/// Parts in their order. Tables are as wide as they need.
pub(crate) fn parts(parts: &[Part], colour: bool) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(printable(text)),
        Part::Warning(text) => Some(format!("warning: {}", printable(text))),
        Part::Table(table) => Some(block(table, colour)),
        Part::Ids { what, ids } => Some(printable(&some(what, ids))),
        Part::Facts { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

fn block(table: &Table, colour: bool) -> String {
    let mut drawn = comfy_table::Table::new();
    drawn
        .load_preset(comfy_table::presets::NOTHING)
        .set_header(&table.header);
    if colour {
        drawn.enforce_styling();
    } else {
        drawn.force_no_tty();
    }
    for row in &table.rows {
        drawn.add_row(row.cells.iter().map(cell));
    }
    let mut text = drawn.trim_fmt();
    if !table.title.is_empty() {
        text = format!("{}\n{text}", table.title);
    }
    if !table.note.is_empty() {
        text += &format!("\n{}", table.note);
    }
    text
}

fn cell(cell: &Cell) -> comfy_table::Cell {
    let shown = comfy_table::Cell::new(printable(cell.text()));
    match cell {
        Cell::Name(_) | Cell::Word(_) => shown,
        Cell::Figure(_) => shown.set_alignment(CellAlignment::Right),
        Cell::Verdict(_, Some(Verdict::Slower)) => shown.fg(Color::Red),
        Cell::Verdict(_, Some(Verdict::Faster)) => shown.fg(Color::Green),
        Cell::Verdict(_, Some(Verdict::Unstable)) => shown.fg(Color::Yellow),
        Cell::Verdict(..) => shown,
    }
}

/// The first few, and how many more there are; what is said of one takes a line.
fn some(what: &str, ids: &[(String, String)]) -> String {
    let said = ids.iter().filter(|(_, said)| !said.is_empty());
    let said: String = said.map(|(id, said)| format!("\n{id}: {said}")).collect();
    let names: Vec<&str> = ids.iter().map(|(id, _)| id.as_str()).collect();
    let amount = counted(ids.len(), "bench", "benches");
    format!("{amount} {what}: {}{said}", first(&names, SHOWN))
}

/// Without what moves a terminal's cursor or changes its colours.
fn printable(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' => c,
        c if c.is_control() => '\u{fffd}',
        c => c,
    };
    text.chars().map(shown).collect()
}
