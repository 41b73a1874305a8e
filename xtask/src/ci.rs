//! `cargo xtask ci`: every check, in order, up to the first that fails.

use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use comfy_table::Table;

use crate::workspace::Workspace;

/// Options of `cargo xtask ci`.
#[derive(Args)]
pub(crate) struct CiArgs {
    /// Leave out what needs minutes: package, msrv, the mutants of loom, shuttle, soak, tsan, asan, wasm, no-std, compat,
    /// bench
    #[arg(long)]
    quick: bool,
    /// Also what takes longest: every build of the tests, the sanitizers, the sweep, planted faults, published crates
    #[arg(long, conflicts_with = "quick")]
    all: bool,
}

/// One check: the words after `cargo xtask` with `--all`, without an option, and with `--quick` (none: left out).
struct Part {
    words: &'static [&'static str],
    usual: Option<&'static [&'static str]>,
    quick: Option<&'static [&'static str]>,
}

const PARTS: [Part; 21] = [
    same(&["lint"]),
    same(&["tidy"]),
    Part {
        words: &["test"],
        usual: Some(&["test", "--debug"]),
        quick: Some(&["test", "--debug"]),
    },
    same(&["examples"]),
    same(&["doc"]),
    same(&["features"]),
    same(&["api"]),
    long(&["package"], None),
    long(&["msrv"], None),
    long(&["loom", "--mutants"], Some(&["loom"])),
    longest(&["loom", "--sweep"]),
    Part {
        words: &["shuttle", "--mutants"],
        usual: Some(&["shuttle"]),
        quick: None,
    },
    longest(&["prove"]),
    long(&["soak", "--minutes", "1"], None),
    longest(&["tsan"]),
    longest(&["asan"]),
    long(&["wasm"], None),
    long(&["no-std"], None),
    Part {
        words: &["compat"],
        usual: Some(&["compat", "--apps"]),
        quick: None,
    },
    long(&["bench", "--smoke"], None),
    long(&["bench-compare", "--self-test"], None),
];

const fn same(words: &'static [&'static str]) -> Part {
    long(words, Some(words))
}

const fn long(words: &'static [&'static str], quick: Option<&'static [&'static str]>) -> Part {
    let usual = Some(words);
    Part {
        words,
        usual,
        quick,
    }
}

const fn longest(words: &'static [&'static str]) -> Part {
    Part {
        words,
        usual: None,
        quick: None,
    }
}

/// One part of a command: its name, and what it does; nothing where it is left out.
pub(crate) struct Step<'w> {
    pub(crate) name: String,
    pub(crate) run: Option<Box<dyn FnOnce() -> Result<()> + 'w>>,
}

/// Runs the parts.
pub(crate) fn run(ws: &Workspace, args: &CiArgs) -> Result<()> {
    let step = |part: &Part| {
        let words = match (args.all, args.quick) {
            (true, _) => Some(part.words),
            (false, false) => part.usual,
            (false, true) => part.quick,
        };
        let run = words.map(|words| -> Box<dyn FnOnce() -> Result<()> + '_> {
            Box::new(|| crate::dispatch(ws, crate::parse(words)?))
        });
        let name = words.unwrap_or(part.words).join(" ");
        Step { name, run }
    };
    run_steps(PARTS.iter().map(step).collect())
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
    use super::PARTS;

    #[test]
    fn every_part_is_a_command() {
        for part in &PARTS {
            for words in [Some(part.words), part.usual, part.quick]
                .into_iter()
                .flatten()
            {
                crate::parse(words).expect("a valid command line");
            }
        }
    }

    #[test]
    fn the_workflow_runs_the_same_parts() {
        let workflow = include_str!("../../.github/workflows/ci.yml");
        let (_, matrix) = workflow
            .split_once("command:\n")
            .expect("a matrix of commands");
        let commands: Vec<&str> = matrix
            .lines()
            .map_while(|l| l.trim_start().strip_prefix("- "))
            .collect();
        let parts: Vec<String> = PARTS.iter().map(|p| p.words.join(" ")).collect();
        assert_eq!(commands, parts);
    }
}
