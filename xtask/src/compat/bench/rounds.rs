//! The measurement: rounds of both sides in turn.

use std::time::Duration;

use anyhow::Result;

use super::program::{self, Length, Row, Run};
use super::sides::Side;
use crate::progress::Progress;

/// How much is measured.
#[derive(Clone, Copy)]
pub(super) struct Effort {
    pub(super) rounds: u32,
    pub(super) length: Length,
}

impl Effort {
    /// The usual or the quick effort; `rounds` overrides the number of rounds.
    pub(super) fn new(quick: bool, rounds: Option<u32>) -> Self {
        let (usual, samples, millis) = if quick { (5, 2, 25) } else { (9, 5, 30) };
        Self {
            rounds: rounds.unwrap_or(usual),
            length: Length {
                samples,
                sample: Duration::from_millis(millis),
            },
        }
    }
}

/// Both sides of a row in one round.
#[derive(Clone, Copy)]
pub(super) struct Round {
    /// Geometric means of the round's two runs of a side.
    pub(super) stock: Run,
    pub(super) ours: Run,
}

impl Round {
    pub(super) fn wall_ratio(&self) -> f64 {
        self.ours.wall / self.stock.wall
    }

    pub(super) fn cpu_ratio(&self) -> f64 {
        self.ours.cpu / self.stock.cpu
    }
}

/// A row and its rounds.
pub(super) struct Measured {
    pub(super) row: Row,
    pub(super) rounds: Vec<Round>,
}

/// Measures all rows.
pub(super) fn measure(
    stock: &Side,
    ours: &Side,
    rows: &[Row],
    effort: Effort,
) -> Result<Vec<Measured>> {
    let mut measured: Vec<_> = rows
        .iter()
        .map(|row| Measured {
            row: row.clone(),
            rounds: Vec::new(),
        })
        .collect();
    let progress = Progress::new("compat --bench", effort.rounds as usize * rows.len());
    for number in 1..=effort.rounds {
        for entry in &mut measured {
            progress.at(&format!("round {number}: {}", entry.row.id));
            entry
                .rounds
                .push(round(stock, ours, &entry.row, effort.length)?);
            progress.step();
        }
    }
    progress.finish();
    Ok(measured)
}

/// Stock, ours, ours, stock: what grows or shrinks steadily meanwhile falls out of the ratio.
fn round(stock: &Side, ours: &Side, row: &Row, length: Length) -> Result<Round> {
    let first = program::run(stock, row, length)?;
    let second = program::run(ours, row, length)?;
    let third = program::run(ours, row, length)?;
    let fourth = program::run(stock, row, length)?;
    Ok(Round {
        stock: both(first, fourth),
        ours: both(second, third),
    })
}

fn both(one: Run, other: Run) -> Run {
    Run {
        wall: (one.wall * other.wall).sqrt(),
        cpu: (one.cpu * other.cpu).sqrt(),
    }
}
