//! Running a package's tests and reading which of them passed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::build::Build;
use crate::process::run_limited;

/// How long a run of one test program may take, compiling left out. It needs seconds; this is for hangs.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// How often a test program is run: what passes by chance is to be seen as such. Published tests that depend on the
/// order in which they are run exist.
const RUNS: usize = 10;

/// What happened to a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Ok,
    Failed,
    Ignored,
    /// Different from run to run.
    Unstable,
}

/// As the test harness prints them, where it does.
const WORDS: [(&str, Verdict); 4] = [
    ("ok", Verdict::Ok),
    ("FAILED", Verdict::Failed),
    ("ignored", Verdict::Ignored),
    ("unstable", Verdict::Unstable),
];

impl Verdict {
    pub(super) fn word(self) -> &'static str {
        let found = WORDS.iter().find(|(_, verdict)| *verdict == self);
        found.map_or("?", |(word, _)| word)
    }

    pub(super) fn parse(word: &str) -> Result<Self> {
        let found = WORDS.iter().find(|(known, _)| *known == word);
        let found = found.with_context(|| format!("`{word}` is not an outcome of a test"))?;
        Ok(found.1)
    }
}

/// The tests of a suite, by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) tests: BTreeMap<String, Verdict>,
}

impl Outcome {
    pub(super) fn with(&self, verdict: Verdict) -> BTreeSet<&str> {
        self.tests
            .iter()
            .filter(|(_, v)| **v == verdict)
            .map(|(name, _)| name.as_str())
            .collect()
    }

    /// Adds another run of the same tests.
    fn merge(&mut self, run: Self) {
        for (name, verdict) in run.tests {
            let merged = self.tests.entry(name).or_insert(verdict);
            if *merged != verdict {
                *merged = Verdict::Unstable;
            }
        }
    }

    pub(super) fn passed(&self) -> BTreeSet<&str> {
        self.with(Verdict::Ok)
    }
}

/// Runs the tests of the package in `dir` that `cargo test ARGS` selects; artifacts go to `target`.
///
/// First the build, without a time limit. A test program is then started directly, several times; cargo runs examples in
/// documentation, once.
pub(super) fn cargo_test(
    dir: &Path,
    target: &Path,
    args: &[&str],
    env: &[(&str, String)],
) -> Result<Outcome> {
    let build = Build::of(dir, target.to_owned()).envs(env.iter().cloned());
    if args.contains(&"--doc") {
        let command = build.command(&[&["test", "--no-fail-fast"], args].concat());
        return run(command, false);
    }
    let programs = build
        .test_binaries(args, true)
        .context("it does not build")?;
    ensure!(!programs.is_empty(), "cargo built no test");
    let mut outcome = Outcome::default();
    for program in &programs {
        for _ in 0..RUNS {
            let mut command = Command::new(&program.path);
            command.current_dir(dir).env("CARGO_MANIFEST_DIR", dir);
            command.envs(build.environment());
            let mut ran = run(command, programs.len() > 1)?;
            if programs.len() > 1 {
                let tests = ran.tests.into_iter();
                ran.tests = tests
                    .map(|(name, verdict)| (format!("{}: {name}", program.name), verdict))
                    .collect();
            }
            outcome.merge(ran);
        }
    }
    ensure!(!outcome.tests.is_empty(), "no test ran");
    Ok(outcome)
}

/// One run of the tests, of which there may be `none`.
fn run(command: Command, none: bool) -> Result<Outcome> {
    let finished = run_limited(command, TIME_LIMIT)?;
    let tests = finished.output.lines().filter_map(parse_line).collect();
    let outcome = Outcome { tests };
    if finished.status.is_none() {
        let names = outcome.passed().into_iter().collect::<Vec<_>>().join(", ");
        bail!("no end after {TIME_LIMIT:?}; passed until then: {names}");
    }
    ensure!(
        none && finished.status.is_some_and(|status| status.success()) || !outcome.tests.is_empty(),
        "no test ran:\n{}",
        finished.output
    );
    Ok(outcome)
}

/// Reads `test NAME ... ok`, and the likes.
///
/// Of a documentation test the path of the item is left out of the name: the file and the line remain.
fn parse_line(line: &str) -> Option<(String, Verdict)> {
    let (name, verdict) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let verdict = Verdict::parse(verdict.split(',').next()?.trim_end()).ok()?;
    let name = name.strip_suffix(" - should panic").unwrap_or(name);
    let name = match name
        .split_once(".rs - ")
        .and_then(|(file, rest)| Some((file, rest.split_once("(line ")?.1)))
    {
        Some((file, line)) => format!("{file}.rs (line {line}"),
        None => name.to_owned(),
    };
    Some((name, verdict))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_harness() {
        let doc = "test src/pool.rs - pool::Pool::scope (line 289) - compile fail ... ok";
        let cases = [
            ("test a::b ... ok", Some(("a::b", Verdict::Ok))),
            (
                "test a - should panic ... FAILED",
                Some(("a", Verdict::Failed)),
            ),
            (
                "test a ... ignored, needs a screen",
                Some(("a", Verdict::Ignored)),
            ),
            (
                doc,
                Some(("src/pool.rs (line 289) - compile fail", Verdict::Ok)),
            ),
            ("test result: ok. 1 passed", None),
            ("running 3 tests", None),
        ];
        for (line, wanted) in cases {
            let wanted = wanted.map(|(name, verdict)| (name.to_owned(), verdict));
            assert_eq!(parse_line(line), wanted, "{line}");
        }
    }

    #[test]
    fn what_differs_between_runs_is_unstable() {
        let run = |b| Outcome {
            tests: [("a".into(), Verdict::Ok), ("b".into(), b)].into(),
        };
        let mut outcome = run(Verdict::Ok);
        outcome.merge(run(Verdict::Ok));
        assert_eq!(outcome.passed().len(), 2);
        outcome.merge(run(Verdict::Failed));
        outcome.merge(run(Verdict::Ok));
        assert_eq!(outcome.tests["b"], Verdict::Unstable);
        assert_eq!(outcome.passed().len(), 1);
    }
}
