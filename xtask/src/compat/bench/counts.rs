//! `--counts`: where the time of an iteration goes, side by side.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde_json::Value;

use super::program::{self, Row};
use crate::compat::sides::{self, OPTIMISED};
use crate::measure::criterion::Program;
use crate::measure::machine::origin;
use crate::progress::Progress;
use crate::report::sheet::{Cell, Sheet};
use crate::workspace::Workspace;

/// The columns of times: what heads each, and what the program calls it, in microseconds.
const TIMES: [(&str, &str); 4] = [
    ("wall", "wall_us"),
    ("CPU", "cpu_us"),
    ("caller's CPU", "caller_cpu_us"),
    ("in kernel", "system_us"),
];

/// The same of what is counted. The program says `null` of system calls where the library is not preloaded.
const AMOUNTS: [(&str, &str); 6] = [
    ("slept", "voluntary_switches"),
    ("preempted", "involuntary_switches"),
    ("futex waits", "futex_waits"),
    ("futex wakes", "futex_wakes"),
    ("woken", "threads_woken"),
    ("barriers", "barriers"),
];

const NOTE: &str = "means an iteration; `slept` and `preempted` are context switches, `barriers` make all running threads fence";

/// Prints the table of both sides.
pub(super) fn run(ws: &Workspace, sides: &[Program; 2], rows: &[Row]) -> Result<()> {
    // Counts futex calls and barriers when preloaded.
    let dir = sides::copy(ws, "futex-count", "futex-count", "")?;
    let library = sides::build(&dir, &dir.join("target"), "libfutex_count.so", OPTIMISED)?;
    let mut lines = Vec::new();
    let progress = Progress::new("compat --bench --counts", rows.len());
    for row in rows {
        progress.at(&row.id);
        for side in sides {
            let args = ["--row", &row.id, "--counts"];
            let counts: Vec<BTreeMap<String, Value>> = program::lines(side, &args, Some(&library))?;
            let counts = counts.first().context("the program prints a line")?;
            let of = |key| {
                let value = counts.get(key);
                let value = value.with_context(|| format!("the program says no {key}"))?;
                anyhow::Ok(value.as_f64().unwrap_or(f64::NAN))
            };
            let mut line = vec![Cell::Text(row.id.clone()), Cell::Text(side.side.clone())];
            for (_, key) in TIMES {
                line.push(Cell::Nanoseconds(of(key)? * 1e3));
            }
            for (_, key) in AMOUNTS {
                line.push(Cell::Ratio(of(key)?));
            }
            lines.push(line);
        }
        progress.step();
    }
    progress.finish();
    let columns = TIMES.iter().chain(&AMOUNTS).map(|(header, _)| *header);
    let header = ["row", ""].into_iter().chain(columns);
    let sheet = Sheet {
        origin: origin(ws),
        title: "Counts".to_owned(),
        note: NOTE.to_owned(),
        header: header.map(str::to_owned).collect(),
        rows: lines,
    };
    sheet.conclude(None)
}
