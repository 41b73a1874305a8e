//! `cargo xtask compat --bench`: ECS workloads on the stock crate and on the drop-in, in turn; with `--rayon` those of rayon on its own
//! core and on ours.
//!
//! One program, `crates/compat/ecs-bench` or `rayon-bench`, is built twice from generated manifests, once as it is and
//! once with the drop-in patched in. Its rows are measured in rounds as those of `cargo xtask bench` are, with the stock
//! crate as the peer.

mod counts;
mod program;
mod published;
mod subject;
mod tunables;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use clap::Args;

use crate::bench::results::{means, pairs};
use crate::measure::criterion::Program;
use crate::measure::machine::origin;
use crate::measure::rounds::{self, Effort, Entry, measure_whole};
use crate::measure::runs::{self, Runs};
use crate::report;
use crate::report::peers::{BenchResults, PeerMean, PeerRow};
use crate::workspace::Workspace;
use program::{Kind, Length, Row};
use subject::{ECS, RAYON, Subject, exceeding, name};

use super::sides::{self, OPTIMISED};

/// Rounds, samples of a run and milliseconds of a sample, with `--quick`.
const QUICK: (u32, usize, u64) = (5, 2, 25);

/// Options of `cargo xtask compat --bench`.
#[derive(Args)]
pub(crate) struct BenchArgs {
    /// Rounds of the bench; each runs every row twice a side
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), requires = "bench")]
    rounds: Option<u32>,
    /// Fewer and shorter rounds: a first look
    #[arg(long, requires = "bench")]
    quick: bool,
    /// Instead, CPU time against time for values of the constants of fork-join
    #[arg(long, requires = "bench", conflicts_with_all = ["counts", "rayon", "published", "aa", "long"])]
    tunables: bool,
    /// Draw these into this file, as SVG
    #[arg(long, value_name = "FILE", requires = "tunables")]
    plot: Option<PathBuf>,
    /// Write all figures to this file
    #[arg(long, value_name = "FILE", requires = "bench")]
    json: Option<PathBuf>,
    /// Compare the stock crate with itself: what is left is noise
    #[arg(long, requires = "bench", conflicts_with = "counts")]
    aa: bool,
    /// Compare the benches that async-executor publishes, instead of ECS workloads
    #[arg(long, requires = "bench", conflicts_with_all = ["counts", "rayon"])]
    published: bool,
    /// Measure also rows of which an iteration takes a tenth of a second and more
    #[arg(long, requires = "bench")]
    long: bool,
    /// Instead of comparing, print what one iteration of each row costs the system: CPU time, context
    /// switches, futex calls, barriers
    #[arg(long, requires = "bench")]
    counts: bool,
}

/// One build of the program.
#[derive(Clone)]
struct Side {
    /// `stock` or `ours`.
    name: &'static str,
    program: PathBuf,
}

impl Side {
    fn build(ws: &Workspace, side: sides::Side, subject: &Subject) -> Result<Self> {
        let program = side.program(ws, subject.package, &[subject.drop_in], OPTIMISED)?;
        let name = side.name();
        Ok(Self { name, program })
    }
}

/// Builds both sides, runs them in turn and prints the ratios.
pub(super) fn run(
    ws: &Workspace,
    filter: Option<&str>,
    rayon: bool,
    args: BenchArgs,
) -> Result<()> {
    if args.published {
        return published::run(ws, filter, &args);
    }
    if args.tunables {
        return tunables::run(ws, filter, &args);
    }
    let subject = if rayon { &RAYON } else { &ECS };
    let stock = Side::build(ws, sides::Side::Stock, subject)?;
    let ours = if args.aa {
        stock.clone()
    } else {
        Side::build(ws, sides::Side::Ours, subject)?
    };
    let rows = chosen_rows(&stock, filter, args.long)?;
    if args.counts {
        return counts::run(ws, &stock, &ours, &rows);
    }
    let (rounds, samples, millis) = if args.quick { QUICK } else { subject.full };
    let rounds = args.rounds.unwrap_or(rounds);
    let length = Length {
        samples,
        sample: Duration::from_millis(millis),
    };
    let sides = [ours, stock];
    let entries: Vec<rounds::Row> = (rows.iter())
        .map(|row| entries(subject, row, &sides))
        .collect();
    let mut runs = Runs::default();
    let run = |row: &rounds::Row, at: usize| {
        let id = &row.entries[at].id;
        match sides.get(at) {
            Some(side) => program::run(side, id, length),
            None => program::ideal(&sides[0], id),
        }
    };
    measure_whole(effort(rounds), &entries, &mut runs, run)?;
    let results = evaluated(subject, &rows, &entries, &runs);
    let failures = failures(subject, &rows, &results.0, &results.1);
    show(ws, &args, (rounds, 0, samples as u64 * millis), results)?;
    for row in rows.iter().filter(|row| row.kind != Kind::Counted) {
        println!("    {}: {}", row.id, row.why);
    }
    ensure!(args.aa || failures.is_empty(), "{}", failures.join("; "));
    Ok(())
}

