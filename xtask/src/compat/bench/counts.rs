//! `--counts`: where the time of an iteration goes, side by side.

use anyhow::{Context, Result};
use comfy_table::{CellAlignment, Table, presets};
use serde::Deserialize;

use super::program::{self, Row};
use super::sides::{self, Side};
use crate::progress::Progress;
use crate::workspace::Workspace;

/// What the program says of one iteration.
#[derive(Deserialize)]
struct Counts {
    wall_us: f64,
    cpu_us: f64,
    caller_cpu_us: f64,
    system_us: f64,
    voluntary_switches: f64,
    involuntary_switches: f64,
    /// Futex calls; absent if the preload library is.
    futex_waits: Option<f64>,
    futex_wakes: Option<f64>,
    threads_woken: Option<f64>,
}

const HEADER: [&str; 11] = [
    "row",
    "",
    "wall µs",
    "CPU µs",
    "caller's CPU",
    "in kernel",
    "slept",
    "preempted",
    "futex waits",
    "futex wakes",
    "woken",
];

/// Prints the table; all figures are means an iteration.
pub(super) fn run(ws: &Workspace, stock: &Side, ours: &Side, rows: &[Row]) -> Result<()> {
    let library = sides::build_futex_count(ws)?;
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(HEADER);
    let progress = Progress::new("compat --bench --counts", rows.len());
    for row in rows {
        progress.at(&row.id);
        for side in [stock, ours] {
            let args = ["--row", &row.id, "--counts"];
            let lines: Vec<Counts> = program::lines(side, &args, Some(&library))?;
            let counts = lines.first().context("the program prints a line")?;
            table.add_row(line(row, side, counts));
        }
        progress.step();
    }
    progress.finish();
    for column in 2..HEADER.len() {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    println!("{table}\n\nmeans an iteration; `slept` and `preempted` are context switches");
    Ok(())
}

fn line(row: &Row, side: &Side, counts: &Counts) -> Vec<String> {
    let mut cells = vec![row.id.clone(), side.name.to_owned()];
    let times = [
        counts.wall_us,
        counts.cpu_us,
        counts.caller_cpu_us,
        counts.system_us,
    ];
    cells.extend(times.map(|n| format!("{n:.1}")));
    let switches = [counts.voluntary_switches, counts.involuntary_switches];
    cells.extend(switches.map(|n| format!("{n:.2}")));
    let futex = [counts.futex_waits, counts.futex_wakes, counts.threads_woken];
    cells.extend(futex.map(|n| n.map_or("?".to_owned(), |n| format!("{n:.2}"))));
    cells
}
