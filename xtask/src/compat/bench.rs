//! `cargo xtask compat --bench`: ECS workloads on the stock crate and on the drop-in, in turn.
//!
//! One program, `crates/compat/ecs-bench`, is built twice from generated manifests, once as it is and
//! once with the drop-in patched in. Every row of it is measured in rounds; a round runs the two
//! programs in the order stock, ours, ours, stock, each run a process of its own, and gives one
//! ratio, free of linear drift. Rounds are outside, rows inside, so that a row's rounds are spread over
//! the whole time. The figure of a row is the median of its rounds' ratios, with a bootstrap interval.

mod counts;
mod program;
mod report;
mod rounds;
mod sides;

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::workspace::Workspace;
use program::Row;
use rounds::Effort;
use sides::Side;

/// The geometric mean of ours/stock over the counted rows that must not be exceeded.
const MEAN_LIMIT: f64 = 0.65;
/// A row is a regression if its interval lies wholly above this.
const ROW_LIMIT: f64 = 1.10;

/// Options of `cargo xtask compat --bench`.
#[derive(Args)]
pub(crate) struct BenchArgs {
    /// Rounds of the bench; each runs every row twice a side
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), requires = "bench")]
    rounds: Option<u32>,
    /// Fewer and shorter rounds: a first look
    #[arg(long, requires = "bench")]
    quick: bool,
    /// Write all figures to this file
    #[arg(long, value_name = "FILE", requires = "bench")]
    json: Option<PathBuf>,
    /// Compare the stock crate with itself: what is left is noise
    #[arg(long, requires = "bench", conflicts_with = "counts")]
    aa: bool,
    /// Instead of comparing, print what one iteration of each row costs the system: CPU time, context
    /// switches, futex calls
    #[arg(long, requires = "bench")]
    counts: bool,
}

/// Builds both sides, runs them in turn and prints the ratios.
///
/// # Errors
///
/// If something cannot be built or run, and if a limit is exceeded.
pub(super) fn run(filter: Option<&str>, args: BenchArgs) -> Result<()> {
    let ws = Workspace::find()?;
    let stock = sides::build(&ws, "stock", None)?;
    let ours = if args.aa {
        stock.clone()
    } else {
        let drop_in = ws.root.join("crates/compat/bevy_tasks");
        sides::build(&ws, "ours", Some(&drop_in))?
    };
    let rows = chosen_rows(&stock, filter)?;
    if args.counts {
        return counts::run(&ws, &stock, &ours, &rows);
    }

    let effort = Effort::new(args.quick, args.rounds);
    let measured = rounds::measure(&stock, &ours, &rows, effort)?;
    let report = report::Report::new(&measured, effort, args.aa);
    print!("{}", report.text());
    if let Some(file) = &args.json {
        let json = serde_json::to_string_pretty(&report)?;
        std::fs::write(file, json).with_context(|| format!("cannot write {}", file.display()))?;
    }
    let failures = report.failures();
    ensure!(failures.is_empty(), "{}", failures.join("; "));
    Ok(())
}

fn chosen_rows(side: &Side, filter: Option<&str>) -> Result<Vec<Row>> {
    let filter = filter.map(regex_lite::Regex::new).transpose()?;
    let mut rows = program::list(side)?;
    rows.retain(|row| filter.as_ref().is_none_or(|f| f.is_match(&row.id)));
    ensure!(!rows.is_empty(), "no row matches the filter");
    Ok(rows)
}
