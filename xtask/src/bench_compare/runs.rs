//! `runs.jsonl`: a line for what is compared, then a line for each run, appended as it ends. What is in it is
//! not run again by `--resume`.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::failure::Failure;
use crate::measure::criterion::Length;

/// The name of the file.
pub(super) const NAME: &str = "runs.jsonl";

/// What runs must have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Subject {
    pub(super) schema: u32,
    /// The keys of the sides' builds.
    pub(super) base: String,
    pub(super) head: String,
    pub(super) aa: bool,
    pub(super) length: Length,
}

/// Which run it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Key {
    pub(super) id: String,
    pub(super) kind: Kind,
    pub(super) round: u32,
    /// The place in the round, from 0.
    pub(super) slot: u32,
}

/// What a run measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Time,
    Instructions,
}

/// What a run found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Found {
    /// Nanoseconds an iteration, or instructions.
    pub(super) value: f64,
    /// Nanoseconds of CPU time an iteration.
    pub(super) cpu: Option<f64>,
    /// How long the run took, in seconds.
    pub(super) seconds: f64,
}

#[derive(Serialize, Deserialize)]
struct Line {
    #[serde(flatten)]
    key: Key,
    #[serde(flatten)]
    found: Found,
}

/// The file and what is in it.
pub(super) struct Runs {
    path: PathBuf,
    file: File,
    done: HashMap<Key, Found>,
    /// Runs that were there when it was opened.
    pub(super) resumed: usize,
}

