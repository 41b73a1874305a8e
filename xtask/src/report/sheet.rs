//! A table of figures with its origin: what `cargo xtask bench` counts once instead of timing it in rounds.

use std::path::PathBuf;

use anyhow::Result;
use serde::{Deserialize, Deserializer, Serialize};

use super::document::{self, Part, Table};
use super::model::{Estimate, Metric};
use super::peers::Origin;
use super::{save, terminal, units};

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

/// Reads a figure. One that is unknown is NaN, and `null` in a file.
fn figure<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
}

/// A word or a figure with its unit.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Cell {
    Text(String),
    Nanoseconds(#[serde(deserialize_with = "figure")] f64),
    Instructions(#[serde(deserialize_with = "figure")] f64),
    Ratio(#[serde(deserialize_with = "figure")] f64),
    /// A ratio with its interval, all of which are known.
    Estimate(Estimate),
    /// Of one.
    Part(#[serde(deserialize_with = "figure")] f64),
    Count(u64),
    Seconds(#[serde(deserialize_with = "figure")] f64),
}

impl Cell {
    fn shown(&self) -> document::Cell {
        let value = |metric, value| {
            let [text] = units::values(metric, [value]);
            text
        };
        document::Cell::Figure(match self {
            Self::Text(text) => return document::Cell::Word(text.clone()),
            Self::Nanoseconds(time) => value(Metric::Wall, *time),
            Self::Instructions(count) => value(Metric::Instr, *count),
            Self::Ratio(ratio) => units::ratio(*ratio),
            Self::Estimate(ratio) => units::estimate(ratio),
            Self::Part(part) => units::percent(*part),
            Self::Count(count) => count.to_string(),
            Self::Seconds(time) => value(Metric::Wall, *time * 1e9),
        })
    }
}

impl Sheet {
    /// The table, without a title.
    pub(super) fn table(&self) -> Table {
        let mut table = Table {
            header: self.header.clone(),
            ..Table::default()
        };
        for row in &self.rows {
            table.add(row.iter().map(Cell::shown).collect());
        }
        table
    }

    /// Prints the table with the note below, and saves the figures if the user asked for a file.
    pub(crate) fn conclude(&self, json: Option<&PathBuf>) -> Result<()> {
        let parts = [Part::Table(self.table()), Part::Text(self.note.clone())];
        println!("{}", terminal::parts(&parts, false));
        save(self, json)
    }
}
