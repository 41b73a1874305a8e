//! The results on the terminal.

use comfy_table::{CellAlignment, Table};

use super::results::name;
use crate::report::model::Metric;
use crate::report::peers::{BenchResults, PeerMean};
use crate::report::units;

/// Behind rows that are in no mean.
const MARK: &str = " *";

/// The rows, then the means.
pub(super) fn table(results: &BenchResults) -> String {
    let mut rows = new(&["row", "ours", "peer", "ours", "peer's", "wall", "CPU"], 3);
    for row in &results.rows {
        let mark = if row.gated { "" } else { MARK };
        let [ours, peer] = units::values(Metric::Wall, [row.ours_ns, row.peer_ns]);
        rows.add_row([
            name(row) + mark,
            row.ours.clone(),
            row.peer.clone(),
            ours,
            peer,
            units::estimate(&row.wall),
            row.cpu.as_ref().map_or(String::new(), units::estimate),
        ]);
    }
    let mut text = format!("{rows}\n");
    if results.rows.iter().any(|row| !row.gated) {
        text += &format!(
            "{} more threads than the machine has cores ({}): in no mean, not gated\n",
            MARK.trim(),
            results.origin.machine.cores
        );
    }
    if !results.means.is_empty() {
        text += &format!("\n{}\n", means(&results.means));
    }
    text + "\nwall and CPU: ours/peer, below 1 ours is faster; in brackets the 95 % interval over the rounds"
}

fn means(all: &[PeerMean]) -> Table {
    let mut table = new(&["layer", "ours", "peer", "rows", "wall", "CPU"], 3);
    for mean in all.iter().filter(|m| m.metric == Metric::Wall) {
        let cpu = all.iter().find(|m| {
            m.metric == Metric::Cpu
                && (&m.layer, &m.ours, &m.peer) == (&mean.layer, &mean.ours, &mean.peer)
        });
        table.add_row([
            mean.layer.clone(),
            mean.ours.clone(),
            mean.peer.clone(),
            mean.rows.to_string(),
            units::estimate(&mean.mean),
            cpu.map_or(String::new(), |cpu| units::estimate(&cpu.mean)),
        ]);
    }
    table
}

/// A table without lines; the columns from `right` on hold figures.
pub(super) fn new(header: &[&str], right: usize) -> Table {
    let mut table = Table::new();
    table
        .load_preset(comfy_table::presets::NOTHING)
        .set_header(header);
    for column in table.column_iter_mut().skip(right) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
