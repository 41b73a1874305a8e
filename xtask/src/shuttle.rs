//! `cargo xtask shuttle`: the models of the whole scheduler, `loom-tests/shuttle`, in random schedules.
//!
//! The models of single protocols, `loom-tests`, run in random schedules too. What a model does depends on the seed and the
//! number of schedules alone; the schedule of a failure is written to a file, and the command that replays it is printed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, ensure};
use clap::Args;

use crate::models::{self, Model, SHUTTLE, Verdict};
use crate::process::Finished;
use crate::workspace::Workspace;

/// A model that takes longer than this for each of its schedules hangs.
const LIMIT: Duration = Duration::from_secs(120);
/// How much longer, for each schedule.
const LIMIT_EACH: Duration = Duration::from_millis(200);

/// Options of `cargo xtask shuttle`.
#[derive(Args)]
pub(crate) struct ShuttleArgs {
    /// Run only the models (with --mutants also the mutants) whose name contains this text
    filter: Option<String>,
    /// How many random schedules, and as many by priorities, each model runs in [default: 300; with a fault planted 6000,
    /// of which the first that finds it is the last]
    #[arg(long, value_name = "N")]
    iterations: Option<u32>,
    /// Where the random choices start; the same seed gives the same schedules
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Replay the schedule in this file, with the one model that FILTER names
    #[arg(long, value_name = "FILE", conflicts_with_all = ["iterations", "seed", "mutants"])]
    schedule: Option<PathBuf>,
    /// Then plant faults one by one and require the named model to fail each time
    #[arg(long)]
    mutants: bool,
}

/// Schedules of each kind for a model as it is.
pub(crate) const ITERATIONS: u32 = 300;
/// The same for a model with a fault, which is to be found in any case: some hide behind several rare choices.
const ITERATIONS_WITH_FAULT: u32 = 6_000;

/// Runs the models chosen, then with `--mutants` the mutants chosen.
pub(crate) fn run(ws: &Workspace, args: &ShuttleArgs) -> Result<()> {
    let build = SHUTTLE.build(ws);
    let all = SHUTTLE.list(&build, &["--tests"])?;
    let filter = args.filter.as_deref().unwrap_or_default();
    let chosen = all.iter().filter(|m| m.title().contains(filter));
    let chosen: Vec<Model> = chosen.cloned().collect();
    if let Some(file) = &args.schedule {
        let path = std::path::absolute(file)?.display().to_string();
        return models::replay(&chosen, file, &vec![("TERRACE_SHUTTLE_SCHEDULE", path)]);
    }
    let planned = SHUTTLE.plan(&ws.root, &all, |mutant| {
        args.mutants && (mutant.name.contains(filter) || mutant.model.contains(filter))
    })?;
    ensure!(
        !chosen.is_empty() || !planned.is_empty(),
        "no model matches; see loom-tests/shuttle/tests"
    );
    let (iterations, seed) = (args.iterations.unwrap_or(ITERATIONS), args.seed);
    println!("shuttle: 2 x {iterations} schedules a model, seed {seed}");
    let run = |model: &Model| explore(model, None, &model.notes(&build, "")?, iterations, seed);
    SHUTTLE.run(&build, &chosen, run, |_| Ok(()))?;
    if !args.mutants {
        return Ok(());
    }
    let iterations = args.iterations.unwrap_or(ITERATIONS_WITH_FAULT);
    SHUTTLE.catch(&planned, |name, model| {
        let failed = model.notes(&build, &format!("mutant-{name}-"))?;
        let finished = explore(model, Some(name), &failed, iterations, seed)?;
        Ok(Verdict::of(&finished))
    })
}

/// Builds the model `FILE::TEST` and runs it in the usual schedules, with a fault or without.
pub(crate) fn run_one(ws: &Workspace, test: (&str, &str), fault: Option<&str>) -> Result<Verdict> {
    let build = SHUTTLE.build(ws);
    let model = SHUTTLE.model(&build, test)?;
    let iterations = fault.map_or(ITERATIONS, |_| ITERATIONS_WITH_FAULT);
    let failed = model.notes(&build, "prove-")?;
    let finished = explore(&model, fault, &failed, iterations, 0)?;
    Ok(Verdict::of(&finished))
}

/// Runs a model, with a `fault` or without. It leaves the schedule of a failure in the directory `failed`.
fn explore(
    model: &Model,
    fault: Option<&str>,
    failed: &Path,
    iterations: u32,
    seed: u64,
) -> Result<Finished> {
    let mut env = models::weakened(fault);
    env.extend([
        ("TERRACE_SHUTTLE_RUNS", iterations.to_string()),
        ("TERRACE_SHUTTLE_SEED", seed.to_string()),
        // The same for the models of `terrace_sync::model`.
        ("SHUTTLE_RANDOM_SEED", seed.to_string()),
        ("TERRACE_SHUTTLE_FAILED", failed.display().to_string()),
    ]);
    model.run(&env, LIMIT + LIMIT_EACH * iterations)
}
