//! `cargo xtask bench --metric instr`: instructions under callgrind, ours beside the peers.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};

use super::rows::{self, Row};
use super::{BenchArgs, programs, table};
use crate::measure::criterion::Program;
use crate::measure::instr::{Count, Counter};
use crate::measure::machine::origin;
use crate::measure::stats::geometric_mean;
use crate::progress::Progress;
use crate::report::sheet::{Cell, Sheet};
use crate::report::units;
use crate::workspace::Workspace;

/// Below the rows.
const NOTE: &str = "Instructions an iteration under callgrind; ours/peer, below 1 ours needs fewer. The executor's \
                    own part leaves out what the workload calls beside it: channels, allocator, the bench itself.";

/// One of ours beside one peer.
struct Pair<'r> {
    row: &'r Row,
    ours: &'r str,
    peer: &'r str,
    counts: [&'r Count; 2],
}

impl Pair<'_> {
    fn ratio(&self) -> f64 {
        self.counts[0].instructions / self.counts[1].instructions
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
        for count in counter.count(executable, &programs::directory(ws)?)? {
            listed.push((count.id.clone(), program.clone()));
            counts.insert(count.id.clone(), count);
        }
        progress.step();
    }
    progress.finish();
    let rows = rows::select(rows::group(listed)?, &args.selection())?;
    let pairs = pairs(&rows, &counts);
    let sheet = Sheet {
        origin: origin(ws),
        title: "Instructions".to_owned(),
        note: NOTE.to_owned(),
        header: HEADER.map(str::to_owned).into(),
        rows: pairs.iter().map(cells).collect(),
    };
    println!("{}\n\n{}", sheet.terminal(), means(&pairs));
    for row in rows.iter().filter(|row| row.pairs().is_empty()) {
        for entry in &row.entries {
            let id = row.id(entry);
            println!("{id}: {}, no peer has this", counts[&id].instructions);
        }
    }
    if let Some(path) = &args.json {
        sheet.write(path)?;
    }
    args.gate.map_or(Ok(()), |gate| check(&pairs, gate))
}

fn pairs<'r>(rows: &'r [Row], counts: &'r BTreeMap<String, Count>) -> Vec<Pair<'r>> {
    let pairs = rows.iter().flat_map(|row| {
        row.pairs().into_iter().map(move |(ours, peer)| {
            let [ours, peer] = [&row.entries[ours], &row.entries[peer]];
            Pair {
                row,
                ours: &ours.contender,
                peer: &peer.contender,
                counts: [&counts[&row.id(ours)], &counts[&row.id(peer)]],
            }
        })
    });
    pairs.collect()
}

const HEADER: [&str; 8] = [
    "row",
    "ours",
    "peer",
    "our instructions",
    "the peer's",
    "ratio",
    "our own part",
    "the peer's own part",
];

fn cells(pair: &Pair<'_>) -> Vec<Cell> {
    let [ours, peer] = pair.counts;
    vec![
        Cell::Text(pair.row.name()),
        Cell::Text(pair.ours.to_owned()),
        Cell::Text(pair.peer.to_owned()),
        Cell::Instructions(ours.instructions),
        Cell::Instructions(peer.instructions),
        Cell::Ratio(pair.ratio()),
        Cell::Part(ours.own),
        Cell::Part(peer.own),
    ]
}

fn means(pairs: &[Pair<'_>]) -> comfy_table::Table {
    let mut means: Vec<([&str; 3], Vec<f64>)> = Vec::new();
    for pair in pairs {
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
    table
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

    use super::{cells, check, means, pairs};
    use crate::bench::rows::group;
    use crate::measure::criterion::Program;
    use crate::measure::instr::Count;
    use crate::report::sheet::Cell;

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
        let count = |(id, instructions): (&str, f64)| {
            let id = id.to_owned();
            let own = 0.5;
            (
                id.clone(),
                Count {
                    id,
                    instructions,
                    own,
                },
            )
        };
        let counts: BTreeMap<String, Count> = counts.map(count).into();
        let pairs = pairs(&rows, &counts);
        let ratios: Vec<f64> = pairs.iter().map(super::Pair::ratio).collect();
        assert_eq!(ratios, [0.5, 2.0]);
        assert!(means(&pairs).to_string().contains("1.000"));
        assert_eq!(cells(&pairs[0])[5..7], [Cell::Ratio(0.5), Cell::Part(0.5)]);
        check(&pairs, 2.0).expect("none is above");
        let error = check(&pairs, 1.0).expect_err("one is above");
        assert!(error.to_string().contains("queue/push/64"), "{error}");
    }
}
