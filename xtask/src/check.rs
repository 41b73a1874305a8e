//! `cargo xtask check --layer L`: what the author of a small change in one layer wants to know, within a minute.
//!
//! The longest models go through millions of schedules. Here each stops after a bounded number, which `ci` does not do.

use anyhow::Result;
use clap::Args;

use crate::build::{Build, words};
use crate::ci::{Step, run_steps};
use crate::models::layers;
use crate::workspace::Workspace;

#[derive(Args)]
pub(crate) struct CheckArgs {
    /// The layer, for example `queue`
    #[arg(long)]
    layer: String,
}

/// Files of models that a layer shares with another one.
const SHARED: [(&str, &str); 1] = [("executor", "scope")];

/// How many schedules of a model are run.
const SCHEDULES: usize = 10_000;

/// Runs the parts up to the first that fails.
pub(crate) fn run(ws: &Workspace, args: &CheckArgs) -> Result<()> {
    let package = ws.layer(&args.layer)?.name.as_str();
    let cargo = |name: &str, line: String| {
        Step::new(name, move || Build::plain(ws).cargo(&words(&line, [])))
    };
    let clippy = format!("clippy --quiet -p {package} --all-targets -- -D warnings");
    let mut steps = vec![
        cargo("format", format!("fmt -p {package} --check")),
        cargo("clippy", clippy),
        Step::command(ws, "tidy"),
        cargo("tests", format!("test --quiet -p {package}")),
    ];
    let models = models_of(&args.layer, &layers::files(ws)?).into_iter();
    steps.extend(
        models.map(|layer| {
            Step::command(ws, &format!("loom --layer {layer} --schedules {SCHEDULES}"))
        }),
    );
    run_steps(steps)
}

/// The groups of models that a change of the layer concerns; a layer may have none.
fn models_of<'l>(layer: &'l str, files: &[&str]) -> Vec<&'l str> {
    let shared = SHARED.iter().filter(|(of, _)| *of == layer);
    let groups = std::iter::once(layer).chain(shared.map(|(_, group)| *group));
    groups
        .filter(|group| files.iter().any(|file| layers::of(file) == Some(*group)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::models_of;

    #[test]
    fn a_layer_has_its_models_and_those_it_shares() {
        let files = ["idle_models", "executor_alarm", "scope_end"];
        assert_eq!(models_of("executor", &files), ["executor", "scope"]);
        assert_eq!(models_of("park", &files), ["park"]);
        assert!(models_of("tasks", &files).is_empty());
    }
}
