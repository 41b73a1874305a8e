//! What was run, in memory or also in `runs.jsonl`: a line for what is measured, then a line for each run, appended as
//! it ends. `--resume` does not run again what is in the file.

use std::collections::HashMap;
use std::io::{ErrorKind, Seek, SeekFrom, Write};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use fs_err::{self as fs, File, OpenOptions};
use serde::{Deserialize, Serialize};

/// The name of the file.
pub(crate) const NAME: &str = "runs.jsonl";

/// Which run it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Key {
    /// The bench, or what contenders of a workload have in common.
    pub(crate) id: String,
    pub(crate) kind: Kind,
    pub(crate) round: u32,
    /// Its place in the row.
    pub(crate) contender: usize,
    /// The first or the second run of the contender in the round, from 0.
    pub(crate) turn: usize,
}

/// What a run measures.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ValueEnum,
)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// Time by the clock, and of the processors
    Time,
    /// Instructions under callgrind, of the benches called instr_*
    #[value(name = "instr")]
    Instructions,
}

/// What one run found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Run {
    /// Nanoseconds an iteration, the median of the run's samples; or instructions.
    pub(crate) value: f64,
    /// Nanoseconds of CPU time an iteration, of all threads of the process, over the time in which
    /// samples were taken, with the set-up of batches; absent where the system cannot tell, or was too busy
    /// to look at the right time.
    pub(crate) cpu: Option<f64>,
    /// Barriers an iteration that Terrace has asked the system for, if the program prints them.
    #[serde(default)]
    pub(crate) barriers: Option<f64>,
    /// How long the run took, in seconds, which the engine notes.
    pub(crate) seconds: f64,
}

