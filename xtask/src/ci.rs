//! `cargo xtask ci`: every check, in order, up to the first that fails.

use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use comfy_table::Table;

use crate::workspace::Workspace;

#[derive(Args)]
pub(crate) struct CiArgs {
    /// Leave out what needs minutes: book, package, msrv, the mutants of loom, shuttle, scale, soak, tsan, asan, targets, wasm, no-std, compat,
    /// bench
    #[arg(long)]
    quick: bool,
    /// Also what takes longest: every build of the tests, the sanitizers, the sweep, planted faults, published crates
    #[arg(long, conflicts_with = "quick")]
    all: bool,
}

/// What is not run.
const LEFT_OUT: &str = "";

/// The checks: the words after `cargo xtask` with `--all`, without an option, and with `--quick`.
const PARTS: [[&str; 3]; 26] = [
    ["lint"; 3],
    ["tidy"; 3],
    ["test", "test --debug", "test --debug"],
    ["examples"; 3],
    ["doc"; 3],
    ["book", "book", LEFT_OUT],
    ["features"; 3],
    ["api"; 3],
    ["package", "package", LEFT_OUT],
    ["msrv", "msrv", LEFT_OUT],
    ["loom --mutants", "loom --mutants", "loom"],
    ["loom --sweep", LEFT_OUT, LEFT_OUT],
    ["shuttle --mutants", "shuttle", LEFT_OUT],
    ["scale --check", "scale --check", LEFT_OUT],
    ["prove", LEFT_OUT, LEFT_OUT],
    ["soak --minutes 1", "soak --minutes 1", LEFT_OUT],
    [
        "soak --minutes 1 --keyed",
        "soak --minutes 1 --keyed",
        LEFT_OUT,
    ],
    ["soak --minutes 1 --inspect", LEFT_OUT, LEFT_OUT],
    ["tsan", LEFT_OUT, LEFT_OUT],
    ["asan", LEFT_OUT, LEFT_OUT],
    ["targets", "targets", LEFT_OUT],
    ["wasm", "wasm", LEFT_OUT],
    ["no-std", "no-std", LEFT_OUT],
    ["compat", "compat --apps", LEFT_OUT],
    ["bench --smoke", "bench --smoke", LEFT_OUT],
    [
        "bench-compare --self-test",
        "bench-compare --self-test",
        LEFT_OUT,
    ],
];

/// One part of a command: its name, and what it does; nothing where it is left out.
pub(crate) struct Step<'w> {
    name: String,
    run: Option<Box<dyn FnOnce() -> Result<()> + 'w>>,
}

impl<'w> Step<'w> {
    pub(crate) fn new(name: &str, run: impl FnOnce() -> Result<()> + 'w) -> Self {
        let (name, run) = (name.to_owned(), Some(Box::new(run) as _));
        Self { name, run }
    }

    /// The step that is the command of these words.
    pub(crate) fn command(ws: &'w Workspace, words: &str) -> Self {
        let command = crate::parse(words);
        Self::new(words, move || crate::dispatch(ws, command?))
    }
}

/// Runs the parts.
pub(crate) fn run(ws: &Workspace, args: &CiArgs) -> Result<()> {
    let steps = PARTS.iter().map(|[all, usual, quick]| {
        let words = match (args.all, args.quick) {
            (true, _) => all,
            (_, true) => quick,
            _ => usual,
        };
        let (name, run) = ((*all).to_owned(), None);
        match *words == LEFT_OUT {
            true => Step { name, run },
            false => Step::command(ws, words),
        }
    });
    run_steps(steps.collect())
}

/// Runs steps up to the first that fails; prints a line for each, and a table at the end.
pub(crate) fn run_steps(steps: Vec<Step<'_>>) -> Result<()> {
    let all = Instant::now();
    let mut table = Table::new();
    table.load_preset(comfy_table::presets::NOTHING);
    let mut failure = None;
    for Step { name, run } in steps {
        let (word, time) = match run {
            None => ("left out", String::new()),
            Some(_) if failure.is_some() => ("not reached", String::new()),
            Some(run) => {
                println!("== {name}");
                let start = Instant::now();
                let result = run();
                let time = seconds(start.elapsed());
                let word = if result.is_ok() { "passed" } else { "FAILED" };
                println!("== {name} {word} after {time}");
                failure = result
                    .err()
                    .map(|error| error.context(format!("`{name}` failed")));
                (word, time)
            }
        };
        table.add_row([&name, word, &time]);
    }
    table.add_row(["total", "", &seconds(all.elapsed())]);
    println!("\n{table}");
    failure.map_or(Ok(()), Err)
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::{LEFT_OUT, PARTS};

    #[test]
    fn every_part_is_a_command() {
        let parts = PARTS.as_flattened().iter();
        for words in parts.filter(|words| **words != LEFT_OUT) {
            crate::parse(words).expect("a valid command line");
        }
    }

    #[test]
    fn the_workflow_runs_the_same_parts() {
        let workflow = include_str!("../../.github/workflows/ci.yml");
        let (_, matrix) = workflow.split_once("command:\n").expect("a matrix");
        let lines = matrix.lines().map(str::trim_start);
        let commands = lines.map_while(|line| line.strip_prefix("- "));
        assert!(commands.eq(PARTS.map(|[all, ..]| all)));
    }
}
