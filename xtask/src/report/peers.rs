//! `cargo xtask bench --json FILE`: our layers measured against their peers in rounds.

use std::path::PathBuf;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::document::{Cell, Part, Table};
use super::model::{Estimate, Machine, Metric};
use super::units::{NONE, estimate, ratio, unique, values};
use super::{save, terminal};

/// Stands behind the threads of a row that is in no mean.
const MARK: &str = " *";
/// Stands below a table that has them.
const BARRIERS: &str = "A barrier makes all running threads of the process fence. The column has those of an iteration of ours.";
/// How rows are to be read.
pub(super) const READING: &str = "A ratio is ours/peer, so below 1 ours is faster; in brackets its 95 % confidence interval \
                                  over the rounds. Times are medians over the rounds for one iteration.";

/// Where figures come from.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Origin {
    pub(crate) schema: u32,
    /// When they were finished: RFC 3339, UTC.
    pub(crate) created: String,
    /// The command line that measures this again, `cargo xtask …`.
    pub(crate) command: String,
    pub(crate) commit: String,
    /// Whether the tree had changes that are in no commit.
    pub(crate) dirty: bool,
    pub(crate) machine: Machine,
}

/// One run of `cargo xtask bench` in rounds.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct BenchResults {
    #[serde(flatten)]
    pub(crate) origin: Origin,
    pub(crate) rounds: usize,
    /// Of each run of a bench, before the measurement.
    pub(crate) warm_up_ms: u64,
    /// Of the measurement in each run of a bench.
    pub(crate) time_ms: u64,
    pub(crate) rows: Vec<PeerRow>,
    /// For each layer, contender of ours, peer and metric with at least one gated row.
    pub(crate) means: Vec<PeerMean>,
}

/// One workload, ours beside one peer.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct PeerRow {
    pub(crate) layer: String,
    pub(crate) workload: String,
    /// The last part of the benches' ids.
    pub(crate) param: String,
    pub(crate) threads: Option<usize>,
    /// False for a row of more threads than cores: shown, in no mean.
    pub(crate) gated: bool,
    pub(crate) ours: String,
    pub(crate) peer: String,
    /// Median over the rounds, nanoseconds an iteration.
    pub(crate) ours_ns: f64,
    pub(crate) peer_ns: f64,
    /// Ours/peer by the clock.
    pub(crate) wall: Estimate,
    /// Ours/peer of the processors' time, where it can be read.
    pub(crate) cpu: Option<Estimate>,
    /// Median over the rounds of the barriers that an iteration of ours takes, where the program counts them.
    #[serde(default)]
    pub(crate) barriers: Option<f64>,
    /// Ours/peer by the clock of each round.
    pub(crate) rounds: Vec<f64>,
    /// The same of the processors' time, without the rounds in which it could not be read; empty if these are many.
    #[serde(skip)]
    pub(crate) cpu_rounds: Vec<f64>,
}

/// The geometric mean of the gated rows of a layer that one of ours has with one peer.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct PeerMean {
    pub(crate) layer: String,
    pub(crate) ours: String,
    pub(crate) peer: String,
    pub(crate) metric: Metric,
    /// Ours/peer.
    pub(crate) mean: Estimate,
    pub(crate) rows: usize,
}

impl BenchResults {
    /// Prints the figures, and saves them if the user asked for a file; `note` says why marked rows are in no mean.
    pub(crate) fn conclude(&self, note: &str, json: Option<&PathBuf>) -> Result<()> {
        let mut parts = parts(&self.rows, &self.means, note);
        parts.push(Part::Text(READING.to_owned()));
        parts.push(Part::Text(format!(
            "A wake of a parked thread takes {} on this machine, to its first instruction: the median over processes.",
            self.origin.machine.wake()
        )));
        println!("{}", terminal::parts(&parts, false));
        save(self, json)
    }
}

impl PeerRow {
    /// `workload/param`.
    fn bench(&self) -> String {
        format!("{}/{}", self.workload, self.param)
    }

    /// `layer/workload/param`.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.layer, self.bench())
    }
}

/// The means, and a table for each layer; `note` says why marked rows are in no mean.
pub(crate) fn parts(rows: &[PeerRow], means: &[PeerMean], note: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    if !means.is_empty() {
        parts.push(Part::Table(means_table(means, Metric::Wall.name())));
    }
    for layer in unique(rows.iter().map(|row| row.layer.as_str())) {
        let rows = rows.iter().filter(|row| row.layer == layer);
        parts.push(Part::Table(rows_table(layer, &Vec::from_iter(rows), note)));
    }
    parts
}

fn rows_table(layer: &str, rows: &[&PeerRow], note: &str) -> Table {
    let header = [
        "workload",
        "ours",
        "peer",
        "threads",
        "our time",
        "the peer's",
        "wall time",
        "CPU time",
        "rounds",
    ];
    let mut table = Table::new(layer, &header);
    let counts = |row: &&PeerRow| row.barriers.is_some_and(|barriers| barriers > 0.0);
    let counted = rows.iter().any(counts);
    if counted {
        table.header.push("our barriers".to_owned());
        table.note = BARRIERS.to_owned();
    }
    let mut marked = false;
    for row in rows {
        let mut threads = row.threads.map_or(NONE.to_owned(), |n| n.to_string());
        if !row.gated {
            threads += MARK;
            marked = true;
        }
        let mut cells = vec![
            Cell::Name(row.bench()),
            Cell::Word(row.ours.clone()),
            Cell::Word(row.peer.clone()),
            Cell::Figure(threads),
        ];
        cells.extend(values(Metric::Wall, [row.ours_ns, row.peer_ns]).map(Cell::Figure));
        let cpu = row.cpu.as_ref().map_or(NONE.to_owned(), estimate);
        let rounds = row.rounds.len().to_string();
        cells.extend([estimate(&row.wall), cpu, rounds].map(Cell::Figure));
        if counted {
            let barriers = row.barriers.map_or(NONE.to_owned(), ratio);
            cells.push(Cell::Figure(barriers));
        }
        table.add(cells);
    }
    if marked {
        let note = format!("{} {note}", MARK.trim());
        table.note = [note, table.note].join("\n").trim_end().to_owned();
    }
    table
}

/// A line for each layer, contender of ours and peer; `lead` heads what is not CPU time.
pub(crate) fn means_table(means: &[PeerMean], lead: &str) -> Table {
    let header = ["layer", "ours", "peer", "rows", lead, "CPU time"];
    let mut table = Table::new("Geometric means", &header);
    for mean in means.iter().filter(|m| m.metric != Metric::Cpu) {
        let sides = |m: &PeerMean| (m.layer.clone(), m.ours.clone(), m.peer.clone());
        let mut cpus = means.iter().filter(|m| m.metric == Metric::Cpu);
        let cpu = cpus.find(|cpu| sides(cpu) == sides(mean));
        table.add(vec![
            Cell::Word(mean.layer.clone()),
            Cell::Word(mean.ours.clone()),
            Cell::Word(mean.peer.clone()),
            Cell::Figure(mean.rows.to_string()),
            Cell::Figure(estimate(&mean.mean)),
            Cell::Figure(cpu.map_or(NONE.to_owned(), |cpu| estimate(&cpu.mean))),
        ]);
    }
    table
}
