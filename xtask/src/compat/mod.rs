//! `cargo xtask compat`: published Bevy crates on the drop-in package, and what is published of `async-executor` on ours.
//!
//! Each suite runs on copies of the registry's sources with `[patch.crates-io]` appended. What has to pass is what
//! passed on the stock crate, recorded by `compat --bless`; there is no list of exceptions. Then random programs on both
//! sides, which have to print the same, and start-up apps.

mod apps;
mod bench;
mod differ;
mod expected;
mod imported;
mod outcome;
mod published;
mod registry;
mod sides;
mod suites;

use anyhow::{Result, bail};
use clap::Args;

use crate::progress::Progress;
use crate::workspace::Workspace;
use suites::{Runner, SUITES, Suite};

/// Options of `cargo xtask compat`.
#[derive(Args)]
pub(crate) struct CompatArgs {
    /// Record the names of the tests that pass on the stock crate
    #[arg(long, conflicts_with_all = ["bench", "apps", "differ"])]
    bless: bool,
    /// Run only the start-up apps
    #[arg(long, conflicts_with_all = ["bench", "differ"])]
    apps: bool,
    /// Run only the programs that print the same on the stock crate and on the drop-in
    #[arg(long, conflicts_with = "bench")]
    differ: bool,
    /// Random programs of each build
    #[arg(long, value_name = "N", requires = "differ")]
    seeds: Option<u64>,
    /// Compare the speed of ECS workloads on the stock crate and on the drop-in
    #[arg(long)]
    bench: bool,
    /// Run only what contains this text: suites and apps, programs, or rows of the bench
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    #[command(flatten)]
    bench_args: bench::BenchArgs,
}

/// Runs the published suites, the apps, or the bench.
pub(crate) fn run(args: CompatArgs) -> Result<()> {
    let filter = args.filter.as_deref();
    if args.bench {
        return bench::run(filter, args.bench_args);
    }
    let ws = Workspace::find()?;
    if args.apps {
        return apps::run(&ws, filter);
    }
    if args.differ {
        return differ::run(&ws, filter, args.seeds);
    }
    let chosen: Vec<_> = SUITES
        .iter()
        .filter(|suite| filter.is_none_or(|text| suite.name.contains(text)))
        .collect();
    if !chosen.is_empty() {
        run_suites(&ws, &chosen, args.bless)?;
    }
    if args.bless {
        return Ok(());
    }
    if filter.is_none() {
        differ::run(&ws, None, None)?;
        apps::run(&ws, None)?;
    } else if chosen.is_empty() {
        bail!(
            "no suite's name contains the filter (there are {})",
            names(SUITES)
        );
    }
    Ok(())
}

fn names(suites: &[Suite]) -> String {
    suites
        .iter()
        .map(|suite| suite.name)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Runs every suite, also after one has failed.
fn run_suites(ws: &Workspace, suites: &[&Suite], bless: bool) -> Result<()> {
    let runner = Runner::set_up(ws)?;
    let progress = Progress::new(
        if bless { "compat --bless" } else { "compat" },
        suites.len(),
    );
    let mut failed = Vec::new();
    for suite in suites {
        progress.at(suite.name);
        let result = if bless {
            runner.bless(suite)
        } else {
            runner.check(suite)
        };
        match result {
            Ok(line) => progress.line(&format!("{}: {line}", suite.name)),
            Err(error) => {
                progress.line(&format!("{}: FAILED: {error:#}", suite.name));
                failed.push(suite.name);
            }
        }
        progress.step();
    }
    progress.finish();
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}
