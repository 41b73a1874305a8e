//! `cargo xtask bench --latency`: percentiles of the time from a wake to the woken task's poll.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::rows;
use super::{BenchArgs, programs};
use crate::measure::child;
use crate::measure::criterion::{Program, Run};
use crate::measure::machine::origin;
use crate::measure::rounds::{Effort, measure_whole};
use crate::measure::runs::{Kind, Runs};
use crate::report::sheet::{Cell, Sheet};
use crate::workspace::Workspace;
use xtask_stats::median;

/// Of one run of one bench.
const LIMIT: Duration = Duration::from_secs(120);
/// How many wakes a run samples by default, and with `--quick`.
const SAMPLES: (usize, usize) = (1_000, 100);

/// What the program prints of a run, as JSON.
const PARTS: [&str; 3] = ["p50", "p90", "p99"];

/// Runs the program's benches in rounds; prints the medians over the rounds.
pub(super) fn run(ws: &Workspace, args: &BenchArgs) -> Result<()> {
    let built = programs::build_targets(ws, vec![programs::LATENCY.to_owned()])?;
    let [program] = &built[..] else {
        anyhow::bail!("the latency program is one program, not {}", built.len());
    };
    let rows = rows::select(rows::group(listed(program)?)?, &args.selection)?;
    let samples = if args.quick { SAMPLES.1 } else { SAMPLES.0 };
    let rounds = args.rounds().into();
    let effort = Effort::new("bench latency", Kind::Time, rounds);
    let figures = RefCell::new(BTreeMap::<_, [Vec<f64>; 3]>::new());
    measure_whole(effort, &rows, &mut Runs::default(), |row, at| {
        let id = &row.entries[at].id;
        let found = measure(program, id, samples)?;
        let mut figures = figures.borrow_mut();
        let own = figures.entry(id.clone()).or_default();
        own.iter_mut()
            .zip(found)
            .for_each(|(all, one)| all.push(one));
        let wall = found[0];
        Ok(Run { wall, cpu: None })
    })?;
    let mut figures = figures.into_inner();
    let mut lines = Vec::new();
    for entry in rows.iter().flat_map(|row| &row.entries) {
        let mut line = vec![Cell::Text(entry.id.clone())];
        let own = figures.entry(entry.id.clone()).or_default().iter_mut();
        line.extend(own.map(|all| Cell::Nanoseconds(median(all))));
        lines.push(line);
    }
    let [p50, p90, p99] = PARTS;
    let sheet = Sheet {
        origin: origin(ws),
        title: "Latency".to_owned(),
        note: format!(
            "From a wake to the woken task's poll: medians over {rounds} rounds of two runs, {samples} wakes each."
        ),
        header: ["wake to run", p50, p90, p99].map(str::to_owned).into(),
        rows: lines,
    };
    println!("{}", sheet.terminal());
    args.json.as_ref().map_or(Ok(()), |path| sheet.write(path))
}

fn called(program: &Program, args: &[&str]) -> Result<String> {
    let mut command = std::process::Command::new(&program.path);
    let ended = child::run(command.args(args), LIMIT, |_, _| {})?;
    let (path, args) = (program.path.display(), args.join(" "));
    Ok(ended.checked(&format!("`{path} {args}` failed"))?.stdout)
}

fn listed(program: &Program) -> Result<Vec<(String, Program)>> {
    let ids = called(program, &["--ids"])?;
    let pair = |id: &str| (id.to_owned(), program.clone());
    Ok(ids.lines().map(pair).collect())
}

/// A value for each of [`PARTS`].
fn measure(program: &Program, id: &str, samples: usize) -> Result<[f64; 3]> {
    let printed = called(program, &["--id", id, "--samples", &samples.to_string()])?;
    let line: BTreeMap<String, f64> = serde_json::from_str(printed.trim())
        .with_context(|| format!("`{id}` printed something else: {}", printed.trim()))?;
    let found = PARTS.map(|part| line.get(part).copied());
    let [Some(p50), Some(p90), Some(p99)] = found else {
        bail!("`{id}` printed no percentiles: {}", printed.trim());
    };
    Ok([p50, p90, p99])
}
