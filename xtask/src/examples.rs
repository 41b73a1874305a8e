//! `cargo xtask examples`: every example of the layers, run to its end.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use cargo_metadata::Package;

use crate::build::{Binary, Build, words};
use crate::process::printed;
use crate::progress::run_all;
use crate::workspace::Workspace;

/// An example takes seconds at most; one that hangs is ended after this.
const LIMIT: Duration = Duration::from_secs(120);

/// What the features below change in the examples of these layers.
const FEATURED: &str = "-p terrace-trace -p terrace-tasks -p terrace-executor --features terrace-trace/enabled,terrace-tasks/multi_threaded,terrace-executor/timeline";

/// Builds and runs all of them without arguments: with the default features, then those that a feature changes with it.
/// An example checks its own results.
pub(crate) fn run(ws: &Workspace) -> Result<()> {
    let missing = without_example(&ws.layers());
    ensure!(missing.is_empty(), "no example: {}", missing.join(", "));
    let mut result = Ok(());
    for packages in [ws.layer_args(), words(FEATURED, [])] {
        let examples = Build::plain(ws).binaries(&words("build --examples", packages), false)?;
        let name = |example: &Binary| example.name.clone();
        result = result.and(run_all("examples", &examples, name, run_one));
    }
    result
}

/// Runs an example; its last line.
fn run_one(example: &Binary) -> Result<String> {
    let output = printed(Command::new(&example.path), LIMIT)?;
    let last = output.lines().last();
    Ok(last.context("it printed nothing")?.to_owned())
}

/// The layers that users depend on and that have no example.
fn without_example<'p>(layers: &[&'p Package]) -> Vec<&'p str> {
    let has_example = |p: &Package| p.targets.iter().any(|target| target.is_example());
    let is_for_users = |p: &Package| p.publish.as_ref().is_none_or(|to| !to.is_empty());
    let missing = layers.iter().filter(|p| is_for_users(p) && !has_example(p));
    missing.map(|p| p.name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::{Binary, run_one};

    #[test]
    fn what_fails_or_says_nothing_is_an_error() {
        let passes = ["uname", "true", "false"].map(|name| {
            let (name, path) = (name.to_owned(), name.into());
            run_one(&Binary { name, path }).is_ok()
        });
        assert_eq!(passes, [true, false, false]);
    }
}
