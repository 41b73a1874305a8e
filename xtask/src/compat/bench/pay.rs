//! `--pay`: what each rule is worth that only speed depends on.
//!
//! The rules are planted with a switch in a copy of the workspace, and each program is built there once. A row is run in turn with all
//! rules and with each rule off, which a variable of the process says. So both sides are the same program, and a ratio says how much
//! longer the row takes without the rule.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use regex_lite::Regex;
use serde::Deserialize;

use super::program::{self, Kind};
use super::published;
use super::subject::{ECS, RAYON, Subject};
use super::{BenchArgs, ROUNDS};
use crate::bench::contenders::is_ours;
use crate::bench::programs;
use crate::compat::sides::Side;
use crate::edits::{Changed, Edit, apply, copied};
use crate::measure::child;
use crate::measure::criterion::{Length, Program};
use crate::measure::id::row_and_contender;
use crate::measure::machine::origin;
use crate::measure::rounds::{Effort, Entry, Row, measure_whole, series};
use crate::measure::runs::{self, Run, Runs};
use crate::report::units::{estimate, ratio};
use crate::workspace::Workspace;
use xtask_stats::{Estimate, mean_of_medians, median_of_ratios};

const RULES: &str = include_str!("rules.toml");
/// Which rule is off in a process.
const OFF: &str = "TERRACE_OFF";
/// How long a waker spins after it has woken a parked thread, in microseconds, if at all.
const DEAR: &str = "TERRACE_DEAR";
/// About what the wake of a halted processor takes its waker on a virtual machine.
const DEAR_MICROSECONDS: &str = "40";
/// Milliseconds that a run of a layer's row measures.
const LAYER_MILLIS: u64 = 60;
/// A row that changes by less does not count.
const MOVES: f64 = 1.10;

/// A rule, and how it is switched off.
#[derive(Deserialize)]
struct Rule {
    name: String,
    decides: String,
    constants: Vec<String>,
    edits: Vec<Edit>,
}

#[derive(Deserialize)]
struct Rules {
    rule: Vec<Rule>,
}

/// The switch. The name of the rule is compared once a place.
const SWITCH: &str = r#"
#[doc(hidden)]
#[macro_export]
macro_rules! off {
    ($name:literal) => {{
        use ::std::sync::atomic::{AtomicU8, Ordering};
        static STATE: AtomicU8 = AtomicU8::new(0);
        match STATE.load(Ordering::Relaxed) {
            0 => {
                let off = ::std::env::var("TERRACE_OFF").is_ok_and(|off| off == $name);
                STATE.store(1 + u8::from(off), Ordering::Relaxed);
                off
            }
            state => state == 2,
        }
    }};
}
"#;

/// The end of an unpark, and the same with dear wakes.
const UNPARK: [&str; 2] = [
    "        self.0.unpark();\n",
    r#"        self.0.unpark();
        static SPIN: ::std::sync::OnceLock<u64> = ::std::sync::OnceLock::new();
        let spin = *SPIN.get_or_init(|| ::std::env::var("TERRACE_DEAR").map_or(0, |text| text.parse().expect("microseconds")));
        let since = (spin > 0).then(::std::time::Instant::now);
        while since.is_some_and(|since| since.elapsed() < ::std::time::Duration::from_micros(spin)) {
            ::std::hint::spin_loop();
        }
"#,
];
const UNPARK_FILE: &str = "sync/src/thread/real.rs";
const SWITCH_FILE: &str = "crates/sync/src/macros.rs";

fn rules() -> Result<Vec<Rule>> {
    Ok(toml::from_str::<Rules>(RULES)?.rule)
}

/// The files with the switches.
fn planted(ws: &Workspace, rules: &[Rule]) -> Result<Changed> {
    let [from, to] = UNPARK.map(str::to_owned);
    let file = UNPARK_FILE.into();
    let mut edits = vec![Edit { file, from, to }];
    edits.extend(rules.iter().flat_map(|rule| rule.edits.clone()));
    for edit in &mut edits {
        edit.to = edit.to.replace("off!(", "terrace_sync::off!(");
    }
    let mut changed = apply(&edits, |file| ws.text(file))?;
    let file = Path::new(SWITCH_FILE);
    changed.insert(file.to_owned(), ws.text(file)? + SWITCH);
    Ok(changed)
}

