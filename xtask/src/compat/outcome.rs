//! Running a package's tests and reading which of them passed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// How long the tests of one suite may take, compiling left out. They need seconds; this is for hangs.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// What happened to a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Ok,
    Failed,
    Ignored,
}

impl Verdict {
    /// As the test harness prints it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "FAILED",
            Self::Ignored => "ignored",
        }
    }

    pub(super) fn parse(word: &str) -> Result<Self> {
        Ok(match word {
            "ok" => Self::Ok,
            "FAILED" => Self::Failed,
            "ignored" => Self::Ignored,
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

    pub(super) fn passed(&self) -> BTreeSet<&str> {
        self.with(Verdict::Ok)
    }
}

/// `cargo test ARGS` in `dir`, artifacts in `target`: first the build, without a time limit, then the tests.
pub(super) fn cargo_test(dir: &Path, target: &Path, args: &[&str]) -> Result<Outcome> {
    let cargo = || {
        let mut cargo = Command::new("cargo");
        cargo
            .current_dir(dir)
            .env("CARGO_TARGET_DIR", target)
            .arg("test")
            .args(args);
        cargo
    };
    let docs = args.contains(&"--doc");
    if !docs {
        let built = cargo()
            .args(["--no-run", "--quiet"])
            .stdout(Stdio::null())
            .output()?;
        if !built.status.success() {
            bail!(
                "it does not build:\n{}",
                String::from_utf8_lossy(&built.stderr)
            );
        }
    }
    // A process group of its own, so that a hung test ends with the cargo that started it.
    let mut command = cargo();
    command
        .arg("--no-fail-fast")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let (lines, hung) = run_limited(command)?;
    let mut outcome = Outcome::default();
    for line in &lines {
        if let Some((name, verdict)) = parse_line(line) {
            outcome.tests.insert(name, verdict);
        }
    }
    if hung {
        let names: Vec<_> = outcome.passed().into_iter().collect();
        bail!(
            "no end after {} s; passed until then: {}",
            TIME_LIMIT.as_secs(),
            names.join(", ")
        );
    }
    if outcome.tests.is_empty() {
        bail!("no test ran:\n{}", lines.join("\n"));
    }
    Ok(outcome)
}

/// The lines a command printed, and whether it had to be ended.
fn run_limited(mut command: Command) -> Result<(Vec<String>, bool)> {
    let mut child = command.spawn().context("cannot start cargo")?;
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
        Command::new("kill")
            .args(["-KILL", "--", &format!("-{}", child.id())])
            .status()?;
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
    fn documentation_tests_are_named_by_file_and_line() {
        assert_eq!(
            parse_line("test src/pool.rs - pool::Pool::scope (line 289) - compile fail ... ok"),
            Some(("src/pool.rs (line 289) - compile fail".into(), Verdict::Ok)),
        );
    }
}
