//! Running a package's tests and reading which of them passed.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::build::Build;
use crate::process::run_limited;

/// How long a run of one test program may take, compiling left out. It needs seconds; this is for hangs.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// How often a test program is run: what passes by chance is to be seen as such.
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
    pub(super) fn with(&self, verdict: Verdict) -> Vec<&str> {
        let tests = self.tests.iter().filter(|(_, v)| **v == verdict);
        tests.map(|(name, _)| name.as_str()).collect()
    }

    fn names(&self, verdict: Verdict) -> Vec<String> {
        self.with(verdict).into_iter().map(str::to_owned).collect()
    }

    /// Adds a test of another run.
    fn add(&mut self, name: String, verdict: Verdict) {
        let merged = self.tests.entry(name).or_insert(verdict);
        if *merged != verdict {
            *merged = Verdict::Unstable;
        }
    }
}

/// Runs the tests of the package in `dir` that `cargo test ARGS` selects, with these variables in the environment;
/// artifacts go to `target`.
///
/// First the build, without a time limit. A test program is then started directly, several times; cargo runs examples in
/// documentation, once. A test that passed in some of the runs only may need what another test of its process does before: it is run
/// alone, and that counts.
pub(super) fn cargo_test<'v>(
    dir: &Path,
    target: &Path,
    args: &[&str],
    variables: impl IntoIterator<Item = (&'v str, String)>,
) -> Result<Outcome> {
    let build = Build::of(dir, target.to_owned()).envs(variables);
    let mut outcome = Outcome::default();
    if args.contains(&"--doc") {
        outcome.tests = run(build.command(&[&["test", "--no-fail-fast"], args].concat()))?;
    } else {
        let programs = build.test_binaries(args, true);
        let programs = programs.context("it does not build")?;
        for program in &programs {
            let runs = |args: &[&str]| {
                let mut outcome = Outcome::default();
                for _ in 0..RUNS {
                    let mut command = Command::new(&program.path);
                    command.current_dir(dir).env("CARGO_MANIFEST_DIR", dir);
                    command.envs(build.environment()).args(args);
                    for (name, verdict) in run(command)? {
                        outcome.add(name, verdict);
                    }
                }
                Ok::<_, anyhow::Error>(outcome)
            };
            let mut all = runs(&[])?;
            for name in all.names(Verdict::Unstable) {
                all.tests.extend(runs(&["--exact", &name])?.tests);
            }
            for (name, verdict) in all.tests {
                let name = match programs.len() {
                    1 => name,
                    _ => format!("{}: {name}", program.name),
                };
                outcome.add(name, verdict);
            }
        }
    }
    ensure!(!outcome.tests.is_empty(), "no test ran");
    Ok(outcome)
}

/// One run of the tests: what ended how, even if some failed.
fn run(command: Command) -> Result<BTreeMap<String, Verdict>> {
    let finished = run_limited(command, TIME_LIMIT)?;
    let lines = finished.output.lines().filter_map(parse_line);
    let tests: BTreeMap<_, _> = lines.collect();
    let Some(status) = finished.status else {
        let seen: Vec<&String> = tests.keys().collect();
        bail!("no end after {TIME_LIMIT:?}; until then there were {seen:?}");
    };
    ensure!(
        status.success() || !tests.is_empty(),
        "no test ran:\n{}",
        finished.output
    );
    Ok(tests)
}

/// Reads `test NAME ... ok`, and the likes.
///
/// Of a documentation test the path of the item is left out of the name: the file and the line remain.
fn parse_line(line: &str) -> Option<(String, Verdict)> {
    let (name, verdict) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let verdict = Verdict::parse(verdict.split(',').next()?.trim_end()).ok()?;
    let name = name.strip_suffix(" - should panic").unwrap_or(name);
    let short = name.split_once(".rs - ").and_then(|(file, item)| {
        let (_, line) = item.split_once("(line ")?;
        Some(format!("{file}.rs (line {line}"))
    });
    Some((short.unwrap_or_else(|| name.to_owned()), verdict))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_harness() {
        for (line, wanted) in [
            ("test a::b ... ok", "a::b ok"),
            ("test a - should panic ... FAILED", "a FAILED"),
            ("test a ... ignored, needs a screen", "a ignored"),
            (
                "test src/pool.rs - pool::Pool::scope (line 289) - compile fail ... ok",
                "src/pool.rs (line 289) - compile fail ok",
            ),
            ("test result: ok. 1 passed", ""),
            ("running 3 tests", ""),
        ] {
            let read = parse_line(line).map(|(name, verdict)| format!("{name} {}", verdict.word()));
            assert_eq!(read.unwrap_or_default(), wanted);
        }
    }

    #[test]
    fn what_differs_between_runs_is_unstable() {
        let mut outcome = Outcome::default();
        for verdict in [Verdict::Ok, Verdict::Failed, Verdict::Ok] {
            outcome.add("a".to_owned(), Verdict::Ok);
            outcome.add("b".to_owned(), verdict);
        }
        assert_eq!(outcome.with(Verdict::Ok), ["a"]);
        assert_eq!(outcome.with(Verdict::Unstable), ["b"]);
    }
}