/// Which programs are measured.
enum Programs<'p> {
    Subject(&'static Subject),
    /// What async-executor publishes.
    Published,
    /// Of `cargo xtask bench`.
    Layers(&'p [String]),
}

impl Programs<'_> {
    /// Builds them in a tree: the ids of the rows that count, each with its program.
    fn build(&self, tree: &Workspace, long: bool) -> Result<Vec<(String, Program)>> {
        let built = match *self {
            Self::Subject(subject) => {
                let program = subject.build(tree, Side::Ours)?;
                let mut rows = program::list(&program)?;
                rows.retain(|row| long || row.kind != Kind::Long);
                let rows = rows.into_iter();
                return Ok(rows.map(|row| (row.id, program.clone())).collect());
            }
            Self::Published => vec![published::build(tree, Side::Ours)?],
            Self::Layers(layers) => programs::build(tree, layers, "")?,
        };
        let mut rows = programs::list(&built)?;
        // Peers have none of the rules.
        rows.retain(|(id, program)| {
            let ours = |(_, contender)| is_ours(&program.name, contender);
            row_and_contender(id).is_none_or(ours)
        });
        Ok(rows)
    }

    fn run(&self, entry: &Entry, home: &Path) -> Result<Run> {
        let Entry { program, id, .. } = entry;
        let millis = match self {
            Self::Subject(subject) => return program::run(program, id, subject.length),
            Self::Published => published::MILLIS,
            Self::Layers(_) => LAYER_MILLIS,
        };
        program.run(id, Length::of_millis(millis), home)
    }
}

/// A row: the program with all rules, then with each off.
fn row((id, program): &(String, Program), rules: &[&Rule], args: &BenchArgs) -> Row {
    let dear = args.dear.then(|| (DEAR, DEAR_MICROSECONDS.to_owned()));
    let named = |name: &str| {
        let mut program = program.clone();
        program.variables.push((OFF, name.to_owned()));
        program.variables.extend(dear.clone());
        Entry::new(name, id, &program)
    };
    let off = rules.iter().map(|rule| rule.name.as_str());
    Row {
        name: id.clone(),
        entries: [""].into_iter().chain(off).map(named).collect(),
    }
}

/// The rules that are asked for.
fn chosen<'r>(all: &'r [Rule], names: &[String]) -> Result<Vec<&'r Rule>> {
    let known = || Vec::from_iter(all.iter().map(|rule| rule.name.as_str())).join(", ");
    for name in names {
        let is_known = all.iter().any(|rule| rule.name == *name);
        ensure!(is_known, "there is no rule `{name}`; there are {}", known());
    }
    let wanted = |rule: &&Rule| names.is_empty() || names.contains(&rule.name);
    Ok(all.iter().filter(wanted).collect())
}

/// What the rule at this place among the contenders is worth.
struct Worth {
    name: String,
    wall: Estimate,
    /// Where it is known of any row.
    cpu: Option<Estimate>,
    /// The rows that change by a tenth, one way or the other, and their ratios.
    moved: Vec<(String, Estimate)>,
}

fn worth(rows: &[Row], runs: &Runs, at: usize) -> Worth {
    let ratios = |row: &Row, figure: fn(Run) -> Option<f64>| {
        let rounds = runs.last_round(&row.name);
        series(runs, &row.name, runs::Kind::Time, rounds, (0, at), figure).ratios()
    };
    let wall = |row: &Row| ratios(row, |run| Some(run.value));
    let means = |figure: fn(Run) -> Option<f64>| {
        let mut ratios = Vec::from_iter(rows.iter().map(|row| ratios(row, figure)));
        // The CPU time of a bench of criterion's is not always known.
        ratios.retain(|ratios| !ratios.is_empty());
        (!ratios.is_empty()).then(|| mean_of_medians(&ratios))
    };
    let moved = rows.iter().filter_map(|row| {
        let ratio = median_of_ratios(&wall(row));
        let is_sure = ratio.low > 1.0 || ratio.high < 1.0;
        let is_large = ratio.value >= MOVES || ratio.value <= 1.0 / MOVES;
        (is_sure && is_large).then(|| (row.name.clone(), ratio))
    });
    Worth {
        name: rows[0].entries[at].contender.clone(),
        wall: means(|run| Some(run.value)).expect("each run takes a time"),
        cpu: means(|run| run.cpu),
        moved: moved.collect(),
    }
}