/// Prints and saves figures, with the rounds and the milliseconds before and of each measurement.
fn show(
    ws: &Workspace,
    args: &BenchArgs,
    (rounds, warm_up_ms, time_ms): (u32, u64, u64),
    (rows, means): (Vec<PeerRow>, Vec<PeerMean>),
) -> Result<()> {
    let results = BenchResults {
        origin: origin(ws),
        rounds: rounds as usize,
        warm_up_ms,
        time_ms,
        rows,
        means,
    };
    println!("{}", results.terminal("in no mean:"));
    args.json
        .as_ref()
        .map_or(Ok(()), |path| report::save(&results, path))
}

fn effort(rounds: u32) -> Effort<'static> {
    Effort::new("compat --bench", runs::Kind::Time, rounds)
}

/// A row as the engine has it: ours, then the stock crate, then the ideal of a mixed row.
fn entries(subject: &Subject, row: &Row, sides: &[Side; 2]) -> rounds::Row {
    let entry = |(contender, side): (&str, &Side)| {
        let program = Program {
            name: subject.package.to_owned(),
            path: side.program.clone(),
            side: side.name.to_owned(),
        };
        Entry::new(contender, &row.id, &program)
    };
    let entries = ["ours", "stock"].into_iter().zip(sides);
    let ideal = (row.kind == Kind::Mixed).then_some(("ideal", &sides[0]));
    let entries = entries.chain(ideal).map(entry);
    rounds::Row {
        name: name(subject, row),
        entries: entries.collect(),
    }
}

/// Ours beside stock; the mean is over the rows that are counted.
fn evaluated(
    subject: &Subject,
    rows: &[Row],
    entries: &[rounds::Row],
    runs: &Runs,
) -> (Vec<PeerRow>, Vec<PeerMean>) {
    let mut pairs = pairs(entries, runs, runs::Kind::Time, usize::MAX);
    for pair in &mut pairs {
        pair.gated = of(subject, rows, pair).kind == Kind::Counted;
    }
    let means = means(&pairs);
    (pairs, means)
}

/// The row of a pair, which has the same name.
fn of<'r>(subject: &Subject, rows: &'r [Row], pair: &PeerRow) -> &'r Row {
    let (mut rows, wanted) = (rows.iter(), pair.name());
    rows.find(|row| name(subject, row) == wanted)
        .expect("each pair comes from a row")
}

/// What exceeds a limit. The ideal of a mixed row is none.
fn failures(subject: &Subject, rows: &[Row], pairs: &[PeerRow], means: &[PeerMean]) -> Vec<String> {
    let is_limited = |pair: &PeerRow| {
        let kind = of(subject, rows, pair).kind;
        pair.peer == "stock" && !matches!(kind, Kind::Control | Kind::Long)
    };
    let pairs = pairs.iter().filter(|pair| is_limited(pair));
    exceeding(pairs, means, subject.limits)
}

