//! Reports on a terminal.

use comfy_table::{CellAlignment, Color};

use super::document::{Cell, Document, Part, Table, printable};
use super::model::Verdict;
use super::units::first;

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

/// Parts in their order, but for lists of words. Tables are as wide as they need.
pub(crate) fn parts(parts: &[Part], colour: bool) -> String {
    let is_shown = |part: &&Part| match part {
        Part::List { items, .. } => matches!(items.first(), Some((Cell::Name(_), _))),
        _ => true,
    };
    let texts = parts.iter().filter(is_shown).map(|part| match part {
        Part::Text(text) => printable(text),
        Part::Warning(text) => format!("warning: {}", printable(text)),
        Part::Table(table) => block(table, colour),
        Part::List { title, items } => printable(&format!("{title}: {}", some(items))),
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
fn some(items: &[(Cell, String)]) -> String {
    let names: Vec<&str> = items.iter().map(|(name, _)| name.text()).collect();
    let said = items.iter().filter(|(_, said)| !said.is_empty());
    let said = said.map(|(name, said)| format!("\n{}: {said}", name.text()));
    first(&names, SHOWN) + &said.collect::<String>()
}