/// A line a rule, in Markdown.
fn table(rules: &[Rule], worths: &[Worth]) -> String {
    let mut table = "| rule | decides | constants | mean wall | mean CPU | rows it moves |\n|---|---|---|--:|--:|---|\n".to_owned();
    for worth in worths {
        let rule = rules.iter().find(|rule| rule.name == worth.name);
        let rule = rule.expect("each contender but the first is a rule");
        let moved = worth.moved.iter();
        let moved = Vec::from_iter(moved.map(|(row, by)| format!("`{row}` {}", ratio(by.value))));
        let moved = match moved.len() {
            0 => "none".to_owned(),
            _ => moved.join(", "),
        };
        writeln!(
            table,
            "| {} | {} | {} | {} | {} | {moved} |",
            rule.name,
            rule.decides,
            rule.constants.len(),
            estimate(&worth.wall),
            worth.cpu.as_ref().map_or("–".to_owned(), estimate),
        )
        .expect("strings grow");
    }
    table
}

/// Builds, measures, and prints the table.
pub(super) fn run(ws: &Workspace, filter: &Regex, rayon: bool, args: &BenchArgs) -> Result<()> {
    child::catch_interrupts()?;
    let all = rules()?;
    let chosen = chosen(&all, &args.rule)?;
    let tree = copied(ws, "pay/tree", &planted(ws, &all)?)?;
    let measured = match () {
        () if args.published => Programs::Published,
        () if rayon => Programs::Subject(&RAYON),
        () if args.layers.is_empty() => Programs::Subject(&ECS),
        () => Programs::Layers(&args.layers),
    };
    let tree = Workspace::at(&tree.join("Cargo.toml"))?;
    let mut listed = measured.build(&tree, args.long)?;
    listed.retain(|(id, _)| filter.is_match(id));
    ensure!(!listed.is_empty(), "no row matches the filter");
    let rows = Vec::from_iter(listed.iter().map(|listed| row(listed, &chosen, args)));
    let rounds = args.rounds.unwrap_or(ROUNDS);
    let effort = Effort::new("compat --bench --pay", runs::Kind::Time, rounds);
    let mut runs = Runs::default();
    let home = tempfile::tempdir_in(&ws.target)?;
    measure_whole(effort, &rows, &mut runs, |row, at| {
        measured.run(&row.entries[at], home.path())
    })?;
    let contenders = rows.first().context("a row")?.entries.len();
    let worths = Vec::from_iter((1..contenders).map(|at| worth(&rows, &runs, at)));
    let machine = crate::report::page::origin_in_words(&origin(ws));
    println!(
        "{} rows, {rounds} rounds{}; {machine}. A ratio is the time without the rule to the time with it.\n",
        rows.len(),
        if args.dear { ", dear wakes" } else { "" },
    );
    println!("{}", table(&all, &worths));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{DEAR, MOVES, OFF, Rule, SWITCH, UNPARK, planted, rules, table, worth};
    use crate::measure::criterion::Program;
    use crate::measure::rounds::{Entry, Row};
    use crate::measure::runs::{Key, Kind, Run, Runs};
    use crate::workspace::Workspace;

    #[test]
    fn each_rule_can_be_planted() {
        let ws = Workspace::find().expect("there is a workspace");
        let rules = rules().expect("rules.toml is read");
        for Rule { name, edits, .. } in &rules {
            let switch = format!("off!(\"{name}\")");
            assert!(!edits.is_empty(), "{name}");
            assert!(edits.iter().all(|edit| edit.to.contains(&switch)), "{name}");
        }
        planted(&ws, &rules).expect("each edit has its place");
        assert!(SWITCH.contains(OFF) && UNPARK[1].contains(DEAR));
    }

    #[test]
    fn the_table_has_the_rows_that_a_rule_moves() {
        let all = rules().expect("rules.toml is read");
        let row = |name: &str| Row {
            name: name.to_owned(),
            entries: ["", &all[0].name]
                .map(|contender| Entry::new(contender, name, &Program::test()))
                .into(),
        };
        let rows = [row("a"), row("b")];
        let mut runs = Runs::default();
        for (row, slower) in [("a", MOVES + 0.1), ("b", 1.0)] {
            for (round, contender, turn) in (1..=3)
                .flat_map(|r| [0, 1].map(|c| [(r, c, 0), (r, c, 1)]))
                .flatten()
            {
                let key = Key {
                    id: row.to_owned(),
                    kind: Kind::Time,
                    round,
                    contender,
                    turn,
                };
                let value = if contender == 1 { slower } else { 1.0 };
                let run = Run {
                    cpu: Some(value),
                    ..Run::of(value)
                };
                runs.add(key, run).expect("no file is written");
            }
        }
        let worth = worth(&rows, &runs, 1);
        assert_eq!(worth.moved.len(), 1);
        let table = table(&all, &[worth]);
        assert!(table.contains("| `a` 1.200 |"), "{table}");
    }
}
