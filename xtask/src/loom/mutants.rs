//! Mutants: each is a build in which one line is weakened, and one model must fail in it.
//!
//! The cfg reaches workspace crates alone, through a wrapper of rustc with a path of its own for
//! each mutant: cargo keys their artifacts by that path, and does not build loom anew.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use comfy_table::Table;

use super::model::{self, Model, Verdict};
use super::table::Mutant;
use super::{LoomArgs, PACKAGE};
use crate::build::Build;
use crate::process::parallel;
use crate::progress::Progress;

/// The time a mutant's model gets: this, and this many times what it takes unmutated.
const LIMIT: Duration = Duration::from_secs(60);
const LIMIT_FACTOR: u32 = 5;

/// A mutant and its model.
pub(super) struct Planned {
    mutant: Mutant,
    model: Model,
}

impl Planned {
    /// Whether `model` is this mutant's.
    pub(super) fn names(&self, model: &Model) -> bool {
        self.model.title() == model.title()
    }
}

/// How it went with one mutant.
enum Outcome {
    /// The model failed, for this reason.
    Killed(String),
    /// The model passed: it does not see the line.
    Survived,
    /// Nothing was learnt.
    Error(String),
}

/// Chooses the mutants and finds their models.
pub(super) fn plan(
    mutants: Vec<Mutant>,
    models: &[Model],
    args: &LoomArgs,
) -> Result<Vec<Planned>> {
    mutants
        .into_iter()
        .filter(|m| args.chooses(&m.layer, &[&m.name, &m.model]))
        .map(|mutant| {
            let model = find(&mutant, models)?.clone();
            Ok(Planned { mutant, model })
        })
        .collect()
}

fn find<'m>(mutant: &Mutant, models: &'m [Model]) -> Result<&'m Model> {
    let Mutant { name, layer, model } = mutant;
    let inside = format!("::{model}");
    let found: Vec<&Model> = models
        .iter()
        .filter(|m| m.layer == layer && (m.title() == *model || m.title().ends_with(&inside)))
        .collect();
    match found[..] {
        [one] => Ok(one),
        [] => bail!("mutant `{name}`: no model `{model}` in layer {layer}"),
        _ => bail!(
            "mutant `{name}`: several models `{model}` in layer {layer}; name the file: `FILE::{model}`"
        ),
    }
}

/// Builds and runs every mutant, prints a table, fails unless each was killed.
pub(super) fn run(
    build: &Build,
    planned: &[Planned],
    times: &[(String, Duration)],
    args: &LoomArgs,
) -> Result<()> {
    ensure!(
        !planned.is_empty(),
        "no mutant matches; see {}",
        super::table::TABLE
    );
    let progress = Progress::new("loom mutants", planned.len());
    let outcomes = parallel(planned, |plan| {
        progress.at(&plan.mutant.name);
        let time = times.iter().find(|(title, _)| *title == plan.model.title());
        let limit = LIMIT + LIMIT_FACTOR * time.map_or(Duration::ZERO, |(_, t)| *t);
        let outcome = run_one(build, plan, args.preemptions, limit)
            .unwrap_or_else(|error| Outcome::Error(format!("{error:#}")));
        let (word, _) = outcome.words();
        progress.line(&format!("{word:9} {}", plan.mutant.name));
        progress.step();
        if let Outcome::Error(why) = &outcome {
            progress.line(why);
        }
        outcome
    });
    progress.finish();
    let mut table = Table::new();
    table.load_preset(comfy_table::presets::NOTHING);
    table.set_header(["mutant", "model", "", "how"]);
    for (plan, outcome) in planned.iter().zip(&outcomes) {
        let (word, how) = outcome.words();
        table.add_row([&plan.mutant.name, &plan.model.title(), word, how]);
    }
    println!("{table}");
    let killed = outcomes
        .iter()
        .filter(|o| matches!(o, Outcome::Killed(_)))
        .count();
    println!("loom: {killed} of {} mutants killed", planned.len());
    ensure!(
        killed == planned.len(),
        "{} mutants were not killed",
        planned.len() - killed
    );
    Ok(())
}

