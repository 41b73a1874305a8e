//! `cargo xtask bench --metric instr`: instructions under callgrind, ours beside the peers.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};

use super::rows::{self, Row};
use super::{BenchArgs, programs, table};
use crate::measure::criterion::Program;
use crate::measure::instr::Counter;
use crate::measure::stats::geometric_mean;
use crate::progress::Progress;
use crate::report::model::Metric;
use crate::report::units;
use crate::workspace::Workspace;

/// One of ours beside one peer.
struct Pair<'r> {
    row: &'r Row,
    ours: &'r str,
    peer: &'r str,
    counts: [f64; 2],
}

impl Pair<'_> {
    fn ratio(&self) -> f64 {
        self.counts[0] / self.counts[1]
    }
}

/// Counts, and prints a table. Counts are the same in every run: one round, no intervals.
pub(super) fn run(ws: &Workspace, args: &BenchArgs) -> Result<()> {
    let counter = Counter::new(&ws.root, &ws.target)?;
    let executables = programs::build_instructions(ws, &args.layers)?;
    let progress = Progress::new("bench instructions", executables.len());
    let mut counts = BTreeMap::new();
    let mut listed = Vec::new();
    for executable in &executables {
        progress.at(&executable.name);
        let program = Program {
            path: executable.path.clone(),
            side: programs::SIDE.to_owned(),
        };
        for (id, count) in counter.count(executable, &programs::directory(ws)?)? {
            listed.push((id.clone(), program.clone()));
            counts.insert(id, count);
        }
        progress.step();
    }
    progress.finish();
    let rows = rows::select(rows::group(listed)?, &args.selection())?;
    let pairs = pairs(&rows, &counts);
    println!("{}", shown(&pairs));
    for row in rows.iter().filter(|row| row.pairs().is_empty()) {
        for entry in &row.entries {
            let id = row.id(entry);
            println!("{id}: {}, no peer has this", counts[&id]);
        }
    }
    args.gate.map_or(Ok(()), |gate| check(&pairs, gate))
}

fn pairs<'r>(rows: &'r [Row], counts: &BTreeMap<String, f64>) -> Vec<Pair<'r>> {
    let pairs = rows.iter().flat_map(|row| {
        row.pairs().into_iter().map(move |(ours, peer)| {
            let [ours, peer] = [&row.entries[ours], &row.entries[peer]];
            Pair {
                row,
                ours: &ours.contender,
                peer: &peer.contender,
                counts: [counts[&row.id(ours)], counts[&row.id(peer)]],
            }
        })
    });
    pairs.collect()
}

fn shown(pairs: &[Pair<'_>]) -> String {
    let mut rows = table::new(&["row", "ours", "peer", "ours", "peer's", "ratio"], 3);
    let mut means: Vec<([&str; 3], Vec<f64>)> = Vec::new();
    for pair in pairs {
        let [ours, peer] = units::values(Metric::Instr, pair.counts);
        rows.add_row([
            pair.row.name(),
            pair.ours.to_owned(),
            pair.peer.to_owned(),
            ours,
            peer,
            units::ratio(pair.ratio()),
        ]);
        let key = [&*pair.row.layer, pair.ours, pair.peer];
        match means.iter_mut().find(|(known, _)| *known == key) {
            Some((_, ratios)) => ratios.push(pair.ratio()),
            None => means.push((key, vec![pair.ratio()])),
        }
    }
    let mut table = table::new(&["layer", "ours", "peer", "rows", "ratio"], 3);
    for ([layer, ours, peer], ratios) in means {
        let amount = ratios.len().to_string();
        let mean = units::ratio(geometric_mean(ratios.into_iter()));
        table.add_row([layer, ours, peer, &amount, &mean]);
    }
    format!("{rows}\n\n{table}\n\ninstructions an iteration; ours/peer, below 1 ours needs fewer")
}

fn check(pairs: &[Pair<'_>], gate: f64) -> Result<()> {
    let above: Vec<String> = pairs
        .iter()
        .filter(|pair| pair.ratio() > gate)
        .map(|pair| {
            let ratio = units::ratio(pair.ratio());
            format!(
                "\n    {}: {} against {}, {ratio}",
                pair.row.name(),
                pair.ours,
                pair.peer
            )
        })
        .collect();
    ensure!(
        above.is_empty(),
        "{} rows are above {gate}:{}",
        above.len(),
        above.concat()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{check, pairs, shown};
    use crate::bench::rows::group;
    use crate::measure::criterion::Program;

    #[test]
    fn counts_are_held_against_the_peers() {
        let counts = [
            ("queue/steal/ring/64", 50.0),
            ("queue/steal/st3/64", 100.0),
            ("queue/push/ring/64", 200.0),
            ("queue/push/st3/64", 100.0),
        ];
        let program = Program {
            path: "bench".into(),
            side: "this tree".to_owned(),
        };
        let listed = counts.map(|(id, _)| (id.to_owned(), program.clone()));
        let rows = group(listed.into()).expect("well-formed");
        let counts: BTreeMap<String, f64> = counts.map(|(id, n)| (id.to_owned(), n)).into();
        let pairs = pairs(&rows, &counts);
        let ratios: Vec<f64> = pairs.iter().map(super::Pair::ratio).collect();
        assert_eq!(ratios, [0.5, 2.0]);
        assert!(shown(&pairs).contains("1.000"), "{}", shown(&pairs));
        check(&pairs, 2.0).expect("none is above");
        let error = check(&pairs, 1.0).expect_err("one is above");
        assert!(error.to_string().contains("queue/push/64"), "{error}");
    }
}
