//! The results on the terminal.

use comfy_table::{CellAlignment, Table};

use super::results::name;
use crate::report::model::Metric;
use crate::report::peers::{BenchResults, PeerMean};
use crate::report::units;

/// Behind rows that are in no mean.
const MARK: &str = " *";

/// The rows, then the means; `note` says why rows are in none.
pub(crate) fn table(results: &BenchResults, note: &str) -> String {
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
        text += &format!("{} {note}\n", MARK.trim());
    }
    if !results.means.is_empty() {
        text += &format!("\n{}\n", means(&results.means, "wall"));
    }
    text + "\nwall and CPU: ours/peer, below 1 ours is faster; in brackets the 95 % interval over the rounds"
}

/// The means; `lead` heads what is not CPU time, which stands beside it where it was measured.
pub(super) fn means(all: &[PeerMean], lead: &str) -> Table {
    let has_cpu = all.iter().any(|m| m.metric == Metric::Cpu);
    let mut header = vec!["layer", "ours", "peer", "rows", lead];
    header.extend(has_cpu.then_some("CPU"));
    let mut table = new(&header, 3);
    for mean in all.iter().filter(|m| m.metric == Metric::Wall) {
        let cpu = all.iter().find(|m| {
            m.metric == Metric::Cpu
                && (&m.layer, &m.ours, &m.peer) == (&mean.layer, &mean.ours, &mean.peer)
        });
        let mut cells = vec![
            mean.layer.clone(),
            mean.ours.clone(),
            mean.peer.clone(),
            mean.rows.to_string(),
            units::estimate(&mean.mean),
        ];
        cells.extend(has_cpu.then(|| cpu.map_or(String::new(), |cpu| units::estimate(&cpu.mean))));
        table.add_row(cells);
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