impl Outcome {
    fn words(&self) -> (&'static str, &str) {
        match self {
            Outcome::Killed(how) => ("killed", how),
            Outcome::Survived => ("SURVIVED", "the model passes with the line weakened"),
            Outcome::Error(why) => ("ERROR", why.lines().next().unwrap_or_default()),
        }
    }
}

fn run_one(build: &Build, plan: &Planned, preemptions: usize, limit: Duration) -> Result<Outcome> {
    let wrapper = wrapper(build.target(), &plan.mutant.name)?;
    let build = build
        .clone()
        .env("RUSTC_WORKSPACE_WRAPPER", wrapper.display().to_string());
    let file = &plan.model.binary.name;
    let args = ["--profile", model::PROFILE, "-p", PACKAGE, "--test", file];
    let binaries = build
        .test_binaries(&args, true)
        .context("does not compile")?;
    let binary = binaries
        .iter()
        .find(|b| b.name == *file)
        .context("cargo built no test")?;
    let (verdict, finished) = model::run(binary, &plan.model.test, preemptions, limit)?;
    Ok(match verdict {
        Verdict::Failed(how) if how.starts_with(model::EXHAUSTED) => Outcome::Error(how),
        Verdict::Failed(how) => Outcome::Killed(how),
        Verdict::Passed => Outcome::Survived,
        Verdict::Missing => Outcome::Error(format!("no test `{}`", plan.model.test)),
        Verdict::TimedOut => Outcome::Error(format!(
            "neither passed nor failed in {:.0?}",
            finished.time
        )),
    })
}

/// Writes the wrapper of one mutant, unless it is there: its path is what tells builds apart.
pub(crate) fn wrapper(target: &Path, name: &str) -> Result<PathBuf> {
    let dir = target.join("mutants").join(name);
    let path = dir.join("rustc-wrapper");
    let text = format!("#!/bin/sh\nexec \"$@\" --cfg 'terrace_weaken=\"{name}\"'\n");
    if std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
        return Ok(path);
    }
    std::fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    make_executable(&path)?;
    Ok(path)
}

#[cfg(unix)]
fn make_executable(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))?;
    Ok(())
}

#[cfg(not(unix))]
fn make_executable(_path: &Path) -> Result<()> {
    bail!("`cargo xtask loom --mutants` needs a Unix: its compiler wrapper is a shell script")
}

#[cfg(test)]
mod tests {
    use super::super::model::Model;
    use super::super::table::Mutant;
    use super::find;
    use crate::build::Binary;

    fn model(file: &str, test: &str) -> Model {
        Model {
            layer: "queue",
            binary: Binary {
                name: file.to_owned(),
                path: file.into(),
            },
            test: test.to_owned(),
        }
    }

    fn mutant(model: &str) -> Mutant {
        Mutant {
            name: "m".to_owned(),
            layer: "queue".to_owned(),
            model: model.to_owned(),
        }
    }

    #[test]
    fn one_model_is_found_by_its_name() {
        let models = [
            model("queue_ring", "steal"),
            model("queue_inbox", "push::one"),
        ];
        assert_eq!(
            find(&mutant("steal"), &models).expect("there is one").test,
            "steal"
        );
        assert_eq!(
            find(&mutant("one"), &models).expect("there is one").test,
            "push::one"
        );
        assert!(find(&mutant("teal"), &models).is_err());
    }

    #[test]
    fn two_of_a_name_are_told_apart_by_the_file() {
        let models = [model("queue_ring", "steal"), model("queue_inbox", "steal")];
        assert!(find(&mutant("steal"), &models).is_err());
        let found = find(&mutant("queue_inbox::steal"), &models).expect("there is one");
        assert_eq!(found.binary.name, "queue_inbox");
    }
}