impl Run {
    /// A run that found nothing else.
    pub(crate) fn of(value: f64) -> Self {
        Self {
            value,
            ..Self::default()
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Line {
    #[serde(flatten)]
    key: Key,
    #[serde(flatten)]
    run: Run,
}

/// All runs, and the file that has them.
#[derive(Default)]
pub(crate) struct Runs {
    file: Option<File>,
    done: HashMap<Key, Run>,
    /// Runs that were there when the file was opened.
    pub(crate) resumed: usize,
}

impl Runs {
    /// Opens the file in `dir`, whose first line is `subject`. With `resume` its runs are kept.
    pub(crate) fn open(dir: &Path, subject: &str, resume: bool) -> Result<Self> {
        let path = dir.join(NAME);
        let shown = path.display();
        let text = match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            read => read?,
        };
        // The end of the process may have cut the last line: it is dropped.
        let lines = text.split_inclusive(|byte| *byte == b'\n');
        let mut lines = lines.filter(|line| line.ends_with(b"\n")).zip(1..);
        let mut runs = Self::default();
        let mut end = 0;
        if !resume {
            if lines.nth(1).is_some() {
                eprintln!("{shown} is started anew; --resume would go on");
            }
        } else if let Some((first, _)) = lines.next() {
            ensure!(
                first.trim_ascii() == subject.as_bytes(),
                "{shown} is of another comparison (other commits, changed files, arguments or --time); \
                 leave --resume out to start anew, or give another --out"
            );
            end = first.len();
            for (line, number) in lines {
                end += line.len();
                match serde_json::from_slice::<Line>(line) {
                    Ok(Line { key, run }) => {
                        runs.done.insert(key, run);
                    }
                    // It costs its own run only.
                    Err(error) => eprintln!(
                        "line {number} of {shown} is passed over, its run is missing: {error}"
                    ),
                }
            }
        }
        runs.resumed = runs.done.len();
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        let mut file = options.open(&path)?;
        file.set_len(end as u64)?;
        file.seek(SeekFrom::End(0))?;
        runs.file = Some(file);
        if end == 0 {
            runs.write(subject)?;
        }
        Ok(runs)
    }

    pub(crate) fn get(&self, key: &Key) -> Option<Run> {
        self.done.get(key).copied()
    }

    /// How long all runs took, in seconds.
    pub(crate) fn seconds(&self) -> f64 {
        self.done.values().map(|run| run.seconds).sum()
    }

    /// How long the runs of this kind took, in seconds.
    pub(crate) fn seconds_of(&self, kind: Kind) -> f64 {
        let done = self.done.iter().filter(|(key, _)| key.kind == kind);
        done.map(|(_, run)| run.seconds).sum()
    }

    /// The last round that a bench has a run of.
    pub(crate) fn last_round(&self, id: &str) -> u32 {
        let rounds = self.done.keys().filter(|key| key.id == id);
        rounds.map(|key| key.round).max().unwrap_or(0)
    }

    /// Notes a run.
    pub(crate) fn add(&mut self, key: Key, run: Run) -> Result<()> {
        let line = Line { key, run };
        self.write(&serde_json::to_string(&line)?)?;
        self.done.insert(line.key, line.run);
        Ok(())
    }

    fn write(&mut self, line: &str) -> Result<()> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        // One call, so that a process that is killed leaves a whole line or a cut one at the end.
        let line = format!("{line}\n");
        file.write_all(line.as_bytes()).with_context(|| {
            format!(
                "cannot append to {}; make room, then the same command with --resume goes on",
                file.path().display()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use fs_err as fs;

    use super::{Key, Kind, NAME, Run, Runs};

    fn key(round: u32) -> Key {
        Key {
            id: "a/b/c/1".to_owned(),
            kind: Kind::Time,
            round,
            contender: 1,
            turn: 0,
        }
    }

    const FOUND: Run = Run {
        value: 1.5,
        cpu: None,
        barriers: None,
        seconds: 0.5,
    };

    fn resumed(dir: &Path) -> (Runs, [bool; 4]) {
        let runs = Runs::open(dir, "s", true).expect("it opens");
        let there = [1, 2, 3, 4].map(|round| runs.get(&key(round)) == Some(FOUND));
        (runs, there)
    }

    #[test]
    fn what_can_be_read_is_taken_over() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let (dir, path) = (dir.path(), dir.path().join(NAME));
        let mut runs = Runs::open(dir, "s", false).expect("it opens");
        for round in 1..=4 {
            runs.add(key(round), FOUND).expect("there is room");
        }
        let text = fs::read_to_string(&path).expect("it is there");

        // The end of the process cut the last line.
        fs::write(&path, &text[..text.len() - 5]).expect("it can be written");
        let (mut runs, there) = resumed(dir);
        assert_eq!(there, [true, true, true, false]);
        assert_eq!((runs.resumed, runs.last_round("a/b/c/1")), (3, 3));
        runs.add(key(4), FOUND).expect("there is room");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), text);

        // A line that cannot be read costs its run only, and is kept.
        let mut lines: Vec<_> = text.lines().map(|line| line.as_bytes().to_vec()).collect();
        lines[2] = b"\0\0\xff no line".to_vec();
        lines[3].truncate(9);
        let broken = [lines.join(&b'\n'), b"\n".to_vec()].concat();
        fs::write(&path, &broken).expect("it can be written");
        assert_eq!(resumed(dir).1, [true, false, false, true]);
        assert!(fs::read(&path).expect("it is there") == broken);

        let error = Runs::open(dir, "other", true).err().expect("refused");
        assert!(error.to_string().contains("--resume"));
        let anew = Runs::open(dir, "s", false).expect("it opens");
        assert_eq!((anew.resumed, anew.get(&key(1))), (0, None));
    }

    #[test]
    fn a_file_that_takes_no_more_is_named_with_the_way_on() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut runs = Runs::open(dir.path(), "s", false).expect("it opens");
        // Like a full disk: the file is there and each write fails.
        runs.file = fs::File::open(dir.path().join(NAME)).ok();
        let error = runs.add(key(1), FOUND).expect_err("it cannot be written");
        let text = format!("{error:#}");
        assert!(text.contains(NAME) && text.contains("--resume"), "{text}");
        assert_eq!(runs.get(&key(1)), None);
    }
}
