//! `docs/checks.json`: when each check ran last, of which commit, and what came of it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::measure::machine::now;
use crate::workspace::Workspace;

/// The last run of a part of `cargo xtask ci`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Check {
    /// The words after `cargo xtask`.
    pub(crate) name: String,
    /// RFC 3339, UTC.
    pub(crate) date: String,
    pub(crate) commit: String,
    /// Whether the tree had changes that are in no commit.
    pub(crate) changed: bool,
    pub(crate) passed: bool,
    pub(crate) seconds: u64,
    /// What it said at its end, if it says how much it did.
    pub(crate) summary: Option<String>,
}

/// The checks that ran, each once.
pub(crate) struct Record(pub(super) Vec<Check>);

impl Record {
    /// Reads the file; there may be none yet.
    pub(crate) fn read(file: &Path) -> Result<Self> {
        let text = match file.exists() {
            true => fs_err::read_to_string(file)?,
            false => "[]".to_owned(),
        };
        let checks = serde_json::from_str(&text);
        Ok(Self(checks.with_context(|| {
            format!("{} is no record of checks", file.display())
        })?))
    }

    /// Puts the run in place of the one before; the order is that of `names`.
    fn renew(&mut self, check: Check, names: &[&str]) {
        self.0.retain(|old| old.name != check.name);
        self.0.push(check);
        let place = |check: &Check| names.iter().position(|name| *name == check.name);
        self.0
            .sort_by_key(|check| place(check).unwrap_or(names.len()));
    }

    pub(crate) fn of(&self, name: &str) -> Option<&Check> {
        self.0.iter().find(|check| check.name == name)
    }
}

/// The part whose run also measures what a page shows, and the option by which it writes that.
const WRITES: (&str, &str) = ("loom --mutants", "--write");

/// Runs `cargo xtask` with these words, and records in `file` what came of it. `names` are those of all parts.
pub(crate) fn run(
    ws: &Workspace,
    words: &str,
    names: &[&str],
    file: &Path,
    (commit, changed): (&str, bool),
) -> Result<()> {
    let (date, start) = (now(), Instant::now());
    // By cargo: a part that runs tests builds this very program anew.
    let mut command = Command::new("cargo");
    command
        .arg("xtask")
        .args(words.split(' '))
        .current_dir(&ws.root);
    if words == WRITES.0 {
        command.arg(WRITES.1);
    }
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let stdout = child.stdout.take().context("it is piped")?;
    let mut said = String::new();
    for line in BufReader::new(stdout).lines() {
        let line = line?;
        println!("{line}");
        said += &(line + "\n");
    }
    let passed = child.wait()?.success();
    let check = Check {
        name: words.to_owned(),
        date,
        commit: commit.to_owned(),
        changed,
        passed,
        seconds: start.elapsed().as_secs(),
        // Paths below the root of the workspace, as the pages name them.
        summary: summary(words, &said.replace(&format!("{}/", ws.root.display()), "")),
    };
    let mut record = Record::read(file)?;
    record.renew(check, names);
    fs_err::write(file, serde_json::to_string_pretty(&record.0)? + "\n")?;
    ensure!(passed, "`cargo xtask {words}` failed");
    Ok(())
}

/// How many tests passed, if it ran tests; or the last line that begins with the name of the command.
fn summary(words: &str, said: &str) -> Option<String> {
    let command = words.split(' ').next().unwrap_or_default();
    let own = |line: &&str| {
        let rest = line.strip_prefix(command).unwrap_or_default();
        rest.starts_with([':', ' ']) && rest.contains(": ")
    };
    let passed = said.lines().filter_map(|line| {
        let (passed, _) = line
            .strip_prefix("test result: ok. ")?
            .split_once(" passed")?;
        passed.parse::<usize>().ok()
    });
    let tests: usize = passed.sum();
    match tests {
        0 => said.lines().rev().find(own).map(str::to_owned),
        _ => Some(format!("{tests} tests passed, counted anew in each build")),
    }
}

#[cfg(test)]
mod tests {
    use super::{Check, Record, summary};

    #[test]
    fn a_summary_is_what_the_command_says_last() {
        let said = "loom models: all 3 passed\nloom mutants: all 2 passed\nother: x\n";
        let wanted = Some("loom mutants: all 2 passed".to_owned());
        assert_eq!(summary("loom --mutants", said), wanted);
        let tests = "tsan: it sees races\ntest result: ok. 3 passed; 0 failed\ntest result: ok. 4 passed; 0 failed\n";
        let wanted = Some("7 tests passed, counted anew in each build".to_owned());
        assert_eq!(summary("tsan", tests), wanted);
        assert_eq!(summary("lint", "\n"), None);
    }

    #[test]
    fn a_run_takes_the_place_of_the_one_before() {
        let check = |name: &str, seconds| Check {
            name: name.to_owned(),
            date: String::new(),
            commit: String::new(),
            changed: false,
            passed: true,
            seconds,
            summary: None,
        };
        let mut record = Record(Vec::new());
        for (name, seconds) in [("b", 1), ("a", 2), ("b", 3)] {
            record.renew(check(name, seconds), &["a", "b"]);
        }
        assert_eq!(record.0, [check("a", 2), check("b", 3)]);
        let text = serde_json::to_string(&record.0).expect("plain data");
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("checks.json");
        assert!(Record::read(&file).expect("none yet").0.is_empty());
        fs_err::write(&file, text).expect("it can be written");
        assert_eq!(
            Record::read(&file).expect("the same form").of("a"),
            Some(&check("a", 2))
        );
    }
}
