//! `--tunables`: what the constants of fork-join trade, CPU time against time.
//!
//! A constant is changed in a copy of the workspace, and the program `crates/compat/fork-bench` is built there for each value. The rows
//! are measured in rounds, with the value that ships as the peer.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use regex_lite::Regex;

use super::program::{self, Length};
use super::{BenchArgs, ROUNDS};
use crate::build::Build;
use crate::edits::{Changed, copied};
use crate::measure::criterion::Program;
use crate::measure::machine::origin;
use crate::measure::rounds::{Effort, Entry, Row, measure_whole, series};
use crate::measure::runs::{Kind, Run, Runs};
use crate::report;
use crate::report::curves::{Curve, Panel, Point};
use crate::workspace::{Workspace, write};
use xtask_stats::{median, median_of_ratios};

const LENGTH: Length = Length {
    samples: 3,
    millis: 20,
};
/// Quarters of the value that ships.
const QUARTERS: [u64; 4] = [1, 4, 16, 64];
/// The place of the value that ships among them.
const SHIPPED: usize = 1;
/// The program.
const PACKAGE: &str = "fork-bench";

/// A constant that trades one time for another.
struct Tunable {
    name: &'static str,
    /// What it is called in the sources.
    constant: &'static str,
    /// The rows of the program that it matters for.
    rows: &'static [&'static str],
}

/// All of them are here.
const FILE: &str = "crates/executor/src/tuned.rs";

static TUNABLES: [Tunable; 4] = [
    Tunable {
        name: "wake",
        constant: "WAKE",
        rows: &["burst", "small_burst"],
    },
    Tunable {
        name: "asking time",
        constant: "ASKING",
        rows: &["steady", "coarse"],
    },
    Tunable {
        name: "sentinel's period",
        constant: "PERIOD",
        rows: &["sudden", "burst"],
    },
    Tunable {
        name: "sentinel's lingering",
        constant: "LONG_PERIOD",
        rows: &["trickle"],
    },
];

impl Tunable {
    /// The file with a part of the constant's value, and that value.
    fn planted(&self, text: &str, quarters: u64) -> Result<(String, Duration)> {
        let pattern = format!(
            r"(const {}: Duration = Duration::from_)(nanos|micros|millis)\((\d+)\);",
            self.constant
        );
        let found: Vec<_> = Regex::new(&pattern)?.captures_iter(text).collect();
        let [found] = &found[..] else {
            bail!("{FILE} has no single constant {}", self.constant);
        };
        let number: u64 = found[3].parse()?;
        let whole = match &found[2] {
            "nanos" => Duration::from_nanos(number),
            "micros" => Duration::from_micros(number),
            _ => Duration::from_millis(number),
        };
        let value = whole.as_nanos() as u64 * quarters / 4;
        let planted = format!("{}nanos({value});", &found[1]);
        Ok((
            text.replace(&found[0], &planted),
            Duration::from_nanos(value),
        ))
    }
}

/// A constant with its values, and the program of each.
struct Built {
    tunable: &'static Tunable,
    values: Vec<(Duration, Program)>,
}

/// Builds the program in the copy; its name says of which value it is.
fn build(ws: &Workspace, tree: &Path, name: &str) -> Result<Program> {
    let target = ws.target.join("tunables/build");
    let build = Build::of(&tree.join("crates/compat"), target.clone());
    build.quiet_cargo(&["build", "--release", "--quiet", "--locked", "-p", PACKAGE])?;
    let path = ws.target.join("tunables").join(name);
    fs_err::copy(target.join("release").join(PACKAGE), &path)?;
    Ok(Program {
        name: PACKAGE.to_owned(),
        path,
        side: name.to_owned(),
        variables: Vec::new(),
    })
}

