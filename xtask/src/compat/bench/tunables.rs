//! `--tunables`: what the constants of fork-join trade, CPU time against time.
//!
//! A constant is changed in a copy of the workspace, and the program `crates/compat/fork-bench` is built there for each value. The rows
//! are measured in rounds, with the value that ships as the peer.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::program::{self, Length};
use super::{BenchArgs, QUICK, Side};
use crate::build::Build;
use crate::compat::registry::write_if_changed;
use crate::measure::criterion::Program;
use crate::measure::machine::origin;
use crate::measure::rounds::{Effort, Entry, Row, measure_whole, series};
use crate::measure::runs::{Found, Kind, Runs};
use crate::report;
use crate::report::curves::{Curve, Panel, Point};
use crate::workspace::Workspace;
use xtask_stats::{median, median_of_ratios};

/// Rounds, samples of a run and milliseconds of a sample.
const FULL: (u32, usize, u64) = (9, 3, 20);
/// Quarters of the value that ships.
const QUARTERS: [u64; 4] = [1, 4, 16, 64];
/// The place of the value that ships among them.
const SHIPPED: usize = 1;
/// The program.
const PACKAGE: &str = "fork-bench";

/// A constant that trades one time for another.
struct Tunable {
    name: &'static str,
    /// The file that has it, and its name there.
    file: &'static str,
    constant: &'static str,
    /// The rows of the program that it matters for.
    rows: &'static [&'static str],
}

const TUNABLES: [Tunable; 4] = [
    Tunable {
        name: "beat",
        file: "crates/executor/src/pool/fork/consider.rs",
        constant: "BEAT",
        rows: &["burst", "small_burst"],
    },
    Tunable {
        name: "asking time",
        file: "crates/executor/src/work/forks.rs",
        constant: "ASKING",
        rows: &["steady", "coarse"],
    },
    Tunable {
        name: "sentinel's period",
        file: "crates/executor/src/parts/beat.rs",
        constant: "SENTINEL_PERIOD",
        rows: &["sudden", "burst"],
    },
    Tunable {
        name: "sentinel's lingering",
        file: "crates/executor/src/work/sentinel.rs",
        constant: "LINGER",
        rows: &["trickle"],
    },
];

impl Tunable {
    /// The text of the file before the constant's value, the value in nanoseconds, and the text after it.
    fn split<'t>(&self, text: &'t str) -> Result<(&'t str, u64, &'t str)> {
        let lead = format!("const {}: Duration = ", self.constant);
        let read = || {
            let (before, rest) = text.split_once(&lead)?;
            let (value, after) = rest.split_once(';')?;
            let (unit, number) = value.strip_prefix("Duration::from_")?.split_once('(')?;
            let unit = match unit {
                "nanos" => 1,
                "micros" => 1_000,
                "millis" => 1_000_000,
                _ => return None,
            };
            let number: u64 = number.strip_suffix(')')?.parse().ok()?;
            let value = number * unit;
            // The text after it begins with the semicolon.
            let (before, after) = (before.len() + lead.len(), text.len() - after.len() - 1);
            let is_single = !text[after..].contains(&lead);
            is_single.then(|| (&text[..before], value, &text[after..]))
        };
        read().with_context(|| format!("{} has no single constant {}", self.file, self.constant))
    }

    /// The file with a part of the constant's value, and that value.
    fn planted(&self, text: &str, quarters: u64) -> Result<(String, Duration)> {
        let (before, nanos, after) = self.split(text)?;
        let value = nanos * quarters / 4;
        let text = format!("{before}Duration::from_nanos({value}){after}");
        Ok((text, Duration::from_nanos(value)))
    }
}

/// A copy of what git tracks or would track.
fn copied(ws: &Workspace) -> Result<PathBuf> {
    let tree = ws.target.join("tunables/tree");
    for file in ws.files()? {
        write_if_changed(&tree.join(&file), &fs_err::read(ws.root.join(file))?)?;
    }
    Ok(tree)
}

/// Builds the program in the copy; its name says of which value it is.
fn build(ws: &Workspace, tree: &Path, name: &str) -> Result<Side> {
    let target = ws.target.join("tunables/build");
    let build = Build::of(&tree.join("crates/compat"), target.clone());
    build.quiet_cargo(&["build", "--release", "--quiet", "--locked", "-p", PACKAGE])?;
    let built = target.join("release").join(PACKAGE);
    let program = ws.target.join("tunables").join(name);
    fs_err::copy(&built, &program)?;
    let name = "ours";
    Ok(Side { name, program })
}

/// A constant with its values and the program of each.
type Built<'t> = (&'t Tunable, Vec<(Duration, Side)>);

/// Builds the program for each value of each constant.
fn build_all<'t>(ws: &Workspace, all: &[&'t Tunable]) -> Result<Vec<Built<'t>>> {
    let tree = copied(ws)?;
    eprintln!("building {PACKAGE} for each value of each constant");
    let shipped = build(ws, &tree, "shipped")?;
    let mut built = Vec::new();
    for tunable in all {
        let path = tree.join(tunable.file);
        let text = fs_err::read_to_string(&path)?;
        let mut values = Vec::new();
        for (at, quarters) in QUARTERS.into_iter().enumerate() {
            let (planted, value) = tunable.planted(&text, quarters)?;
            let side = if at == SHIPPED {
                shipped.clone()
            } else {
                write_if_changed(&path, planted.as_bytes())?;
                let name = format!("{}-{}", tunable.constant, value.as_nanos());
                build(ws, &tree, &name)?
            };
            values.push((value, side));
        }
        write_if_changed(&path, text.as_bytes())?;
        built.push((*tunable, values));
    }
    Ok(built)
}

