//! Planted faults of the scheduler's hand-over, each of which a model must find.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use comfy_table::Table as Printed;
use serde::Deserialize;

use super::{ITERATIONS_WITH_FAULT, Model, PACKAGE, ShuttleArgs, explore, failed_dir};
use crate::build::Build;
use crate::loom::model::{PROFILE, Verdict};
use crate::loom::mutants::wrapper;
use crate::progress::Progress;
use crate::workspace::Workspace;

/// Where the table lies.
pub(crate) const TABLE: &str = "loom-tests/shuttle/mutants.toml";

/// A fault and the model that must find it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mutant {
    /// The value of `cfg(terrace_weaken)`; a mutant of loom's table too.
    name: String,
    /// The test that must fail.
    model: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    mutant: Vec<Mutant>,
}

/// A mutant and its model.
pub(super) struct Planned {
    mutant: Mutant,
    model: Model,
}

/// Reads the table, chooses by `filter`, finds the models.
pub(super) fn plan(ws: &Workspace, models: &[Model], filter: &str) -> Result<Vec<Planned>> {
    let text = std::fs::read_to_string(ws.root.join(TABLE))
        .with_context(|| format!("cannot read {TABLE}"))?;
    let table: Table =
        toml::from_str(&text).with_context(|| format!("{TABLE} is not a table of mutants"))?;
    let chosen = table
        .mutant
        .into_iter()
        .filter(|m| m.name.contains(filter) || m.model.contains(filter));
    chosen
        .map(|mutant| {
            let model = models
                .iter()
                .find(|m| m.test == mutant.model)
                .with_context(|| format!("mutant `{}`: no model `{}`", mutant.name, mutant.model))?
                .clone();
            Ok(Planned { mutant, model })
        })
        .collect()
}

/// Builds and runs every mutant, prints a table, fails unless each was found.
pub(super) fn run(build: &Build, planned: &[Planned], args: &ShuttleArgs) -> Result<()> {
    ensure!(!planned.is_empty(), "no mutant matches; see {TABLE}");
    let progress = Progress::new("shuttle mutants", planned.len());
    let mut table = Printed::new();
    table.load_preset(comfy_table::presets::NOTHING);
    table.set_header(["mutant", "model", "", "how"]);
    let mut missed = 0;
    for plan in planned {
        let name = &plan.mutant.name;
        progress.at(name);
        let start = Instant::now();
        let (word, how) = match run_one(build, plan, args)? {
            Verdict::Failed(how) => ("found", how),
            Verdict::TimedOut => ("found", "it does not end".to_owned()),
            Verdict::Passed => ("MISSED", "the model passes with the fault".to_owned()),
            Verdict::Missing => ("MISSED", "there is no such test".to_owned()),
        };
        missed += usize::from(word == "MISSED");
        let time = start.elapsed().as_secs_f64();
        progress.line(&format!("{word:9} {time:7.2} s  {name}"));
        progress.step();
        table.add_row([name, &plan.model.title(), word, &how]);
    }
    progress.finish();
    println!("{table}");
    println!(
        "shuttle: {} of {} faults found",
        planned.len() - missed,
        planned.len()
    );
    ensure!(missed == 0, "{missed} faults were not found");
    Ok(())
}

fn run_one(build: &Build, plan: &Planned, args: &ShuttleArgs) -> Result<Verdict> {
    let wrapper = wrapper(build.target(), &plan.mutant.name)?;
    let build = build
        .clone()
        .env("RUSTC_WORKSPACE_WRAPPER", wrapper.display().to_string());
    let file = &plan.model.binary.name;
    let words = ["--profile", PROFILE, "-p", PACKAGE, "--test", file];
    let binaries = build
        .test_binaries(&words, true)
        .context("does not compile")?;
    let binary = binaries.into_iter().find(|b| b.name == *file);
    let model = Model {
        binary: binary.context("cargo built no test")?,
        test: plan.model.test.clone(),
    };
    let failed = failed_dir(&build, &format!("mutant-{}", plan.mutant.name))?;
    let iterations = args.iterations.unwrap_or(ITERATIONS_WITH_FAULT);
    Ok(explore(&model, &failed, iterations, args.seed)?.0)
}
