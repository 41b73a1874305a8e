//! `cargo xtask check --layer L`: what the author of a small change in one layer wants to know, within a minute.

use anyhow::Result;
use clap::Args;

use crate::build::Build;
use crate::ci::{Step, run_steps};
use crate::models::layers;
use crate::workspace::Workspace;

/// Options of `cargo xtask check`.
#[derive(Args)]
pub(crate) struct CheckArgs {
    /// The layer, for example `queue`
    #[arg(long)]
    layer: String,
}

/// Files of models that a layer shares with another one.
const SHARED: [(&str, &str); 1] = [("executor", "scope")];

/// Runs the parts up to the first that fails.
pub(crate) fn run(ws: &Workspace, args: &CheckArgs) -> Result<()> {
    let package = ws.layer(&args.layer)?.name.as_str();
    let cargo = |name: &str, args: &[&str]| {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        step(name, move || {
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            Build::plain(ws).cargo(&args)
        })
    };
    let deny = ["--all-targets", "--", "-D", "warnings"];
    let mut steps = vec![
        cargo("format", &["fmt", "-p", package, "--check"]),
        cargo(
            "clippy",
            &[&["clippy", "--quiet", "-p", package], &deny[..]].concat(),
        ),
        step("tidy", || crate::tidy::run(ws)),
        cargo("tests", &["test", "--quiet", "-p", package]),
    ];
    for layer in models_of(&args.layer, &model_files(ws)?) {
        steps.push(step(&format!("models of {layer}"), move || {
            crate::dispatch(ws, crate::parse(&["loom", "--layer", layer])?)
        }));
    }
    run_steps(steps)
}

fn step<'w>(name: &str, run: impl FnOnce() -> Result<()> + 'w) -> Step<'w> {
    Step {
        name: name.to_owned(),
        run: Some(Box::new(run)),
    }
}

/// The names of the files with models.
fn model_files(ws: &Workspace) -> Result<Vec<String>> {
    let entries = std::fs::read_dir(ws.root.join("loom-tests/tests"))?;
    entries
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect()
}

/// The groups of models that a change of the layer concerns; a layer may have none.
fn models_of<'l>(layer: &'l str, files: &[String]) -> Vec<&'l str> {
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
        let files =
            ["idle_models", "executor_alarm.rs", "scope_end.rs"].map(|name| name.to_owned());
        assert_eq!(models_of("executor", &files), ["executor", "scope"]);
        assert_eq!(models_of("park", &files), ["park"]);
        assert!(models_of("tasks", &files).is_empty());
    }
}