/// Builds the program for each value of each constant.
fn build_all(ws: &Workspace, all: &[&'static Tunable]) -> Result<Vec<Built>> {
    let tree = copied(ws, "tunables/tree", &Changed::new())?;
    eprintln!("building {PACKAGE} for each value of each constant");
    let shipped = build(ws, &tree, "shipped")?;
    let text = fs_err::read_to_string(tree.join(FILE))?;
    let mut built = Vec::new();
    for tunable in all {
        let mut values = Vec::new();
        for (at, quarters) in QUARTERS.into_iter().enumerate() {
            let (planted, value) = tunable.planted(&text, quarters)?;
            let program = if at == SHIPPED {
                shipped.clone()
            } else {
                write(&tree, FILE, planted)?;
                let name = format!("{}-{}", tunable.constant, value.as_nanos());
                build(ws, &tree, &name)?
            };
            values.push((value, program));
        }
        write(&tree, FILE, &text)?;
        built.push(Built { tunable, values });
    }
    Ok(built)
}

impl Built {
    /// What the engine runs in turn: a row with all values of the constant.
    fn row(&self, id: &str) -> Row {
        let values = self.values.iter();
        Row {
            name: format!("{}/{id}", self.tunable.constant),
            entries: values
                .map(|(value, program)| Entry::new(&format!("{value:?}"), id, program))
                .collect(),
        }
    }

    /// A workload's points, one for each value of the constant.
    fn curve(&self, id: &str, runs: &Runs) -> Curve {
        let row = self.row(id).name;
        let rounds = runs.last_round(&row);
        let point = |(at, (value, _)): (usize, &(Duration, Program))| {
            let of = |figure: fn(Run) -> Option<f64>| {
                let mut series = series(runs, &row, Kind::Time, rounds, (SHIPPED, at), figure);
                let ratios = series.ratios();
                let is_known = !ratios.is_empty() && ratios.iter().all(|ratio| ratio.is_finite());
                is_known.then(|| (median(&mut series.head), median_of_ratios(&ratios)))
            };
            Some(Point {
                value: *value,
                is_shipped: at == SHIPPED,
                wall: of(|run| Some(run.value))?,
                cpu: of(|run| run.cpu)?,
            })
        };
        Curve {
            workload: id.to_owned(),
            points: self.values.iter().enumerate().filter_map(point).collect(),
        }
    }

    fn panel(&self, runs: &Runs) -> Panel {
        let tunable = self.tunable;
        let ids = tunable.rows.iter();
        Panel {
            name: tunable.name.to_owned(),
            constant: format!("`{}` in `{FILE}`", tunable.constant),
            curves: ids.map(|id| self.curve(id, runs)).collect(),
        }
    }
}

/// Builds, measures, prints and saves.
pub(super) fn run(ws: &Workspace, filter: &str, args: &BenchArgs) -> Result<()> {
    let chosen = TUNABLES.iter().filter(|t| t.name.contains(filter));
    let chosen: Vec<&'static Tunable> = chosen.collect();
    ensure!(!chosen.is_empty(), "no constant's name contains the filter");
    let built = build_all(ws, &chosen)?;
    let rounds = args.rounds.unwrap_or(ROUNDS);
    let rows = built.iter().flat_map(|built| {
        let ids = built.tunable.rows.iter();
        ids.map(|id| built.row(id))
    });
    let rows: Vec<Row> = rows.collect();
    let effort = Effort::new("compat --bench --tunables", Kind::Time, rounds);
    let mut runs = Runs::default();
    measure_whole(effort, &rows, &mut runs, |row, at| {
        let entry = &row.entries[at];
        program::run(&entry.program, &entry.id, LENGTH)
    })?;
    let panels: Vec<Panel> = built.iter().map(|built| built.panel(&runs)).collect();
    let sheet = report::curves::sheet(&panels, origin(ws), rounds);
    sheet.conclude(args.json.as_ref())?;
    if let Some(path) = &args.plot {
        report::write(path, &report::curves::svg(&panels))?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{FILE, QUARTERS, SHIPPED, TUNABLES, Tunable};
    use crate::workspace::Workspace;
    use std::time::Duration;

    #[test]
    fn each_constant_is_in_its_file() {
        let ws = Workspace::find().expect("there is a workspace");
        let text = fs_err::read_to_string(ws.root.join(FILE)).expect(FILE);
        for tunable in &TUNABLES {
            let (_, shipped) = tunable
                .planted(&text, QUARTERS[SHIPPED])
                .expect(tunable.name);
            assert!(!shipped.is_zero());
        }
    }

    #[test]
    fn a_value_is_planted_once() {
        let tunable = Tunable {
            name: "",
            constant: "A",
            rows: &[],
        };
        let text = "x\nconst A: Duration = Duration::from_micros(2);\ny\n";
        let planted = "x\nconst A: Duration = Duration::from_nanos(500);\ny\n";
        let value = Duration::from_nanos(500);
        let quarter = tunable.planted(text, 1).expect("it is there");
        assert_eq!(quarter, (planted.to_owned(), value));
        for text in [
            &text.repeat(2),
            "const B: Duration = Duration::from_micros(2);",
        ] {
            assert!(tunable.planted(text, 1).is_err());
        }
    }
}
