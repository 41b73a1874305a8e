//! `cargo xtask ci`: every check, in order, up to the first that fails.

use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use comfy_table::Table;

use crate::workspace::Workspace;

/// Options of `cargo xtask ci`.
#[derive(Args)]
pub(crate) struct CiArgs {
    /// Leave out what needs minutes: msrv, the mutants of loom and shuttle, soak, tsan, asan, wasm, no-std, compat,
    /// bench
    #[arg(long)]
    quick: bool,
    /// Also what takes longest: every build of the tests, the sanitizers, shuttle's mutants, published crates
    #[arg(long, conflicts_with = "quick")]
    all: bool,
}

/// One check: the words after `cargo xtask` with `--all`, without an option, and with `--quick` (none: left out).
struct Part {
    words: &'static [&'static str],
    usual: Option<&'static [&'static str]>,
    quick: Option<&'static [&'static str]>,
}

const PARTS: [Part; 16] = [
    same(&["lint"]),
    same(&["tidy"]),
    Part {
        words: &["test"],
        usual: Some(&["test", "--debug"]),
        quick: Some(&["test", "--debug"]),
    },
    same(&["doc"]),
    same(&["features"]),
    long(&["msrv"], None),
    long(&["loom", "--mutants"], Some(&["loom"])),
    Part {
        words: &["shuttle", "--mutants"],
        usual: Some(&["shuttle"]),
        quick: None,
    },
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

/// How one part went.
enum Outcome {
    Passed(Duration),
    Failed(Duration),
    LeftOut,
    NotReached,
}

/// Runs the parts and prints a line for each, and a table at the end.
pub(crate) fn run(ws: &Workspace, args: &CiArgs) -> Result<()> {
    let start = Instant::now();
    let mut outcomes = Vec::new();
    let mut failure = None;
    for part in &PARTS {
        let words = match (args.all, args.quick) {
            (true, _) => Some(part.words),
            (false, false) => part.usual,
            (false, true) => part.quick,
        };
        let outcome = match words {
            None => Outcome::LeftOut,
            Some(_) if failure.is_some() => Outcome::NotReached,
            Some(words) => {
                let name = words.join(" ");
                println!("== {name}");
                let start = Instant::now();
                let result = crate::dispatch(ws, crate::parse(words)?);
                let time = start.elapsed();
                match result {
                    Ok(()) => {
                        println!("== {name} passed in {}", seconds(time));
                        Outcome::Passed(time)
                    }
                    Err(error) => {
                        println!("== {name} FAILED after {}", seconds(time));
                        failure = Some(error.context(format!("`cargo xtask {name}` failed")));
                        Outcome::Failed(time)
                    }
                }
            }
        };
        outcomes.push((words.unwrap_or(part.words).join(" "), outcome));
    }
    println!("\n{}", summary(&outcomes, start.elapsed()));
    failure.map_or(Ok(()), Err)
}

fn summary(outcomes: &[(String, Outcome)], total: Duration) -> Table {
    let mut table = Table::new();
    table.load_preset(comfy_table::presets::NOTHING);
    for (name, outcome) in outcomes {
        let (word, time) = match outcome {
            Outcome::Passed(time) => ("passed", seconds(*time)),
            Outcome::Failed(time) => ("FAILED", seconds(*time)),
            Outcome::LeftOut => ("left out", String::new()),
            Outcome::NotReached => ("not reached", String::new()),
        };
        table.add_row([name, word, &time]);
    }
    table.add_row(["total", "", &seconds(total)]);
    table
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
