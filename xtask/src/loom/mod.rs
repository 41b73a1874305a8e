//! `cargo xtask loom`: the models of `loom-tests`, and the mutants that they must notice.

pub(crate) mod readme;
mod replay;
pub(crate) mod sweep;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use clap::Args;

use crate::build::Build;
use crate::measure::machine::origin;
use crate::models::{self, ENDLESS, Explored, LOOM, Model, Times, Verdict, layers, weakened};
use crate::process::Finished;
use crate::report::page::origin_in_words;
use crate::workspace::Workspace;

/// The package with the models.
pub(crate) const PACKAGE: &str = "terrace-loom-tests";

/// A model that takes longer than this explores too much to be run at every change.
const LIMIT: Duration = Duration::from_secs(600);

/// The time that a model with something weakened gets: this, and this many times what it takes as it is.
const WEAKENED_LIMIT: Duration = Duration::from_secs(60);
const WEAKENED_FACTOR: u32 = 5;

/// What says to a model in how many schedules it runs at most.
const MOST_SCHEDULES: &str = "LOOM_MAX_PERMUTATIONS";

/// What changes the bound of the models.
const PREEMPTIONS: &str = "TERRACE_LOOM_PREEMPTIONS";

/// How loom's message starts when a run has more steps than it follows: nothing is shown then.
const EXHAUSTED: &str = "Model exceeded maximum number of branches";

/// Options of `cargo xtask loom`.
#[derive(Args)]
pub(crate) struct LoomArgs {
    /// Run only the models (with --mutants also the mutants) whose name contains this text
    filter: Option<String>,
    /// Run only the models of one layer
    #[arg(long, value_parser = layers::NAMES)]
    layer: Option<String>,
    /// Then weaken the protocols line by line and require the named model to fail each time
    #[arg(long)]
    mutants: bool,
    /// Then weaken every ordering of the layers alone and require some model to fail, or the list of those that no model
    /// misses to say why; FILTER and --layer choose orderings, and all models are run
    #[arg(long, conflicts_with = "mutants")]
    sweep: bool,
    /// How many schedules each model runs in at most, without mutants [default: all; with --sweep 60000]
    #[arg(long, value_name = "N", conflicts_with = "schedule")]
    schedules: Option<usize>,
    /// Run the schedule in this file, with locations and loom's log, of the one model that FILTER names
    #[arg(long, value_name = "FILE", conflicts_with_all = ["mutants", "sweep"])]
    schedule: Option<PathBuf>,
    /// Renew the tables of loom-tests/README.md, which takes a run of all models in all schedules
    #[arg(long, conflicts_with_all = ["filter", "layer", "sweep", "schedules", "schedule"])]
    write: bool,
}

impl LoomArgs {
    fn chooses(&self, layer: Option<&str>, names: &[&str]) -> bool {
        let of_layer = self.layer.is_none() || self.layer.as_deref() == layer;
        let filter = self.filter.as_deref().unwrap_or_default();
        of_layer && names.iter().any(|n| n.contains(filter))
    }
}

/// Runs the models chosen, then with `--mutants` the mutants chosen.
pub(crate) fn run(ws: &Workspace, args: &LoomArgs) -> Result<()> {
    ensure!(
        !args.write || std::env::var_os(PREEMPTIONS).is_none(),
        "the tables are those of the default bound: unset {PREEMPTIONS}"
    );
    // What the tables say of this run: the commit is the one that is built.
    let origin = args.write.then(|| origin_in_words(&origin(ws)));
    let build = LOOM.build(ws);
    let layer = args.layer.as_deref().filter(|_| !args.sweep);
    let models = list(ws, &build, layer)?;
    if args.sweep {
        let (times, _) = run_models(&build, &models, args)?;
        return sweep::run(ws, &build, &models, &times, args);
    }
    let chosen = |m: &&Model| args.chooses(m.layer(), &[&m.title()]);
    if let Some(file) = &args.schedule {
        let models: Vec<Model> = models.iter().filter(chosen).cloned().collect();
        let env = replay::environment(file)?;
        return models::replay(&models, file, &env);
    }
    let planned = LOOM.plan(&ws.root, &models, |mutant| {
        let names = [mutant.name.as_str(), &mutant.model];
        args.mutants && args.chooses(mutant.layer.as_deref(), &names)
    })?;
    let needed = |m: &&Model| chosen(m) || planned.iter().any(|(_, own)| own.title() == m.title());
    let models: Vec<Model> = models.iter().filter(needed).cloned().collect();
    ensure!(!models.is_empty(), "no model matches; see loom-tests/tests");
    let (times, explored) = run_models(&build, &models, args)?;
    if args.mutants {
        LOOM.catch(&planned, |mutant, model| {
            let limit = weakened_limit(times.get(&model.title()));
            Ok(verdict(&model.run(&weakened(Some(mutant)), limit)?))
        })?;
    }
    match origin {
        Some(origin) => readme::write(&ws.root, &origin, &times, &explored),
        None => Ok(()),
    }
}

