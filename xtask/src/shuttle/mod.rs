//! `cargo xtask shuttle`: the models of the whole scheduler, `loom-tests/shuttle`, in random schedules.
//!
//! The models of single protocols, `loom-tests`, run in random schedules too. Each model is a process of its own. What it does depends on the seed and the number of schedules alone; the schedule of
//! a failure is written to a file, and the command that replays it is printed.

mod mutants;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::build::{Binary, Build};
use crate::loom::model::{PROFILE, Verdict, judge};
use crate::process::{Finished, parallel, run_limited};
use crate::progress::Progress;
use crate::workspace::Workspace;

/// The package with the models.
const PACKAGE: &str = "terrace-shuttle-tests";

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
const ITERATIONS: u32 = 300;
/// The same for a model with a fault, which is to be found in any case: some hide behind several rare choices.
const ITERATIONS_WITH_FAULT: u32 = 6_000;

impl ShuttleArgs {
    /// Schedules of each kind.
    fn iterations(&self) -> u32 {
        self.iterations.unwrap_or(ITERATIONS)
    }
}

/// One model.
#[derive(Clone)]
struct Model {
    binary: Binary,
    test: String,
}

impl Model {
    fn title(&self) -> String {
        format!("{}::{}", self.binary.name, self.test)
    }
}

/// Runs the models chosen, then with `--mutants` the mutants chosen.
pub(crate) fn run(ws: &Workspace, args: &ShuttleArgs) -> Result<()> {
    let build = Build::special(ws, "shuttle", "--cfg terrace_shuttle");
    let all = list(&build)?;
    let filter = args.filter.as_deref().unwrap_or_default();
    let chosen: Vec<Model> = all
        .iter()
        .filter(|m| m.title().contains(filter))
        .cloned()
        .collect();
    if let Some(file) = &args.schedule {
        return replay(&chosen, file);
    }
    let mutants = match args.mutants {
        true => mutants::plan(ws, &all, filter)?,
        false => Vec::new(),
    };
    ensure!(
        !chosen.is_empty() || !mutants.is_empty(),
        "no model matches; see loom-tests/shuttle/tests"
    );
    run_models(&build, &chosen, args)?;
    if args.mutants {
        mutants::run(&build, &mutants, args)?;
    }
    Ok(())
}

/// Builds the models and lists them.
fn list(build: &Build) -> Result<Vec<Model>> {
    let packages = ["-p", PACKAGE, "-p", crate::loom::PACKAGE];
    let args = [&["--profile", PROFILE, "--tests"], &packages[..]].concat();
    let binaries = build.test_binaries(&args, false)?;
    let mut models = Vec::new();
    for binary in binaries {
        let output = Command::new(&binary.path)
            .args(["--list", "--format", "terse"])
            .output()
            .with_context(|| format!("cannot start {}", binary.path.display()))?;
        ensure!(output.status.success(), "`{} --list` failed", binary.name);
        let text = String::from_utf8_lossy(&output.stdout);
        let tests = text.lines().filter_map(|l| l.strip_suffix(": test"));
        models.extend(tests.map(|test| Model {
            binary: binary.clone(),
            test: test.to_owned(),
        }));
    }
    models.sort_by_key(Model::title);
    Ok(models)
}

/// Where a failure of the model leaves its schedule, emptied.
fn failed_dir(build: &Build, title: &str) -> Result<PathBuf> {
    let dir = build.target().join("failed").join(title.replace("::", "-"));
    if dir.exists() {
        std::fs::remove_dir_all(&dir)?;
    }
    std::fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
    Ok(dir)
}

fn command(model: &Model) -> Command {
    let mut command = Command::new(&model.binary.path);
    command
        .args(["--exact", &model.test, "--nocapture", "--test-threads=1"])
        .env("RUST_BACKTRACE", "0");
    command
}

fn explore(
    model: &Model,
    failed: &Path,
    iterations: u32,
    seed: u64,
) -> Result<(Verdict, Finished)> {
    let mut command = command(model);
    command
        .env("TERRACE_SHUTTLE_RUNS", iterations.to_string())
        .env("TERRACE_SHUTTLE_SEED", seed.to_string())
        // The same for the models of `terrace_sync::model`.
        .env("SHUTTLE_RANDOM_SEED", seed.to_string())
        .env("TERRACE_SHUTTLE_FAILED", failed);
    let finished = run_limited(command, LIMIT + LIMIT_EACH * iterations)?;
    Ok((judge(&finished), finished))
}

fn run_models(build: &Build, models: &[Model], args: &ShuttleArgs) -> Result<()> {
    println!(
        "shuttle: 2 x {} schedules a model, seed {}",
        args.iterations(),
        args.seed
    );
    let progress = Progress::new("shuttle models", models.len());
    let results = parallel(models, |model| {
        let title = model.title();
        progress.at(&title);
        let failed = failed_dir(build, &title)?;
        let (verdict, finished) = explore(model, &failed, args.iterations(), args.seed)?;
        let word = match &verdict {
            Verdict::Passed => "ok",
            Verdict::Failed(_) => "FAILED",
            Verdict::TimedOut => "TIMED OUT",
            Verdict::Missing => "MISSING",
        };
        progress.line(&format!(
            "{word:9} {:7.2} s  {title}",
            finished.time.as_secs_f64()
        ));
        progress.step();
        if verdict != Verdict::Passed {
            progress.line(&finished.output);
            progress.line(&how_to_replay(&title, &failed, args)?);
        }
        anyhow::Ok(verdict == Verdict::Passed)
    });
    progress.finish();
    let mut failed = 0;
    for result in results {
        failed += usize::from(!result?);
    }
    println!(
        "shuttle: {} models passed, {failed} failed",
        models.len() - failed
    );
    ensure!(failed == 0, "{failed} models failed");
    Ok(())
}

/// The commands that show a failure again.
fn how_to_replay(title: &str, failed: &Path, args: &ShuttleArgs) -> Result<String> {
    let mut text = format!(
        "all schedules up to the failing one again:\n  cargo xtask shuttle {title} --iterations {} --seed {}",
        args.iterations(),
        args.seed
    );
    for entry in std::fs::read_dir(failed)? {
        let file = entry?.path();
        text += &format!(
            "\nthe failing schedule alone:\n  cargo xtask shuttle {title} --schedule {}",
            file.display()
        );
    }
    Ok(text)
}

/// Runs one model in the schedule of a file; an error if it fails, as it should.
fn replay(chosen: &[Model], file: &Path) -> Result<()> {
    let [model] = chosen else {
        bail!(
            "--schedule needs a FILTER that names one model, and {} match",
            chosen.len()
        );
    };
    ensure!(file.is_file(), "there is no file {}", file.display());
    let mut command = command(model);
    command.env("TERRACE_SHUTTLE_SCHEDULE", std::path::absolute(file)?);
    let finished = run_limited(command, LIMIT)?;
    println!("{}", finished.output);
    let verdict = judge(&finished);
    ensure!(
        verdict == Verdict::Passed,
        "{} fails in this schedule",
        model.title()
    );
    println!("{} passes in this schedule", model.title());
    Ok(())
}
