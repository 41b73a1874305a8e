//! `--counts`: where the time of an iteration goes, side by side.

use anyhow::{Context, Result};
use serde::Deserialize;

use super::Side;
use super::program::{self, Row};
use crate::compat::sides::{self, OPTIMISED};
use crate::measure::machine::origin;
use crate::progress::Progress;
use crate::report::sheet::{Cell, Sheet};
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
    /// System calls; absent if the preload library is.
    futex_waits: Option<f64>,
    futex_wakes: Option<f64>,
    threads_woken: Option<f64>,
    barriers: Option<f64>,
}

const HEADER: [&str; 12] = [
    "row",
    "",
    "wall",
    "CPU",
    "caller's CPU",
    "in kernel",
    "slept",
    "preempted",
    "futex waits",
    "futex wakes",
    "woken",
    "barriers",
];

/// Prints the table; all figures are means an iteration.
pub(super) fn run(ws: &Workspace, stock: &Side, ours: &Side, rows: &[Row]) -> Result<()> {
    // Counts futex calls and barriers when preloaded.
    let dir = sides::copy(ws, "futex-count", "futex-count", &[])?;
    let library = "release/libfutex_count.so";
    let library = sides::build(&dir, &dir.join("target"), library, OPTIMISED)?;
    let mut lines = Vec::new();
    let progress = Progress::new("compat --bench --counts", rows.len());
    for row in rows {
        progress.at(&row.id);
        for side in [stock, ours] {
            let args = ["--row", &row.id, "--counts"];
            let counts: Vec<Counts> = program::lines(side, &args, Some(&library))?;
            let counts = counts.first().context("the program prints a line")?;
            lines.push(line(row, side, counts));
        }
        progress.step();
    }
    progress.finish();
    let sheet = Sheet {
        origin: origin(ws),
        title: "Counts".to_owned(),
        note: "means an iteration; `slept` and `preempted` are context switches, `barriers` make all running threads fence".to_owned(),
        header: HEADER.map(str::to_owned).into(),
        rows: lines,
    };
    println!("{}", sheet.terminal());
    Ok(())
}

fn line(row: &Row, side: &Side, counts: &Counts) -> Vec<Cell> {
    let times = [
        counts.wall_us,
        counts.cpu_us,
        counts.caller_cpu_us,
        counts.system_us,
    ];
    let switches = [counts.voluntary_switches, counts.involuntary_switches];
    let futex = [
        counts.futex_waits,
        counts.futex_wakes,
        counts.threads_woken,
        counts.barriers,
    ];
    let futex = futex.map(|amount| amount.unwrap_or(f64::NAN));
    let mut cells = vec![Cell::Text(row.id.clone()), Cell::Text(side.name.to_owned())];
    cells.extend(times.map(|micros| Cell::Nanoseconds(micros * 1e3)));
    cells.extend(switches.into_iter().chain(futex).map(Cell::Ratio));
    cells
}