impl Runs {
    /// Opens the file in `dir`: with `resume` what is there is kept, if it is of the same subject.
    pub(super) fn open(dir: &Path, subject: &Subject, resume: bool) -> Result<Self> {
        let path = dir.join(NAME);
        let mut done = HashMap::new();
        let mut end = 0;
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()));
            }
        };
        if resume {
            // The last line may have been cut by the end of the process: it is dropped.
            let lines = text.split_inclusive(|byte| *byte == b'\n');
            let mut lines = lines.filter(|line| line.ends_with(b"\n")).zip(1..);
            if let Some((first, _)) = lines.next() {
                let theirs: Option<Subject> = serde_json::from_slice(first).ok();
                if theirs.as_ref() != Some(subject) {
                    return Err(Failure::usage(format!(
                        "{} is of another comparison (other commits, changed files, arguments or --time); \
                         leave --resume out to start anew, or give another --out",
                        path.display()
                    )));
                }
                end += first.len();
                for (line, number) in lines {
                    end += line.len();
                    match serde_json::from_slice(line) {
                        Ok(Line { key, found }) => {
                            done.insert(key, found);
                        }
                        // It costs its own run only.
                        Err(error) => eprintln!(
                            "line {number} of {} is passed over, its run is missing: {error}",
                            path.display()
                        ),
                    }
                }
            }
        } else if text.split(|byte| *byte == b'\n').nth(2).is_some() {
            eprintln!("{} is started anew; --resume would go on", path.display());
        }
        let cannot = || format!("cannot write {}", path.display());
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .with_context(cannot)?;
        file.set_len(end as u64).with_context(cannot)?;
        file.seek(SeekFrom::End(0)).with_context(cannot)?;
        let mut runs = Self {
            resumed: done.len(),
            path,
            file,
            done,
        };
        if end == 0 {
            runs.write(&serde_json::to_string(subject)?)?;
        }
        Ok(runs)
    }

    pub(super) fn get(&self, key: &Key) -> Option<Found> {
        self.done.get(key).copied()
    }

    /// How long all runs took, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        self.done.values().map(|found| found.seconds).sum()
    }

    /// How long the runs of this kind took, in seconds.
    pub(super) fn seconds_of(&self, kind: Kind) -> f64 {
        let done = self.done.iter().filter(|(key, _)| key.kind == kind);
        done.map(|(_, found)| found.seconds).sum()
    }

    /// The last round that a bench has a run of.
    pub(super) fn last_round(&self, id: &str) -> u32 {
        let rounds = self.done.keys().filter(|key| key.id == id);
        rounds.map(|key| key.round).max().unwrap_or(0)
    }

    /// Appends a run.
    pub(super) fn add(&mut self, key: Key, found: Found) -> Result<()> {
        let line = Line { key, found };
        self.write(&serde_json::to_string(&line)?)?;
        self.done.insert(line.key, line.found);
        Ok(())
    }

    fn write(&mut self, line: &str) -> Result<()> {
        // One call, so that a process that is killed leaves a whole line or a cut one at the end.
        let line = format!("{line}\n");
        self.file.write_all(line.as_bytes()).with_context(|| {
            format!(
                "cannot append to {}; make room, then the same command with --resume goes on",
                self.path.display()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{Found, Key, Kind, Runs, Subject};
    use crate::measure::criterion::Length;

    fn subject(head: &str) -> Subject {
        Subject {
            schema: 1,
            base: "b".to_owned(),
            head: head.to_owned(),
            aa: false,
            length: Length::of_millis(100),
        }
    }

    fn key(round: u32) -> Key {
        Key {
            id: "a/b/c/1".to_owned(),
            kind: Kind::Time,
            round,
            slot: 3,
        }
    }

    const FOUND: Found = Found {
        value: 1.5,
        cpu: None,
        seconds: 0.5,
    };

    #[test]
    fn what_was_added_is_there_after_a_cut() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut runs = Runs::open(dir.path(), &subject("h"), false).expect("it opens");
        for round in 1..=3 {
            runs.add(key(round), FOUND).expect("there is room");
        }
        drop(runs);
        let path = dir.path().join("runs.jsonl");
        let text = fs::read_to_string(&path).expect("it is there");
        fs::write(&path, &text[..text.len() - 5]).expect("it can be written");

        let mut runs = Runs::open(dir.path(), &subject("h"), true).expect("it opens");
        assert_eq!(runs.resumed, 2);
        assert_eq!(runs.get(&key(2)), Some(FOUND));
        assert_eq!(runs.get(&key(3)), None);
        runs.add(key(3), FOUND).expect("there is room");
        drop(runs);
        assert_eq!(fs::read_to_string(&path).expect("it is there"), text);
    }

    #[test]
    fn a_line_that_cannot_be_read_costs_its_run_only() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut runs = Runs::open(dir.path(), &subject("h"), false).expect("it opens");
        for round in 1..=4 {
            runs.add(key(round), FOUND).expect("there is room");
        }
        drop(runs);
        let path = dir.path().join("runs.jsonl");
        let text = fs::read_to_string(&path).expect("it is there");
        let mut lines: Vec<_> = text.lines().map(|line| line.as_bytes().to_vec()).collect();
        lines[2] = b"\0\0\xff no line".to_vec();
        lines[3].truncate(9);
        let broken = [lines.join(&b'\n'), b"\n".to_vec()].concat();
        fs::write(&path, &broken).expect("it can be written");

        for _ in 0..2 {
            let runs = Runs::open(dir.path(), &subject("h"), true).expect("it opens");
            assert_eq!(runs.resumed, 2);
            assert!([2, 3].iter().all(|&round| runs.get(&key(round)).is_none()));
            assert_eq!(runs.get(&key(1)), Some(FOUND));
            assert_eq!(runs.get(&key(4)), Some(FOUND));
            drop(runs);
            assert!(
                fs::read(&path).expect("it is there") == broken,
                "it is kept"
            );
        }
        let mut runs = Runs::open(dir.path(), &subject("h"), true).expect("it opens");
        runs.add(key(2), FOUND).expect("there is room");
        let runs = Runs::open(dir.path(), &subject("h"), true).expect("it opens");
        assert_eq!((runs.resumed, runs.get(&key(2))), (3, Some(FOUND)));
    }

    #[test]
    fn without_resume_nothing_is_kept() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut runs = Runs::open(dir.path(), &subject("h"), false).expect("it opens");
        runs.add(key(1), FOUND).expect("there is room");
        let runs = Runs::open(dir.path(), &subject("h"), false).expect("it opens");
        assert_eq!((runs.resumed, runs.get(&key(1))), (0, None));
    }

    #[test]
    fn runs_of_something_else_are_refused() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        Runs::open(dir.path(), &subject("h"), false).expect("it opens");
        let error = Runs::open(dir.path(), &subject("other"), true)
            .err()
            .expect("refused");
        assert!(error.to_string().contains("--resume"));
        assert!(Runs::open(dir.path(), &subject("h"), true).is_ok());
    }

    #[test]
    fn a_file_that_takes_no_more_is_named_with_the_way_on() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut runs = Runs::open(dir.path(), &subject("h"), false).expect("it opens");
        // Like a full disk: the file is there and each write fails.
        runs.file = fs::File::open(&runs.path).expect("it is there");
        let error = runs.add(key(1), FOUND).expect_err("it cannot be written");
        let text = format!("{error:#}");
        assert!(
            text.contains("runs.jsonl") && text.contains("--resume"),
            "{text}"
        );
        assert_eq!(runs.get(&key(1)), None);
    }

    #[test]
    fn resuming_nothing_starts() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let runs = Runs::open(dir.path(), &subject("h"), true).expect("it opens");
        assert_eq!(runs.resumed, 0);
    }
}
