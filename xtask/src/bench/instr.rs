//! `cargo xtask bench --metric instr`: instructions under callgrind, ours beside the peers.

use std::collections::BTreeMap;

use anyhow::Result;

use super::rounds::{Measured, Series};
use super::rows::{self, Row};
use super::{BenchArgs, programs, results, table};
use crate::measure::criterion::Program;
use crate::measure::instr::{Count, Counter};
use crate::measure::machine::origin;
use crate::progress::Progress;
use crate::report::peers::PeerRow;
use crate::report::sheet::{Cell, Sheet};
use crate::workspace::Workspace;

/// Below the rows.
const NOTE: &str = "Instructions an iteration under callgrind; ours/peer, below 1 ours needs fewer. The executor's \
                    own part leaves out what the workload calls beside it: channels, allocator, the bench itself.";

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
    let (pairs, means) = results::evaluated(&rows, &measured(&rows, &counts), usize::MAX);
    let sheet = Sheet {
        origin: origin(ws),
        title: "Instructions".to_owned(),
        note: NOTE.to_owned(),
        header: HEADER.map(str::to_owned).into(),
        rows: pairs.iter().map(|pair| cells(pair, &counts)).collect(),
    };
    println!("{}\n\n{}", sheet.terminal(), table::means(&means, "ratio"));
    for row in rows.iter().filter(|row| row.pairs().is_empty()) {
        for entry in &row.entries {
            let id = row.id(entry);
            println!("{id}: {}, no peer has this", counts[&id].instructions);
        }
    }
    if let Some(path) = &args.json {
        sheet.write(path)?;
    }
    args.gate
        .map_or(Ok(()), |gate| results::check(&pairs, gate))
}

/// The counts as the one round that there is.
fn measured(rows: &[Row], counts: &BTreeMap<String, Count>) -> Measured {
    let series = |row: &Row| {
        let of = |entry| Series {
            wall: vec![counts[&row.id(entry)].instructions],
            cpu: Vec::new(),
        };
        row.entries.iter().map(of).collect()
    };
    Measured {
        series: rows.iter().map(series).collect(),
        failed: Vec::new(),
    }
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

fn cells(pair: &PeerRow, counts: &BTreeMap<String, Count>) -> Vec<Cell> {
    let own = |contender: &str| {
        let (row, param) = (&pair.workload, pair.param.as_deref().unwrap_or_default());
        let id = format!("{}/{row}/{contender}/{param}", pair.layer);
        Cell::Part(counts[&id].own)
    };
    vec![
        Cell::Text(results::name(pair)),
        Cell::Text(pair.ours.clone()),
        Cell::Text(pair.peer.clone()),
        Cell::Instructions(pair.ours_ns),
        Cell::Instructions(pair.peer_ns),
        Cell::Ratio(pair.wall.value),
        own(&pair.ours),
        own(&pair.peer),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{cells, measured};
    use crate::bench::results::{check, evaluated};
    use crate::bench::rows::group;
    use crate::bench::table::means;
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
        let (pairs, all) = evaluated(&rows, &measured(&rows, &counts), usize::MAX);
        let ratios: Vec<f64> = pairs.iter().map(|pair| pair.wall.value).collect();
        assert_eq!(ratios, [0.5, 2.0]);
        assert!(means(&all, "ratio").to_string().contains("1.000"));
        assert_eq!(
            cells(&pairs[0], &counts)[5..7],
            [Cell::Ratio(0.5), Cell::Part(0.5)]
        );
        check(&pairs, 2.0).expect("none is above");
        let error = check(&pairs, 1.0).expect_err("one is above");
        assert!(error.to_string().contains("queue/push/64"), "{error}");
    }
}
