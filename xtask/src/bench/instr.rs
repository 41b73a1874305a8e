//! `cargo xtask bench --metric instr`: instructions under callgrind, ours beside the peers.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use super::{BenchArgs, programs, results, rows};
use crate::measure::instr::{self, PREFIX};
use crate::measure::machine::origin;
use crate::measure::rounds::{Effort, measure_all};
use crate::measure::runs::{Kind, Run, Runs};
use crate::measure::share;
use crate::process::parallel;
use crate::progress::Progress;
use crate::report::document::Part;
use crate::report::peers::{PeerRow, means_table};
use crate::report::sheet::{Cell, Sheet};
use crate::report::terminal;
use crate::workspace::Workspace;

/// What was counted of a bench: instructions, and which part of them, of one, is the executor's own.
type Counts = BTreeMap<String, (f64, f64)>;

/// Below the rows.
const NOTE: &str = "Instructions an iteration under callgrind; ours/peer, below 1 ours needs fewer. The executor's \
                    own part leaves out what the workload calls beside it: channels, allocator, the bench itself.";

const HEADER: &str =
    "row, ours, peer, our instructions, the peer's, ratio, our own part, the peer's own part";

/// Counts, and prints a table. Counts are the same in every run: one round of what was counted once, no intervals.
pub(super) fn run(ws: &Workspace, args: &BenchArgs) -> Result<()> {
    instr::needs_valgrind()?;
    let mut all = Vec::new();
    for program in programs::build(ws, &args.selection.layers, PREFIX)? {
        let benches = program.list_counted()?.into_iter();
        all.extend(benches.map(|(id, call)| (id, call, program.clone())));
    }
    let progress = Progress::new("bench instructions", all.len());
    let home = tempfile::tempdir().context("cannot make a temporary directory")?;
    let counted = parallel(&all, |(id, call, program)| {
        progress.at(id);
        let count = program.count(call, home.path())?;
        progress.step();
        let own = share::own(&count.profile)?;
        anyhow::Ok((id.clone(), (count.instructions, own)))
    });
    progress.finish();
    let counts: Counts = counted.into_iter().collect::<Result<_>>()?;
    let listed = all.into_iter().map(|(id, _, program)| (id, program));
    let rows = rows::select(rows::group(listed.collect())?, &args.selection)?;
    let effort = Effort::new("bench instructions: rows", Kind::Instructions, 1);
    let mut runs = Runs::default();
    measure_all(effort, &rows, &mut runs, |row, at| {
        let (instructions, _) = counts[&row.entries[at].id];
        Ok(Run::of(instructions))
    })?;
    let pairs = results::pairs(&rows, &runs, Kind::Instructions, usize::MAX);
    let sheet = Sheet {
        origin: origin(ws),
        title: "Instructions".to_owned(),
        note: NOTE.to_owned(),
        header: HEADER.split(", ").map(str::to_owned).collect(),
        rows: pairs.iter().map(|pair| cells(pair, &counts)).collect(),
    };
    let means = means_table(&results::means(&pairs), "ratio");
    let means = terminal::parts(&[Part::Table(means)], false);
    sheet.conclude(args.json.as_ref())?;
    println!("\n{means}");
    results::print_alone(&rows, &runs, Kind::Instructions);
    results::check(&pairs, args.gate)
}

fn cells(pair: &PeerRow, counts: &Counts) -> Vec<Cell> {
    let own = |contender: &str| {
        let id = format!(
            "{}/{}/{contender}/{}",
            pair.layer, pair.workload, pair.param
        );
        Cell::Part(counts[&id].1)
    };
    vec![
        Cell::Text(pair.name()),
        Cell::Text(pair.ours.clone()),
        Cell::Text(pair.peer.clone()),
        Cell::Instructions(pair.ours_ns),
        Cell::Instructions(pair.peer_ns),
        Cell::Ratio(pair.wall.value),
        own(&pair.ours),
        own(&pair.peer),
    ]
}
