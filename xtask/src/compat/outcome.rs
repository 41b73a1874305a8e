//! Running a package's tests and reading which of them passed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use cargo_metadata::Message;

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

impl Verdict {
    /// As the test harness prints it, where it does.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "FAILED",
            Self::Ignored => "ignored",
            Self::Unstable => "unstable",
        }
    }

    pub(super) fn parse(word: &str) -> Result<Self> {
        Ok(match word {
            "ok" => Self::Ok,
            "FAILED" => Self::Failed,
            "ignored" => Self::Ignored,
            "unstable" => Self::Unstable,
            _ => bail!("`{word}` is not an outcome of a test"),
        })
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
pub(super) fn cargo_test(dir: &Path, target: &Path, args: &[&str]) -> Result<Outcome> {
    let mut cargo = Command::new("cargo");
    cargo
        .current_dir(dir)
        .env("CARGO_TARGET_DIR", target)
        .arg("test")
        .args(args);
    if args.contains(&"--doc") {
        return run(cargo.arg("--no-fail-fast"));
    }
    let mut program = Command::new(build(cargo)?);
    program.current_dir(dir).env("CARGO_MANIFEST_DIR", dir);
    let mut outcome = run(&mut program)?;
    for _ in 1..RUNS {
        outcome.merge(run(&mut program)?);
    }
    Ok(outcome)
}

/// One run of the tests.
fn run(command: &mut Command) -> Result<Outcome> {
    let (lines, hung) = run_limited(command)?;
    let tests = lines.iter().filter_map(|line| parse_line(line)).collect();
    let outcome = Outcome { tests };
    if hung {
        let names: Vec<_> = outcome.passed().into_iter().collect();
        let (limit, names) = (TIME_LIMIT.as_secs(), names.join(", "));
        bail!("no end after {limit} s; passed until then: {names}");
    }
    if outcome.tests.is_empty() {
        bail!("no test ran:\n{}", lines.join("\n"));
    }
    Ok(outcome)
}

/// Builds a test program and says where it is.
fn build(mut cargo: Command) -> Result<PathBuf> {
    let built = cargo
        .args(["--no-run", "--quiet", "--message-format", "json"])
        .output()?;
    let messages: Vec<_> =
        Message::parse_stream(built.stdout.as_slice()).collect::<Result<_, _>>()?;
    let mut program = None;
    let mut errors = String::new();
    for message in messages {
        match message {
            Message::CompilerArtifact(artifact) if artifact.profile.test => {
                program = artifact.executable
            }
            Message::CompilerMessage(message) => errors.extend(message.message.rendered),
            _ => {}
        }
    }
    match program {
        Some(program) if built.status.success() => Ok(program.into()),
        _ => bail!(
            "it does not build:\n{errors}{}",
            String::from_utf8_lossy(&built.stderr)
        ),
    }
}

/// The lines a command printed, and whether it had to be ended.
fn run_limited(command: &mut Command) -> Result<(Vec<String>, bool)> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("cannot start the tests")?;
    let (sender, receiver) = mpsc::channel();
    let pipes: [Option<Box<dyn std::io::Read + Send>>; 2] = [
        child.stdout.take().map(|pipe| Box::new(pipe) as _),
        child.stderr.take().map(|pipe| Box::new(pipe) as _),
    ];
    for pipe in pipes.into_iter().flatten() {
        let sender = sender.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
                if sender
                    .send(String::from_utf8_lossy(&line).into_owned())
                    .is_err()
                {
                    break;
                }
            }
        });
    }
    drop(sender);
    let end = Instant::now() + TIME_LIMIT;
    let mut lines = Vec::new();
    let hung = loop {
        match receiver.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(line) => lines.push(line),
            Err(mpsc::RecvTimeoutError::Disconnected) => break false,
            Err(mpsc::RecvTimeoutError::Timeout) => break true,
        }
    };
    if hung {
        child.kill()?;
    }
    child.wait()?;
    Ok((lines, hung))
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
        assert_eq!(
            parse_line("test a::b ... ok"),
            Some(("a::b".into(), Verdict::Ok))
        );
        assert_eq!(
            parse_line("test a::b - should panic ... FAILED"),
            Some(("a::b".into(), Verdict::Failed))
        );
        assert_eq!(
            parse_line("test a ... ignored, needs a screen"),
            Some(("a".into(), Verdict::Ignored))
        );
        assert_eq!(parse_line("test result: ok. 1 passed"), None);
        assert_eq!(parse_line("running 3 tests"), None);
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

    #[test]
    fn documentation_tests_are_named_by_file_and_line() {
        assert_eq!(
            parse_line("test src/pool.rs - pool::Pool::scope (line 289) - compile fail ... ok"),
            Some(("src/pool.rs (line 289) - compile fail".into(), Verdict::Ok)),
        );
    }
}
