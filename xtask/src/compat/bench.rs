//! `cargo xtask compat --bench`: ECS workloads on the stock crate and on the drop-in, in turn; with `--rayon` those of rayon on its own
//! core and on ours; with `--timeline` on the drop-in alone, with that feature and without.
//!
//! One program, `crates/compat/ecs-bench` or `rayon-bench`, is built twice from generated manifests, once as it is and
//! once with the drop-in patched in. Its rows are measured in rounds as those of `cargo xtask bench` are, with the stock
//! crate as the peer.

mod counts;
mod pay;
mod program;
mod published;
mod subject;
mod tunables;

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;
use regex_lite::Regex;

use super::sides::Side;
use crate::bench::results::{means, pairs};
use crate::measure::machine::origin;
use crate::measure::rounds::{self, Effort, measure_whole};
use crate::measure::runs::{self, Run, Runs};
use crate::report::peers::{BenchResults, PeerMean, PeerRow};
use crate::workspace::Workspace;
use program::Kind;
use subject::{ECS, RAYON};

/// Rounds by default.
const ROUNDS: u32 = 9;

#[derive(Args)]
pub(crate) struct BenchArgs {
    /// Rounds of the bench, 9 by default; each runs every row twice a side
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), requires = "bench")]
    rounds: Option<u32>,
    /// Instead, CPU time against time for values of the constants of fork-join
    #[arg(long, requires = "bench", conflicts_with_all = ["counts", "rayon", "published", "long"])]
    tunables: bool,
    /// Instead, what each rule is worth that only speed depends on: the rows with all rules, and with each off
    #[arg(long, requires = "bench", conflicts_with_all = ["counts", "tunables", "json"])]
    pay: bool,
    /// Only this rule; may be repeated
    #[arg(long, value_name = "NAME", requires = "pay")]
    rule: Vec<String>,
    /// The rows of this layer of `cargo xtask bench`, instead of ECS workloads; may be repeated
    #[arg(
        long = "layer",
        value_name = "LAYER",
        requires = "pay",
        conflicts_with = "rayon"
    )]
    layers: Vec<String>,
    /// With wakes that take their waker as long as that of a halted processor
    #[arg(long, requires = "pay")]
    dear: bool,
    /// Draw these into this file, as SVG
    #[arg(long, value_name = "FILE", requires = "tunables")]
    plot: Option<PathBuf>,
    /// Instead of the published crate, compare ours with itself: with feature `timeline`, which records all events, and without
    #[arg(long, requires = "bench", conflicts_with_all = ["tunables", "pay", "published", "rayon"])]
    timeline: bool,
    /// Write all figures to this file
    #[arg(long, value_name = "FILE", requires = "bench")]
    json: Option<PathBuf>,
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

/// Builds both sides, runs them in turn and prints the ratios.
pub(super) fn run(ws: &Workspace, filter: &str, rayon: bool, args: &BenchArgs) -> Result<()> {
    if args.tunables {
        return tunables::run(ws, filter, args);
    }
    let filter = Regex::new(filter)?;
    if args.pay {
        return pay::run(ws, &filter, rayon, args);
    }
    if args.published {
        return published::run(ws, &filter, args);
    }
    let subject = if rayon { &RAYON } else { &ECS };
    let sides = match args.timeline {
        true => subject.without_and_with_timeline(ws)?,
        false => Side::both(|side| subject.build(ws, side))?,
    };
    let mut rows = program::list(&sides[0])?;
    rows.retain(|row| args.long || row.kind != Kind::Long);
    rows.retain(|row| filter.is_match(&row.id));
    ensure!(!rows.is_empty(), "no row matches the filter");
    if args.counts {
        return counts::run(ws, &sides, &rows);
    }
    let (length, rounds) = (subject.length, args.rounds.unwrap_or(ROUNDS));
    let entries: Vec<_> = rows.iter().map(|r| subject.entries(r, &sides)).collect();
    let kind = |name: &str| {
        let mut named = rows.iter().zip(&entries).filter(|(_, e)| e.name == name);
        named.next().map_or(Kind::Control, |(row, _)| row.kind)
    };
    let effort = Effort::new("compat --bench", runs::Kind::Time, rounds);
    let times = (0, length.samples * length.millis);
    let run = |row: &rounds::Row, at: usize| {
        let entry = &row.entries[at];
        match entry.contender == subject::IDEAL {
            true => program::ideal(&entry.program, &entry.id),
            false => program::run(&entry.program, &entry.id, length),
        }
    };
    let results = measured(ws, args, effort, times, &entries, run, kind)?;
    for row in rows.iter().filter(|row| row.kind != Kind::Counted) {
        println!("    {}: {}", row.id, row.why);
    }
    if args.timeline {
        // Only reported: an empty task cannot but pay for its records.
        return Ok(());
    }
    let wake_us = results.origin.machine.wake_us;
    let (rows, means) = (&results.rows, &results.means);
    subject.limits.check(rows, means, wake_us, kind)
}

