//! The models of loom and of shuttle: how they are built, listed, run and judged.
//!
//! Each model is a process of its own under a time limit, as many at a time as there are processors. The two checkers differ in
//! what the environment of a model says, and in how a failing schedule runs again.

pub(crate) mod described;
pub(crate) mod layers;
pub(crate) mod mutants;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail, ensure};

use crate::build::{Binary, Build};
use crate::planted;
use crate::process::{Finished, run_limited, said};
use crate::progress::run_parallel;
use crate::workspace::{Workspace, empty};

/// How a run fails that is killed at its time limit.
pub(crate) const ENDLESS: &str = "it does not end";

/// Debug assertions, and optimised dependencies; `.cargo/config.toml` has it.
const PROFILE: &str = "loom";

pub(crate) struct Checker {
    /// The name of its command, and of the directory of its builds.
    pub(crate) name: &'static str,
    /// What turns it on in `terrace-sync`, and so in all layers.
    cfg: &'static str,
    /// The packages with its models.
    packages: &'static [&'static str],
    /// The table of its mutants.
    pub(crate) mutants: &'static str,
}

/// Searches all interleavings of a model of one protocol.
pub(crate) const LOOM: Checker = Checker {
    name: "loom",
    cfg: "--cfg terrace_loom",
    packages: &[crate::loom::PACKAGE],
    mutants: "loom-tests/mutants.toml",
};

/// Runs the models of the whole scheduler, and those of loom, in random schedules.
pub(crate) const SHUTTLE: Checker = Checker {
    name: "shuttle",
    cfg: "--cfg terrace_shuttle",
    packages: &["terrace-shuttle-tests", crate::loom::PACKAGE],
    mutants: "loom-tests/shuttle/mutants.toml",
};

#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) binary: Binary,
    pub(crate) test: String,
}

/// What a run of a model, or of another net, showed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    Passed,
    /// What it said first.
    Failed(String),
    /// Why nothing is learnt.
    Unclear(String),
}

/// What loom's search of a model came to; over all bodies, if it has several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Explored {
    pub(crate) schedules: usize,
    /// The most in one schedule, timers and the body's own included.
    pub(crate) threads: usize,
}

/// What the environment of a model says.
pub(crate) type Environment = Vec<(&'static str, String)>;

/// The environment of a model in which the line `fault` of the layers is weakened, or none.
pub(crate) fn weakened(fault: Option<&str>) -> Environment {
    let fault = fault.map(|name| ("TERRACE_WEAKEN", name.to_owned()));
    fault.into_iter().collect()
}

/// How long each model took, by its title.
pub(crate) type Times = HashMap<String, Duration>;

impl Checker {
    /// Workspace and dependencies are built under the cfg.
    pub(crate) fn build(&self, ws: &Workspace) -> Build {
        Build::special(ws, self.name, self.cfg)
    }

    fn args(&self) -> Vec<&'static str> {
        let packages = self.packages.iter().flat_map(|package| ["-p", package]);
        ["--profile", PROFILE].into_iter().chain(packages).collect()
    }

    /// Builds the `targets` and lists the models in them.
    pub(crate) fn list(&self, build: &Build, targets: &[&str]) -> Result<Vec<Model>> {
        let mut models = Vec::new();
        for binary in build.test_binaries(&[&self.args(), targets].concat(), false)? {
            let mut list = Command::new(&binary.path);
            list.args(["--list", "--format", "terse"]);
            for line in said(list)?.lines() {
                if let Some(test) = line.strip_suffix(": test") {
                    let (binary, test) = (binary.clone(), test.to_owned());
                    models.push(Model { binary, test });
                }
            }
        }
        models.sort_by_key(Model::title);
        Ok(models)
    }

    /// Builds the model `FILE::TEST`.
    pub(crate) fn model(&self, build: &Build, (file, test): (&str, &str)) -> Result<Model> {
        let (binary, test) = (
            planted::program(build, &self.args(), file)?,
            test.to_owned(),
        );
        Ok(Model { binary, test })
    }

    /// Runs the models by `run`; an error unless all pass. Of one that fails `find` sees to it that its notes end with the
    /// failing schedule.
    pub(crate) fn run(
        &self,
        build: &Build,
        models: &[Model],
        run: impl Fn(&Model) -> Result<Finished> + Sync,
        find: impl Fn(&Model) -> Result<()> + Sync,
    ) -> Result<Times> {
        let title = format!("{} models", self.name);
        let times = run_parallel(&title, models, Model::title, |model| {
            let finished = run(model)?;
            let verdict = Verdict::of(&finished);
            if matches!(verdict, Verdict::Failed(_)) && finished.status.is_some() {
                find(model)?;
            }
            if verdict != Verdict::Passed {
                let again = self.again(model, &model.noted(build, ""));
                bail!("{verdict:?}\n{}\n{again}", finished.output);
            }
            Ok(Explored::of(&finished.output).map_or("ok".to_owned(), |found| found.to_string()))
        })?;
        Ok(models.iter().map(Model::title).zip(times).collect())
    }

    /// The command that runs the last schedule again that a model has noted.
    fn again(&self, model: &Model, notes: &Path) -> String {
        let command = format!("cargo xtask {} {}", self.name, model.title());
        let notes = fs_err::read_dir(notes).into_iter().flatten().flatten();
        // They differ in a number at the end.
        let last = notes.map(|note| note.path());
        let last = last.max_by_key(|path| (path.as_os_str().len(), path.clone()));
        match last.as_ref().map(|last| last.display()) {
            None => format!("it has noted no schedule:\n  {command}"),
            Some(last) => format!("the failing schedule alone:\n  {command} --schedule {last}"),
        }
    }
}