fn chosen_rows(side: &Side, filter: Option<&str>, long: bool) -> Result<Vec<Row>> {
    let filter = filter.map(regex_lite::Regex::new).transpose()?;
    let mut rows = program::list(side)?;
    rows.retain(|row| long || row.kind != Kind::Long);
    rows.retain(|row| filter.as_ref().is_none_or(|f| f.is_match(&row.id)));
    ensure!(!rows.is_empty(), "no row matches the filter");
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::program::Row;
    use super::{ECS, RAYON, Side, Subject, effort, entries, evaluated, failures, name};
    use crate::measure::criterion::Run;
    use crate::measure::rounds::measure_all;
    use crate::measure::runs::Runs;

    /// A row as the program lists it.
    fn listed(id: &str, kind: &str) -> Row {
        let line = format!(r#"{{"row":"{id}","kind":"{kind}","threads":2,"why":""}}"#);
        serde_json::from_str(&line).expect("the line has the program's form")
    }

    /// The failures where rows of these kinds have these ratios of ours to stock.
    fn of(rows: &[(&str, f64)]) -> Vec<String> {
        on(&ECS, rows)
    }

    fn on(subject: &Subject, rows: &[(&str, f64)]) -> Vec<String> {
        let side = |name| Side {
            name,
            program: "bench".into(),
        };
        let sides = [side("ours"), side("stock")];
        let row = |(kind, ratio): &(&str, f64)| listed(&format!("{kind}/{ratio}"), kind);
        let ratios: Vec<f64> = rows.iter().map(|(_, ratio)| *ratio).collect();
        let rows: Vec<Row> = rows.iter().map(row).collect();
        let entries: Vec<_> = (rows.iter())
            .map(|row| entries(subject, row, &sides))
            .collect();
        let run = |row: &crate::measure::rounds::Row, at: usize| {
            let nth = entries.iter().position(|entry| entry.name == row.name);
            let wall = 100.0 * [ratios[nth.expect("it is one of them")], 1.0, 0.1][at];
            let cpu = Some(wall);
            Ok(Run { wall, cpu })
        };
        let mut runs = Runs::default();
        measure_all(effort(9), &entries, &mut runs, run).expect("nothing fails");
        let (pairs, means) = evaluated(subject, &rows, &entries, &runs);
        failures(subject, &rows, &pairs, &means)
    }

    #[test]
    fn a_fast_side_passes() {
        assert_eq!(of(&[("counted", 0.5)]), [""; 0]);
    }

    #[test]
    fn the_mean_is_gated_over_counted_rows_alone() {
        let rows = [("counted", 0.5), ("gated", 1.0), ("control", 3.0)];
        assert_eq!(of(&rows), [""; 0]);
        assert_eq!(of(&[("counted", 0.7), ("control", 0.1)]).len(), 1);
    }

    #[test]
    fn slow_rows_fail_unless_they_are_controls() {
        let slow = |kind| (kind, 1.2);
        let failures = of(&[
            ("counted", 0.1),
            slow("counted"),
            slow("gated"),
            slow("control"),
            slow("mixed"),
        ]);
        assert_eq!(failures.len(), 3);
        assert!(failures[0].starts_with("ecs/counted/1.2/t2 is slower"));
        assert!(failures[1].starts_with("ecs/gated/1.2/t2 is slower"));
        assert!(failures[2].starts_with("ecs/mixed/1.2/t2 is slower than stock"));
    }

    #[test]
    fn rayon_has_a_limit_of_cpu_time_too() {
        assert_eq!(on(&RAYON, &[("counted", 0.5), ("long", 3.0)]), [""; 0]);
        let failures = on(&RAYON, &[("counted", 0.7)]);
        assert_eq!(failures.len(), 1, "{failures:?}");
        assert!(failures[0].contains("CPU time"), "{failures:?}");
        assert_eq!(on(&RAYON, &[("counted", 0.9)]).len(), 2);
    }

    #[test]
    fn a_row_that_says_its_threads_keeps_its_name() {
        assert_eq!(
            name(&RAYON, &listed("sum/100x0-t2", "counted")),
            "rayon/sum/100x0-t2"
        );
        assert_eq!(
            name(&ECS, &listed("busy/3-t1", "counted")),
            "ecs/busy/3-t1/t2"
        );
    }
}