/// What a run of a model with something weakened shows. Loom explores for as long as there is something new, and a thread
/// that spins is a failure of its own: one that does not end shows nothing.
fn verdict(finished: &Finished) -> Verdict {
    match Verdict::of(finished) {
        Verdict::Failed(how) if how.starts_with(EXHAUSTED) || how == ENDLESS => {
            Verdict::Unclear(how)
        }
        verdict => verdict,
    }
}

/// Builds the model `FILE::TEST` and runs it with the default options, with a fault or without.
pub(crate) fn run_one(ws: &Workspace, test: (&str, &str), fault: Option<&str>) -> Result<Verdict> {
    let model = LOOM.model(&LOOM.build(ws), test)?;
    Ok(Verdict::of(&model.run(&weakened(fault), LIMIT)?))
}

/// Builds the models, all or one layer's, and lists them.
fn list(ws: &Workspace, build: &Build, layer: Option<&str>) -> Result<Vec<Model>> {
    let mut targets = Vec::new();
    for file in layers::files(ws)? {
        match layers::of(file) {
            None => bail!(
                "loom-tests: `{file}` belongs to no layer; CONTRIBUTING.md says how files of models begin"
            ),
            of if layer.is_none() || of == layer => targets.extend(["--test", file]),
            _ => {}
        }
    }
    ensure!(!targets.is_empty(), "layer {layer:?} has no models");
    LOOM.list(build, &targets)
}

/// The time that a model with something weakened gets, which takes `time` as it is.
fn weakened_limit(time: Option<&Duration>) -> Duration {
    WEAKENED_LIMIT + WEAKENED_FACTOR * time.copied().unwrap_or_default()
}

/// Runs the models as they are; they note what a sweep, or a replay of a failure, needs.
fn run_models(
    build: &Build,
    models: &[Model],
    args: &LoomArgs,
) -> Result<(Times, HashMap<String, Explored>)> {
    let explored = Mutex::new(HashMap::new());
    let run = |model: &Model| {
        let mut env = match args.sweep {
            true => sweep::recording(build, model, args)?,
            false => replay::noting(build, model)?,
        };
        if let (Some(most), false) = (args.schedules, args.sweep) {
            env.push((MOST_SCHEDULES, most.to_string()));
        }
        let finished = model.run(&env, LIMIT)?;
        if let Some(found) = Explored::of(&finished.output) {
            let mut explored = explored.lock().expect("no insert panics");
            explored.insert(model.title(), found);
        }
        Ok(finished)
    };
    let times = LOOM.run(build, models, run, |model| replay::find(build, model))?;
    Ok((times, explored.into_inner().expect("no insert panics")))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_run_of_some_models_renews_no_table() {
        assert!(crate::parse("loom --mutants --write").is_ok());
        let others = [
            "queue",
            "--layer queue",
            "--schedules 9",
            "--sweep",
            "--schedule x.0",
        ];
        for other in others {
            let error = crate::parse(&format!("loom --write {other}")).err();
            let error = error.expect("the table would have gaps").to_string();
            assert!(error.contains("cannot be used with"), "{other}: {error}");
        }
    }
}
