//! `cargo xtask examples`: every example of the layers, run to its end.

use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use cargo_metadata::{Package, TargetKind};
use clap::Args;

use crate::build::{Binary, Build};
use crate::process::run_limited;
use crate::progress::Progress;
use crate::workspace::Workspace;

/// An example takes seconds at most; one that hangs is ended after this.
const LIMIT: Duration = Duration::from_secs(120);

/// What the features below change in the examples of these layers.
const FEATURED: [&str; 6] = [
    "-p",
    "terrace-trace",
    "-p",
    "terrace-tasks",
    "--features",
    "terrace-trace/enabled,terrace-tasks/multi_threaded",
];

/// Options of `cargo xtask examples`.
#[derive(Args)]
pub(crate) struct ExamplesArgs {
    /// Build optimised
    #[arg(long)]
    release: bool,
}

/// Builds and runs all of them without arguments: with the default features, then those that a feature changes with it.
/// An example checks its own results.
pub(crate) fn run(ws: &Workspace, args: &ExamplesArgs) -> Result<()> {
    let missing = without_example(&ws.layers());
    ensure!(missing.is_empty(), "no example: {}", missing.join(", "));
    let plain = Build::plain(ws);
    let layers = ws.layer_args();
    let mut failed = Vec::new();
    for packages in [&layers[..], &FEATURED] {
        let mut words = [&["build", "--examples"], packages].concat();
        if args.release {
            words.push("--release");
        }
        failed.extend(run_all(&plain.binaries(&words, false)?)?);
    }
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}

/// The names of those that fail, each of which is told with what it printed.
fn run_all(examples: &[Binary]) -> Result<Vec<String>> {
    let progress = Progress::new("examples", examples.len());
    let mut failed = Vec::new();
    for example in examples {
        progress.at(&example.name);
        let finished = run_limited(Command::new(&example.path), LIMIT)?;
        let last = finished.output.lines().last().unwrap_or("printed nothing");
        if finished.status.is_some_and(|status| status.success()) && !finished.output.is_empty() {
            progress.line(&format!("{}: {last}", example.name));
        } else {
            let status = finished.status.map_or_else(
                || format!("killed after {LIMIT:?}"),
                |status| status.to_string(),
            );
            let output = finished.output;
            progress.line(&format!("{}: FAILED: {status}\n{output}", example.name));
            failed.push(example.name.clone());
        }
        progress.step();
    }
    progress.finish();
    Ok(failed)
}

/// The layers that users depend on and that have no example.
fn without_example<'p>(layers: &[&'p Package]) -> Vec<&'p str> {
    let is_for_users = |p: &&&Package| p.publish.as_ref().is_none_or(|to| !to.is_empty());
    let has_example = |p: &Package| {
        let mut kinds = p.targets.iter().flat_map(|target| &target.kind);
        kinds.any(|kind| *kind == TargetKind::Example)
    };
    let missing = layers.iter().filter(is_for_users);
    let missing = missing.filter(|p| !has_example(p));
    missing.map(|p| p.name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{Binary, run_all, without_example};
    use crate::workspace::Workspace;

    fn program(name: &str) -> Binary {
        Binary {
            name: name.to_owned(),
            path: PathBuf::from(name),
        }
    }

    #[test]
    fn what_fails_or_says_nothing_is_named() {
        let examples = ["uname", "true", "false"].map(program);
        assert_eq!(run_all(&examples).expect("they start"), ["true", "false"]);
    }

    #[test]
    fn every_layer_has_one() {
        let ws = Workspace::find().expect("this workspace");
        assert!(without_example(&ws.layers()).is_empty());
    }
}
