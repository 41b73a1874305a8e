//! `cargo xtask loom`: the models of `loom-tests`, and the mutants that they must notice.
//!
//! Each model is a process of its own under a time limit, as many at a time as there are processors.

pub(crate) mod layers;
pub(crate) mod model;
pub(crate) mod mutants;
pub(crate) mod table;

use std::time::Duration;

use anyhow::{Result, ensure};
use clap::Args;

use crate::process::parallel;
use crate::progress::Progress;
use crate::workspace::Workspace;
use model::{Model, Verdict};

/// The package with the models.
pub(crate) const PACKAGE: &str = "terrace-loom-tests";

/// A model that takes longer than this explores too much to be run at every change.
const LIMIT: Duration = Duration::from_secs(600);

/// Options of `cargo xtask loom`.
#[derive(Args)]
pub(crate) struct LoomArgs {
    /// Run only the models (with --mutants also the mutants) whose name contains this text
    filter: Option<String>,
    /// Run only the models of one layer
    #[arg(long, value_parser = layers::NAMES)]
    layer: Option<String>,
    /// How often the schedule may switch away from a thread that could go on
    #[arg(long, value_name = "N", default_value_t = 2)]
    preemptions: usize,
    /// Then weaken the protocols line by line and require the named model to fail each time
    #[arg(long)]
    mutants: bool,
}

impl LoomArgs {
    fn chooses(&self, layer: &str, names: &[&str]) -> bool {
        let of_layer = self.layer.as_ref().is_none_or(|l| l == layer);
        let filter = self.filter.as_deref().unwrap_or_default();
        of_layer && names.iter().any(|n| n.contains(filter))
    }
}

/// Runs the models chosen, then with `--mutants` the mutants chosen.
pub(crate) fn run(ws: &Workspace, args: &LoomArgs) -> Result<()> {
    let mutants = match args.mutants {
        true => table::load(&ws.root)?,
        false => Vec::new(),
    };
    let build = model::build(ws);
    let models = model::list(ws, &build, args.layer.as_deref())?;
    let mutants = mutants::plan(mutants, &models, args)?;
    let chosen: Vec<Model> = models
        .into_iter()
        .filter(|m| args.chooses(m.layer, &[&m.title()]) || mutants.iter().any(|p| p.names(m)))
        .collect();
    ensure!(!chosen.is_empty(), "no model matches; see loom-tests/tests");
    let times = run_models(&chosen, args)?;
    if args.mutants {
        mutants::run(&build, &mutants, &times, args)?;
    }
    Ok(())
}

/// Runs the models; returns the time each took.
fn run_models(models: &[Model], args: &LoomArgs) -> Result<Vec<(String, Duration)>> {
    let progress = Progress::new("loom models", models.len());
    let results = parallel(models, |model| {
        progress.at(&model.title());
        let (verdict, finished) = model::run(&model.binary, &model.test, args.preemptions, LIMIT)?;
        let word = match &verdict {
            Verdict::Passed => "ok",
            Verdict::Failed(_) => "FAILED",
            Verdict::TimedOut => "TIMED OUT",
            Verdict::Missing => "MISSING",
        };
        let line = format!(
            "{word:9} {:7.2} s  {}",
            finished.time.as_secs_f64(),
            model.title()
        );
        progress.line(&line);
        progress.step();
        if verdict != Verdict::Passed {
            progress.line(&finished.output);
        }
        anyhow::Ok((verdict, finished.time))
    });
    progress.finish();
    let mut times = Vec::new();
    let mut failed = 0;
    for (model, result) in models.iter().zip(results) {
        let (verdict, time) = result?;
        failed += usize::from(verdict != Verdict::Passed);
        times.push((model.title(), time));
    }
    println!(
        "loom: {} models passed, {failed} failed",
        models.len() - failed
    );
    ensure!(failed == 0, "{failed} models failed");
    Ok(times)
}
