//! A table of figures with its origin: what `cargo xtask bench` counts once instead of timing it in rounds.

use std::path::Path;

use anyhow::Result;
use comfy_table::{CellAlignment, Table};
use serde::{Deserialize, Serialize};

use super::escape::{self, plain};
use super::model::Metric;
use super::peers::Origin;
use super::{figure, units};

/// One table, for the terminal, a file and the results page.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Sheet {
    #[serde(flatten)]
    pub(crate) origin: Origin,
    pub(crate) title: String,
    /// What the figures are, in a sentence or two.
    pub(crate) note: String,
    pub(crate) header: Vec<String>,
    /// As long as the header.
    pub(crate) rows: Vec<Vec<Cell>>,
}

/// A word or a figure with its unit.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Cell {
    Text(String),
    Nanoseconds(#[serde(with = "figure")] f64),
    Instructions(#[serde(with = "figure")] f64),
    Ratio(#[serde(with = "figure")] f64),
    /// Of one.
    Part(#[serde(with = "figure")] f64),
    Count(u64),
    Seconds(#[serde(with = "figure")] f64),
}

impl Cell {
    fn shown(&self) -> String {
        let value = |metric, value| {
            let [text] = units::values(metric, [value]);
            text
        };
        match self {
            Self::Text(text) => text.clone(),
            Self::Nanoseconds(time) => value(Metric::Wall, *time),
            Self::Instructions(count) => value(Metric::Instr, *count),
            Self::Ratio(ratio) => units::ratio(*ratio),
            Self::Part(part) => units::percent(*part),
            Self::Count(count) => count.to_string(),
            Self::Seconds(time) => value(Metric::Wall, *time * 1e9),
        }
    }
}

impl Sheet {
    /// For the terminal, the note below.
    pub(crate) fn terminal(&self) -> String {
        let mut table = Table::new();
        table
            .load_preset(comfy_table::presets::NOTHING)
            .set_header(&self.header);
        for row in &self.rows {
            table.add_row(row.iter().map(|cell| {
                let shown = comfy_table::Cell::new(cell.shown());
                match cell {
                    Cell::Text(_) => shown,
                    _ => shown.set_alignment(CellAlignment::Right),
                }
            }));
        }
        format!("{table}\n\n{}", self.note)
    }

    /// Saves it for the page.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        super::write(path, &(serde_json::to_string_pretty(self)? + "\n"))?;
        println!("wrote {}", path.display());
        Ok(())
    }

    /// For the page, without the note.
    pub(super) fn markdown(&self) -> String {
        let header: Vec<&str> = self.header.iter().map(String::as_str).collect();
        let cells = |row: &Vec<Cell>| row.iter().map(|cell| plain(&cell.shown())).collect();
        escape::table(&header, self.rows.iter().map(cells))
    }
}