/// Measures rows, prints and saves the figures. A row of a name is of the `kind`.
fn measured(
    ws: &Workspace,
    args: &BenchArgs,
    effort: Effort<'_>,
    (warm_up_ms, time_ms): (u64, u64),
    rows: &[rounds::Row],
    run: impl Fn(&rounds::Row, usize) -> Result<Run>,
    kind: impl Fn(&str) -> Kind,
) -> Result<BenchResults> {
    let (origin, mut runs) = (origin(ws), Runs::default());
    measure_whole(effort, rows, &mut runs, run)?;
    let (rows, means) = evaluated(rows, &runs, kind);
    ensure!(!rows.is_empty(), "nothing was compared");
    let results = BenchResults {
        origin,
        rounds: effort.rounds as usize,
        warm_up_ms,
        time_ms,
        rows,
        means,
    };
    results.conclude("in no mean:", args.json.as_ref())?;
    Ok(results)
}

/// Ours beside stock; the means are over the rows that are counted.
fn evaluated(
    rows: &[rounds::Row],
    runs: &Runs,
    kind: impl Fn(&str) -> Kind,
) -> (Vec<PeerRow>, Vec<PeerMean>) {
    let mut pairs = pairs(rows, runs, runs::Kind::Time, usize::MAX);
    for pair in &mut pairs {
        pair.gated = kind(&pair.name()) == Kind::Counted;
    }
    let means = means(&pairs);
    (pairs, means)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::program::{Kind, Row};
    use super::subject::{ECS, RAYON, Subject};
    use super::{evaluated, rounds, runs};
    use crate::measure::criterion::Program;

    /// A row as the program lists it.
    fn listed(id: &str, kind: Kind) -> Row {
        Row {
            id: id.to_owned(),
            kind,
            threads: 2,
            why: String::new(),
        }
    }

    /// What exceeds a limit where rows of these kinds have these ratios of ours to stock.
    fn exceeded(subject: &Subject, wake_us: Option<f64>, rows: &[(Kind, f64)]) -> String {
        let sides = [Program::test(), Program::test()];
        let entry = |(at, (kind, _)): (usize, &(Kind, f64))| {
            subject.entries(&listed(&format!("row/{at}"), *kind), &sides)
        };
        let entries: Vec<_> = rows.iter().enumerate().map(entry).collect();
        let nth = |name: &str| entries.iter().position(|e| e.name == name).unwrap();
        let run = |row: &rounds::Row, at: usize| {
            let wall = 100.0 * [rows[nth(&row.name)].1, 1.0, 0.1][at];
            let cpu = Some(wall);
            Ok(runs::Run {
                cpu,
                ..runs::Run::of(wall)
            })
        };
        let mut all = runs::Runs::default();
        let effort = rounds::Effort::new("", runs::Kind::Time, 9);
        rounds::measure_whole(effort, &entries, &mut all, run).expect("nothing fails");
        let kind = |name: &str| rows[nth(name)].0;
        let (pairs, means) = evaluated(&entries, &all, kind);
        let limits = &subject.limits;
        let error = limits.check(&pairs, &means, wake_us, kind).err();
        error.map_or(String::new(), |error| error.to_string())
    }

    #[test]
    fn rows_and_means_have_limits() {
        use Kind::{Control, Counted, Gated, Long, Mixed};
        let all = [
            &[(Counted, 0.5)][..],
            &[(Counted, 0.5), (Gated, 1.0), (Control, 3.0)],
            &[(Counted, 0.7), (Control, 0.1)],
            &[(Counted, 0.1), (Counted, 1.2), (Gated, 1.2)],
            &[(Counted, 0.1), (Control, 1.2), (Mixed, 1.2)],
        ];
        let found = all.map(|rows| exceeded(&ECS, Some(5.0), rows));
        expect![[r#"

            --

            --
            the geometric mean 0.700 (0.700–0.700) of wall time is above 0.55
            --
            ecs/row/1/t2 is slower than stock: 1.200 (1.200–1.200); ecs/row/2/t2 is slower than stock: 1.200 (1.200–1.200)
            --
            ecs/row/2/t2 is slower than stock: 1.200 (1.200–1.200)"#]]
        .assert_eq(&found.join("\n--\n"));
        let dear = |wake_us| exceeded(&ECS, wake_us, &[(Counted, 0.5)]);
        assert!(dear(Some(20.0)).contains("is above 0.45"));
        assert_eq!(dear(Some(19.9)) + &dear(None), "");
        let row = exceeded(&ECS, None, &[(Counted, 0.5), (Gated, 1.07)]);
        assert!(row.contains("is slower than stock: 1.070"), "{row}");
        // Rayon has a limit of CPU time, too.
        let of_rayon = |rows: &[(Kind, f64)]| exceeded(&RAYON, None, rows);
        assert_eq!(of_rayon(&[(Counted, 0.5), (Long, 3.0)]), "");
        assert!(of_rayon(&[(Counted, 0.7)]).contains("CPU time is above 0.6"));
        assert_eq!(of_rayon(&[(Counted, 0.9)]).matches("above").count(), 2);
    }

    #[test]
    fn a_row_says_its_threads_once() {
        let name = |subject: &Subject, id| {
            let sides = [Program::test(), Program::test()];
            subject.entries(&listed(id, Kind::Counted), &sides).name
        };
        assert_eq!(name(&RAYON, "sum/100x0-t2"), "rayon/sum/100x0-t2");
        assert_eq!(name(&ECS, "busy/3-t1"), "ecs/busy/3-t1/t2");
    }
}