/// What the engine runs in turn: a row with all values of a constant.
fn entries((tunable, values): &Built<'_>, id: &str) -> Row {
    let entry = |(value, side): &(Duration, Side)| {
        let program = Program {
            name: PACKAGE.to_owned(),
            path: side.program.clone(),
            side: format!("{} of {value:?}", tunable.constant),
        };
        Entry::new(&format!("{value:?}"), id, &program)
    };
    Row {
        name: format!("{}/{id}", tunable.constant),
        entries: values.iter().map(entry).collect(),
    }
}

/// A workload's points, one for each value of the constant.
fn curve((_, values): &Built<'_>, row: &Row, workload: &str, runs: &Runs) -> Curve {
    let rounds = runs.last_round(&row.name);
    let point = |(at, (value, _)): (usize, &(Duration, Side))| {
        let of = |figure: fn(Found) -> Option<f64>| {
            let mut series = series(runs, &row.name, Kind::Time, rounds, (SHIPPED, at), figure);
            let ratios = series.ratios();
            let is_known = !ratios.is_empty() && ratios.iter().all(|ratio| ratio.is_finite());
            is_known.then(|| (median(&mut series.head), median_of_ratios(&ratios)))
        };
        Some(Point {
            value: *value,
            is_shipped: at == SHIPPED,
            wall: of(|found| Some(found.value))?,
            cpu: of(|found| found.cpu)?,
        })
    };
    Curve {
        workload: workload.to_owned(),
        points: values.iter().enumerate().filter_map(point).collect(),
    }
}

/// Builds, measures, prints and saves.
pub(super) fn run(ws: &Workspace, filter: Option<&str>, args: &BenchArgs) -> Result<()> {
    let wanted = |tunable: &&Tunable| filter.is_none_or(|text| tunable.name.contains(text));
    let chosen: Vec<&Tunable> = TUNABLES.iter().filter(wanted).collect();
    ensure!(!chosen.is_empty(), "no constant's name contains the filter");
    let built = build_all(ws, &chosen)?;
    let (rounds, samples, millis) = if args.quick { QUICK } else { FULL };
    let rounds = args.rounds.unwrap_or(rounds);
    let length = Length {
        samples,
        sample: Duration::from_millis(millis),
    };
    let of = |built| move |id: &&'static str| (built, *id, entries(built, id));
    let all: Vec<(&Built<'_>, &str, Row)> = (built.iter())
        .flat_map(|built| built.0.rows.iter().map(of(built)))
        .collect();
    let rows: Vec<Row> = all.iter().map(|(_, _, row)| row.clone()).collect();
    let effort = Effort::new("compat --bench --tunables", Kind::Time, rounds);
    let mut runs = Runs::default();
    let run = |row: &Row, at: usize| {
        let entry = &row.entries[at];
        let side = Side {
            name: "ours",
            program: entry.program.path.clone(),
        };
        program::run(&side, &entry.id, length)
    };
    measure_whole(effort, &rows, &mut runs, run)?;
    let panel = |built: &Built<'_>| Panel {
        name: built.0.name.to_owned(),
        constant: format!("`{}` in `{}`", built.0.constant, built.0.file),
        curves: (all.iter())
            .filter(|(of, _, _)| std::ptr::eq(*of, built))
            .map(|(built, id, row)| curve(built, row, id, &runs))
            .collect(),
    };
    let panels: Vec<Panel> = built.iter().map(panel).collect();
    let sheet = report::curves::sheet(&panels, origin(ws), rounds);
    println!("{}", sheet.terminal());
    if let Some(path) = &args.json {
        report::save(&sheet, path)?;
    }
    if let Some(path) = &args.plot {
        report::write(path, &report::curves::svg(&panels))?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{QUARTERS, SHIPPED, TUNABLES, Tunable};
    use crate::workspace::Workspace;
    use std::time::Duration;

    #[test]
    fn each_constant_is_in_its_file() {
        let ws = Workspace::find().expect("there is a workspace");
        for tunable in TUNABLES {
            let text = fs_err::read_to_string(ws.root.join(tunable.file)).expect(tunable.file);
            let (_, nanos, _) = tunable.split(&text).expect(tunable.name);
            let shipped = Duration::from_nanos(nanos);
            let same = tunable.planted(&text, QUARTERS[SHIPPED]);
            assert_eq!(same.expect("it is there").1, shipped);
        }
    }

    #[test]
    fn a_value_is_planted_once() {
        let tunable = Tunable {
            name: "",
            file: "",
            constant: "A",
            rows: &[],
        };
        let text = "x\nconst A: Duration = Duration::from_micros(2);\ny\n";
        let planted = "x\nconst A: Duration = Duration::from_nanos(500);\ny\n";
        let value = Duration::from_nanos(500);
        assert_eq!(
            tunable.planted(text, 1).expect("it is there"),
            (planted.to_owned(), value)
        );
        assert!(
            tunable
                .planted("const B: Duration = Duration::from_micros(2);", 1)
                .is_err()
        );
        assert!(tunable.planted(&text.repeat(2), 1).is_err());
    }
}
