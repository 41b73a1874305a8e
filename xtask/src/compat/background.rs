//! `cargo xtask compat --background`: what long tasks and loaders cost frames, on the stock crate and on the drop-in.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::registry::BEVY_TASKS;
use super::sides::{OPTIMISED, Side};
use crate::process::printed;
use crate::workspace::Workspace;
use xtask_stats::median;

/// What `bevy_app` is told of the machine's threads.
const THREADS: [usize; 2] = [2, 4];
/// Runs of each side, which take turns.
const ROUNDS: usize = 9;
/// Far more than a run needs.
const LIMIT: Duration = Duration::from_secs(120);

/// What is compared: its head, the side, and what the program is told of its threads.
const COLUMNS: [(&str, usize, Option<&str>); 6] = [
    ("stock", 0, None),
    ("ours", 1, None),
    ("stock, idle class", 0, Some("idle")),
    ("ours, idle class", 1, Some("idle")),
    ("stock, placed", 0, Some("placed")),
    ("ours, placed", 1, Some("placed")),
];

/// A figure of a run by its name.
type Figures = BTreeMap<String, f64>;

/// What is printed of one run, and how it is made of the run's own figures.
type Row = (&'static str, fn(&dyn Fn(&str) -> f64) -> f64);

/// What is printed. A piece of work takes 100 us of a processor.
const ROWS: [Row; 14] = [
    ("threads of the process", |of| of("threads")),
    ("start alone, p50, us", |of| of("start alone p50")),
    ("start alone, p99, us", |of| of("start alone p99")),
    ("start beside work, p50, us", |of| of("start beside p50")),
    ("start beside work, p90, us", |of| of("start beside p90")),
    ("start beside work, p99, us", |of| of("start beside p99")),
    ("frame alone, p50, us", |of| of("frame alone p50")),
    ("frame alone, p99, us", |of| of("frame alone p99")),
    ("frame beside work, p50, us", |of| of("frame beside p50")),
    ("frame beside work, p99, us", |of| of("frame beside p99")),
    ("frame p99, beside/alone", |of| {
        of("frame beside p99") / of("frame alone p99")
    }),
    ("long tasks, pieces of work a second", |of| of("computed")),
    ("loaders, pieces of work a second", |of| of("loaded")),
    ("both, pieces of work a second", |of| {
        of("computed") + of("loaded")
    }),
];

/// Builds both sides, and prints medians over the rounds.
pub(super) fn run(ws: &Workspace) -> Result<()> {
    let sides = Side::both(|side| side.program(ws, "background", &[BEVY_TASKS], OPTIMISED))?;
    let file = ws.target.join("compat/background/loaded");
    for threads in THREADS {
        let mut runs: [Vec<Figures>; COLUMNS.len()] = Default::default();
        for round in 0..ROUNDS {
            for turn in 0..COLUMNS.len() {
                let at = (round + turn) % COLUMNS.len();
                let (_, side, how) = COLUMNS[at];
                runs[at].push(measure(&sides[side], threads, &file, how)?);
            }
        }
        println!("\nPools for {threads} threads, medians of {ROUNDS} rounds:\n");
        let heads = COLUMNS.map(|(head, ..)| format!(" {head} |")).concat();
        println!("| |{heads}\n|---|{}", "--:|".repeat(COLUMNS.len()));
        for (name, of) in ROWS {
            let figures = runs.each_ref().map(|runs| {
                let figure = |run: &Figures| of(&|name| run.get(name).copied().unwrap_or(f64::NAN));
                let median = median(&mut Vec::from_iter(runs.iter().map(figure)));
                format!(" {median:.2} |")
            });
            println!("| {name} |{}", figures.concat());
        }
    }
    Ok(())
}

/// The figures that one run prints.
fn measure(program: &Path, threads: usize, file: &Path, how: Option<&str>) -> Result<Figures> {
    let mut command = Command::new(program);
    command.arg(threads.to_string()).arg(file).args(how);
    let text = printed(command, LIMIT)?;
    let line = |line: &str| {
        let (name, value) = line.split_once('\t')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    let figures: Option<Figures> = text.lines().map(line).collect();
    figures.with_context(|| format!("no figures: {text}"))
}
