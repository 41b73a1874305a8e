//! `report.html`: one file, without network, readable without scripts, in light and dark.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::document::{Cell, Document, Part, Row, Table, printable, spans};
use super::plot::{Axis, sign};

pub(super) const STYLE: &str = include_str!("page.css");
/// Hidden until the script that serves them runs.
const TOOLS: &str = include_str!("tools.html");
pub(super) const SCRIPT: &str = include_str!("page.js");

/// Lists that are longer are closed at first.
const OPEN: usize = 10;
/// What the drawings mean.
const LEGEND: &str = "A drawing shows the ratio head/base with its interval, of the first metric above the others. The wide band is \
                      the threshold that an interval has to clear, the narrow one the A/A floor: what BASE shows as a change \
                      against itself.";

/// The whole page.
pub(super) fn document(document: &Document) -> String {
    let tables = document.parts.iter().filter_map(|part| match part {
        Part::Table(table) => Some(table),
        _ => None,
    });
    let axis = Axis::of(tables.flat_map(|table| &table.rows));
    let body = html! {
        h1 { (commands(&document.title)) }
        main {
            section aria-label="Outcome" class={ "banner " (document.tone) } {
                span.icon aria-hidden="true" { (sign(document.tone)) }
                div { @for sentence in &document.lead { p { (commands(sentence)) } } }
            }
            (PreEscaped(TOOLS))
            p.note { (LEGEND) }
            @for part in &document.parts { (self::part(part, &axis)) }
        }
        script { (PreEscaped(SCRIPT)) }
    };
    page(&document.title, "", &body)
}

/// A file of its own with this body; `style` comes after that of all pages.
pub(super) fn page(title: &str, style: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) (PreEscaped(style)) }
            }
            body { (body) }
        }
    };
    printable(&page.into_string()) + "\n"
}

/// A part none of whose rows has a drawing.
pub(super) fn undrawn(part: &Part) -> Markup {
    self::part(part, &Axis::of(std::iter::empty()))
}

fn part(part: &Part, axis: &Axis) -> Markup {
    html! {
        @match part {
            Part::Text(text) => p { (commands(text)) },
            Part::Warning(text) => p.warning { (commands(text)) },
            Part::Table(table) => (self::table(table, axis)),
            Part::List { title, items } => details open[items.len() <= OPEN] {
                summary { (title) }
                ul { @for (item, said) in items { li { (label(item)) @if !said.is_empty() { ": " (commands(said)) } } } }
            },
        }
    }
}

/// What may be wider than a phone scrolls alone, also by keyboard.
fn table(table: &Table, axis: &Axis) -> Markup {
    let drawn = table.rows.iter().any(|row| !row.plot.is_empty());
    html! {
        section.table {
            h2 { (table.title) }
            div.scroll tabindex="0" role="group" aria-label=(table.title) {
                table {
                    thead {
                        tr {
                            @for name in &table.header { th scope="col" { (name) } }
                            @if drawn { th.plot scope="col" { (axis.head()) } }
                        }
                    }
                    tbody { @for row in &table.rows { (self::row(row, drawn.then_some(axis))) } }
                }
            }
            @if !table.note.is_empty() { p.note { (table.note) } }
        }
    }
}

/// The attributes are what the script filters and sorts by.
fn row(row: &Row, axis: Option<&Axis>) -> Markup {
    let id = row.cells.first().filter(|_| !row.plot.is_empty());
    let id = id.map(|name| name.text().to_lowercase());
    let verdict = row.cells.iter().find_map(|cell| match cell {
        Cell::Verdict(_, verdict) => *verdict,
        _ => None,
    });
    let ratio = row.plot.first().map(|whisker| whisker.ratio.value);
    let ratio = ratio.filter(|ratio| ratio.is_finite());
    html! {
        tr data-id=[id] data-verdict=[verdict] data-ratio=[ratio] {
            @for cell in &row.cells { (self::cell(cell)) }
            @if let Some(axis) = axis { td.plot { (axis.row(row)) } }
        }
    }
}

fn cell(cell: &Cell) -> Markup {
    html! {
        @match cell {
            Cell::Name(id) => th scope="row" { (name(id)) },
            Cell::Word(text) => td { (text) },
            Cell::Figure(text) => td.number { (text) },
            Cell::Verdict(words, Some(verdict)) => td class=(verdict) { span.icon aria-hidden="true" { (sign(*verdict)) } (words) },
            Cell::Verdict(words, None) => td { (words) },
        }
    }
}

fn label(cell: &Cell) -> Markup {
    match cell {
        Cell::Name(id) => name(id),
        other => html! { (other.text()) },
    }
}

/// The id of a bench, which may be broken after a slash.
fn name(id: &str) -> Markup {
    html! {
        code {
            @for (index, part) in id.split_inclusive('/').enumerate() {
                @if index > 0 { wbr; }
                (part)
            }
        }
    }
}

/// Text in which what stands between backticks is a command.
pub(super) fn commands(text: &str) -> Markup {
    html! {
        @for (command, part) in spans(text) {
            @if command { code { (part) } } @else { (part) }
        }
    }
}
