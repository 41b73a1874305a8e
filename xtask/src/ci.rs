//! `cargo xtask ci`: every check, in order, up to the first that fails.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use comfy_table::Table;

use crate::measure::machine::commit;
use crate::trust::{self, record};
use crate::workspace::Workspace;

#[derive(Args)]
pub(crate) struct CiArgs {
    /// Leave out what needs minutes: book, package, the mutants of loom, shuttle, soak, no-std, compat
    #[arg(long)]
    quick: bool,
    /// Also what takes longest: every build of the tests, all schedules of the models, the sweep, planted faults, the sanitizers, all targets,
    /// published crates, benches
    #[arg(long, conflicts_with = "quick")]
    all: bool,
    /// Only this part, as `--all` runs it; may be given several times
    #[arg(long, value_name = "PART", conflicts_with_all = ["quick", "all"], value_parser = names())]
    only: Vec<String>,
    /// Renew the records of the parts that run in this file, and docs/trust.md, which shows them
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

/// What is not run.
const LEFT_OUT: &str = "";

/// The checks: the words after `cargo xtask` with `--all`, without an option, and with `--quick`.
const PARTS: [[&str; 3]; 27] = [
    ["lint"; 3],
    ["tidy"; 3],
    ["test", "test --debug", "test --debug"],
    ["examples"; 3],
    ["doc"; 3],
    ["book", "book", LEFT_OUT],
    ["features"; 3],
    ["api"; 3],
    ["package", "package", LEFT_OUT],
    ["processes", LEFT_OUT, LEFT_OUT],
    ["msrv", LEFT_OUT, LEFT_OUT],
    [
        "loom --mutants",
        "loom --mutants --schedules 20000",
        "loom --schedules 20000",
    ],
    ["loom --sweep", LEFT_OUT, LEFT_OUT],
    ["shuttle --mutants", "shuttle --iterations 150", LEFT_OUT],
    ["scale --check", LEFT_OUT, LEFT_OUT],
    ["prove", LEFT_OUT, LEFT_OUT],
    ["soak --minutes 1", "soak --minutes 1", LEFT_OUT],
    ["soak --minutes 1 --keyed", LEFT_OUT, LEFT_OUT],
    ["soak --minutes 1 --inspect", LEFT_OUT, LEFT_OUT],
    ["tsan", LEFT_OUT, LEFT_OUT],
    ["asan", LEFT_OUT, LEFT_OUT],
    ["targets", LEFT_OUT, LEFT_OUT],
    ["wasm", LEFT_OUT, LEFT_OUT],
    ["no-std", "no-std thumbv7em", LEFT_OUT],
    ["compat", "compat --apps", LEFT_OUT],
    ["bench --smoke", LEFT_OUT, LEFT_OUT],
    ["bench-compare --self-test", LEFT_OUT, LEFT_OUT],
];

/// What only `--only` runs: it takes long, needs other programs, or measures.
const MORE: [&str; 2] = ["targets --run", "footprint"];

/// The names of all parts.
pub(crate) fn names() -> Vec<&'static str> {
    let parts = PARTS.iter().map(|[all, ..]| *all);
    parts.chain(MORE).collect()
}

/// The command lines of the part `name`: as `--all` runs it, and in a shorter form.
pub(crate) fn forms(name: &str) -> Vec<&'static str> {
    let part = PARTS.iter().find(|[all, ..]| *all == name);
    let alone = MORE.iter().filter(|more| **more == name).copied();
    let mut forms: Vec<_> = part.into_iter().flatten().copied().chain(alone).collect();
    forms.retain(|words| *words != LEFT_OUT);
    forms.dedup();
    forms
}

/// The table of CONTRIBUTING.md: the parts as each option runs them.
#[cfg(test)]
fn markdown() -> String {
    let same = |words: &str, all: &str| match words {
        LEFT_OUT => "–".to_owned(),
        _ if words == all => "yes".to_owned(),
        _ => format!("`{words}`"),
    };
    let rows = PARTS.iter().map(|[all, usual, quick]| {
        format!(
            "| `{all}` | {} | {} |\n",
            same(usual, all),
            same(quick, all)
        )
    });
    let head = "| `ci --all` | `ci` | `ci --quick` |\n|---|---|---|\n";
    head.to_owned() + &rows.collect::<String>()
}

/// All command lines, in their order.
fn lines() -> Vec<&'static str> {
    names().into_iter().flat_map(forms).collect()
}

/// Who runs the part `name`.
pub(crate) fn runs_in(name: &str) -> &'static str {
    match PARTS.iter().find(|[all, ..]| *all == name) {
        Some([_, usual, _]) if *usual == name => "`ci`, the workflow",
        Some([_, LEFT_OUT, _]) => "`ci --all`, the workflow",
        Some(_) => "`ci --all`, the workflow; a part of it in `ci`",
        None => "by hand",
    }
}

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
    let parts = PARTS.iter().map(|[all, usual, quick]| match args {
        CiArgs { only, .. } if !only.is_empty() => (*all, if_chosen(only, all)),
        CiArgs { all: true, .. } => (*all, *all),
        CiArgs { quick: true, .. } => (*all, *quick),
        _ => (*all, *usual),
    });
    let more = MORE.iter().map(|name| (*name, if_chosen(&args.only, name)));
    let more = more.filter(|(_, words)| *words != LEFT_OUT);
    let tree = commit(ws);
    let steps = parts
        .chain(more)
        .map(|(name, words)| match (words, &args.record) {
            (LEFT_OUT, _) => Step {
                name: name.to_owned(),
                run: None,
            },
            (words, Some(file)) => {
                let tree = tree.clone();
                Step::new(words, move || {
                    let result = record::run(ws, words, &lines(), file, (&tree.0, tree.1));
                    trust::renew(ws)?;
                    result
                })
            }
            (words, None) => Step::command(ws, words),
        });
    run_steps(steps.collect())
}

/// The part, if it is one of these.
fn if_chosen(only: &[String], name: &'static str) -> &'static str {
    if only.iter().any(|chosen| chosen == name) {
        name
    } else {
        LEFT_OUT
    }
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
    use super::{LEFT_OUT, MORE, PARTS, markdown};

    #[test]
    fn every_part_is_a_command() {
        let parts = PARTS.as_flattened().iter().chain(&MORE);
        for words in parts.filter(|words| **words != LEFT_OUT) {
            crate::parse(words).expect("a valid command line");
        }
    }

    #[test]
    fn the_page_for_contributors_has_the_table() {
        let page = include_str!("../../CONTRIBUTING.md");
        let table = markdown();
        assert!(
            page.contains(&table),
            "put this into CONTRIBUTING.md:\n{table}"
        );
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
