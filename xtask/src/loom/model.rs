//! Models: how they are built, listed, run and judged.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::{PACKAGE, layers};
use crate::build::{Binary, Build};
use crate::process::{Finished, run_limited};
use crate::workspace::Workspace;

/// Debug assertions, and optimised dependencies.
pub(crate) const PROFILE: &str = "loom";

/// How loom's message starts when a run has more steps than it follows: nothing is shown then, as
/// with a timeout.
pub(super) const EXHAUSTED: &str = "Model exceeded maximum number of branches";

/// One model.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) layer: &'static str,
    pub(super) binary: Binary,
    pub(super) test: String,
}

impl Model {
    /// Layer, file and test, as printed.
    pub(super) fn title(&self) -> String {
        format!("{}::{}", self.binary.name, self.test)
    }
}

/// What a run of a model showed.
#[derive(Debug, PartialEq)]
pub(crate) enum Verdict {
    Passed,
    /// It ran and failed; what it said first.
    Failed(String),
    TimedOut,
    /// There is no such test in the program.
    Missing,
}

/// The profile is in `.cargo/config.toml`; workspace and dependencies are built under the cfg.
pub(super) fn build(ws: &Workspace) -> Build {
    Build::special(ws, "loom", "--cfg terrace_loom")
}

/// Builds the models, all or one layer's, and lists them.
pub(super) fn list(ws: &Workspace, build: &Build, layer: Option<&str>) -> Result<Vec<Model>> {
    let files = files(ws);
    if let Some(stray) = files.iter().find(|f| layers::of(f).is_none()) {
        bail!(
            "loom-tests: `{stray}` belongs to no layer; a file of models starts with one of {}",
            layers::words().join(", ")
        );
    }
    let mut args = vec!["--profile", PROFILE, "-p", PACKAGE];
    let of_layer = |file: &&&str| layer.is_none() || layers::of(file) == layer;
    args.extend(files.iter().filter(of_layer).flat_map(|f| ["--test", f]));
    ensure!(
        args.contains(&"--test"),
        "layer {} has no models",
        layer.unwrap_or("?")
    );
    let binaries = build.test_binaries(&args, false)?;
    let mut models = Vec::new();
    for binary in binaries {
        let output = Command::new(&binary.path)
            .args(["--list", "--format", "terse"])
            .output()
            .with_context(|| format!("cannot start {}", binary.path.display()))?;
        ensure!(output.status.success(), "`{} --list` failed", binary.name);
        let text = String::from_utf8_lossy(&output.stdout);
        let tests: Vec<&str> = text
            .lines()
            .filter_map(|l| l.strip_suffix(": test"))
            .collect();
        let layer = layers::of(&binary.name).context("every file has been looked at")?;
        models.extend(tests.iter().map(|test| Model {
            layer,
            binary: binary.clone(),
            test: (*test).to_owned(),
        }));
    }
    models.sort_by_key(Model::title);
    Ok(models)
}

/// The files of models: the test targets of the package.
fn files(ws: &Workspace) -> Vec<&str> {
    let package = ws
        .metadata
        .packages
        .iter()
        .find(|p| p.name.as_str() == PACKAGE);
    let targets = package.map_or(&[][..], |p| &p.targets[..]);
    let tests = targets.iter().filter(|t| t.is_test());
    tests.map(|t| t.name.as_str()).collect()
}

/// Runs one model out of `binary`.
pub(super) fn run(
    binary: &Binary,
    test: &str,
    preemptions: usize,
    limit: Duration,
) -> Result<(Verdict, Finished)> {
    let mut command = Command::new(&binary.path);
    command
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env("TERRACE_LOOM_PREEMPTIONS", preemptions.to_string())
        .env("RUST_BACKTRACE", "0");
    let finished = run_limited(command, limit)?;
    Ok((judge(&finished), finished))
}

pub(crate) fn judge(finished: &Finished) -> Verdict {
    let Some(status) = finished.status else {
        return Verdict::TimedOut;
    };
    let output = &finished.output;
    if output.contains("running 0 tests") {
        Verdict::Missing
    } else if status.success() && output.contains("test result: ok. 1 passed") {
        Verdict::Passed
    } else {
        Verdict::Failed(reason(output).unwrap_or_else(|| status.to_string()))
    }
}

/// The message of the first panic.
fn reason(output: &str) -> Option<String> {
    let mut lines = output.lines().skip_while(|l| !l.contains("panicked at"));
    lines.next()?;
    let message = lines.find(|l| !l.trim().is_empty())?.trim();
    Some(message.chars().take(90).collect())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;
    use std::time::Duration;

    use super::{Verdict, judge};
    use crate::process::Finished;

    fn verdict(wait_status: Option<i32>, output: &str) -> Verdict {
        judge(&Finished {
            status: wait_status.map(ExitStatus::from_raw),
            output: output.to_owned(),
            time: Duration::ZERO,
        })
    }

    #[test]
    fn passes_need_a_test_that_ran() {
        let passed = "running 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed\n";
        assert_eq!(verdict(Some(0), passed), Verdict::Passed);
        let none = "running 0 tests\n\ntest result: ok. 0 passed; 0 failed\n";
        assert_eq!(verdict(Some(0), none), Verdict::Missing);
        assert_eq!(verdict(None, "running 1 test\n"), Verdict::TimedOut);
    }

    #[test]
    fn failures_say_why() {
        let text = "running 1 test\nthread 'a' (7) panicked at x.rs:1:2:\ndeadlock; threads = []\n";
        let reason = Verdict::Failed("deadlock; threads = []".to_owned());
        assert_eq!(verdict(Some(101 << 8), text), reason);
        let Verdict::Failed(reason) = verdict(Some(6), "running 1 test\n") else {
            panic!("a killed test has failed");
        };
        assert!(reason.contains("signal"), "{reason}");
    }
}