impl Model {
    pub(crate) fn title(&self) -> String {
        format!("{}::{}", self.binary.name, self.test)
    }

    /// The layer that the name of its file starts with; a model of the whole scheduler has none.
    pub(crate) fn layer(&self) -> Option<&'static str> {
        layers::of(&self.binary.name)
    }

    fn command(&self, env: &Environment) -> Command {
        let mut command = self.binary.test(&self.test);
        command.envs(env.iter().cloned());
        command
    }

    pub(crate) fn run(&self, env: &Environment, limit: Duration) -> Result<Finished> {
        run_limited(self.command(env), limit)
    }

    /// An empty directory in which a run notes what it did; `of` tells it from others.
    pub(crate) fn notes(&self, build: &Build, of: &str) -> Result<PathBuf> {
        let dir = self.noted(build, of);
        empty(&dir)?;
        Ok(dir)
    }

    /// The directory of these notes.
    pub(crate) fn noted(&self, build: &Build, of: &str) -> PathBuf {
        let name = format!("{of}{}", self.title().replace("::", "-"));
        build.target().join("failed").join(name)
    }
}

impl Explored {
    /// What `terrace_sync::model` has printed.
    pub(crate) fn of(output: &str) -> Option<Self> {
        let bodies = output.lines().filter_map(|line| {
            let (_, said) = line.split_once("model: ")?;
            let (schedules, threads) = said.split_once(" schedules, ")?;
            let threads = threads.strip_suffix(" threads")?.parse().ok()?;
            let schedules = schedules.parse().ok()?;
            Some(Self { schedules, threads })
        });
        bodies.reduce(|all, body| Self {
            schedules: all.schedules + body.schedules,
            threads: all.threads.max(body.threads),
        })
    }
}

impl std::fmt::Display for Explored {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { schedules, threads } = self;
        write!(f, "ok, {schedules} schedules, {threads} threads")
    }
}

/// Runs the one model that was chosen in the schedule of `file`; an error if it fails, as it should.
pub(crate) fn replay(models: &[Model], file: &Path, env: &Environment) -> Result<()> {
    let [model] = models else {
        let count = models.len();
        bail!("--schedule needs a FILTER that names one model, and {count} match");
    };
    ensure!(file.is_file(), "there is no file {}", file.display());
    let status = model.command(env).status()?;
    ensure!(status.success(), "{} fails in this schedule", model.title());
    println!("{} passes in this schedule", model.title());
    Ok(())
}

impl Verdict {
    /// What the run of one test showed.
    pub(crate) fn of(finished: &Finished) -> Self {
        let output = &finished.output;
        match finished.status {
            None => Self::Failed(ENDLESS.to_owned()),
            _ if output.contains("running 0 tests") => Self::Unclear("there is no test".to_owned()),
            Some(status) if status.success() && output.contains("test result: ok. 1 passed") => {
                Self::Passed
            }
            Some(status) => Self::Failed(reason(output).unwrap_or_else(|| status.to_string())),
        }
    }

    /// What was said of a fault, if this is the verdict with it.
    pub(crate) fn caught(self) -> Result<String> {
        match self {
            Self::Failed(how) => Ok(format!("caught: {how}")),
            Self::Passed => bail!("it passes with the fault"),
            Self::Unclear(why) => bail!("nothing is learnt: {why}"),
        }
    }
}

/// The message of the first panic.
fn reason(output: &str) -> Option<String> {
    let mut lines = output.lines().skip_while(|l| !l.contains("panicked at"));
    lines.next()?;
    let message = lines.find(|l| !l.trim().is_empty())?.trim();
    Some(message.chars().take(90).collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;
    use std::time::Duration;

    use super::{Explored, Verdict};
    use crate::process::Finished;

    #[test]
    fn bodies_of_a_model_add_up() {
        let output =
            "test a ... model: 20 schedules, 3 threads\nmodel: 1 schedules, 2 threads\nok\n";
        let (schedules, threads) = (21, 3);
        assert_eq!(Explored::of(output), Some(Explored { schedules, threads }));
        assert_eq!(Explored::of("test a ... ok\n"), None);
    }

    #[test]
    fn passes_need_a_test_that_ran_and_failures_say_why() {
        let panic = "a thread panicked at x.rs:1:2:\ndeadlock; threads = []\n";
        let cases = [
            (Some(0), "test result: ok. 1 passed\n", "Passed"),
            (
                Some(0),
                "running 0 tests\ntest result: ok. 0 passed\n",
                "Unclear(\"there is no test\")",
            ),
            (None, "running 1 test\n", "Failed(\"it does not end\")"),
            (Some(101 << 8), panic, "Failed(\"deadlock; threads = []\")"),
            (
                Some(6),
                "running 1 test\n",
                "Failed(\"signal: 6 (SIGABRT)\")",
            ),
        ];
        for (status, output, wanted) in cases {
            let (status, time) = (status.map(ExitStatus::from_raw), Duration::ZERO);
            let output = output.to_owned();
            let verdict = Verdict::of(&Finished {
                status,
                output,
                time,
            });
            assert_eq!(format!("{verdict:?}"), wanted);
        }
    }
}
