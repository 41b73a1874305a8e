//! Bench programs made with criterion: which benches they have, and one run of one of them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use super::child::{self, CpuClock};
use super::runs::Run;
use crate::workspace::{empty, files_below};
use xtask_stats::median;

/// A list takes milliseconds; this is for hangs.
const LIST_LIMIT: Duration = Duration::from_secs(60);
/// How many times its nominal time a run may take, and what is added: slow set-up is no hang.
const LIMIT_FACTOR: u32 = 20;
const LIMIT_EXTRA: Duration = Duration::from_secs(60);
/// The fewest that criterion accepts.
const SAMPLES: &str = "10";
/// Criterion's own analysis is not used: as little of it as it accepts without complaint.
const RESAMPLES: &str = "1000";
/// The part of the measured time that must lie between the two lines for CPU time to count.
const SEEN_IN_TIME: f64 = 0.97;

/// How long one run is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Length {
    pub(crate) warm_up_ms: u64,
    pub(crate) time_ms: u64,
}

impl Length {
    /// A run that measures for this long, and warms up for a third more.
    pub(crate) fn of_millis(time_ms: u64) -> Self {
        Self {
            warm_up_ms: (time_ms / 3).max(1),
            time_ms,
        }
    }

    fn limit(&self) -> Duration {
        Duration::from_millis(self.warm_up_ms + self.time_ms) * LIMIT_FACTOR + LIMIT_EXTRA
    }
}

/// What stands before the number of barriers.
const BARRIERS: &str = "barriers an iteration: ";

/// A bench program of one side.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// The file in `benches/`, without extension.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// For errors: which side, and of which ref.
    pub(crate) side: String,
    /// Set in its environment.
    pub(crate) variables: Vec<(&'static str, String)>,
}

#[derive(Deserialize)]
struct Sample {
    iters: Vec<f64>,
    times: Vec<f64>,
}

impl Program {
    /// One that is not there.
    #[cfg(test)]
    pub(crate) fn test() -> Self {
        Self {
            name: "bench".to_owned(),
            path: "bench".into(),
            side: "this tree".to_owned(),
            variables: Vec::new(),
        }
    }

    /// The ids of its benches.
    pub(crate) fn list(&self) -> Result<Vec<String>> {
        let mut command = self.command();
        command.args(["--bench", "--list", "--format", "terse"]);
        let ended = child::run(&mut command, LIST_LIMIT, |_, _| {})?;
        let ended = ended.checked(&self.failed("--list"))?;
        ended
            .stdout
            .lines()
            .filter(|line| !line.trim().is_empty())
            .map(|line| {
                let id = line.strip_suffix(": benchmark");
                id.map(str::to_owned).with_context(|| {
                    format!(
                        "{} listed `{line}`, which is no bench of criterion",
                        self.path.display()
                    )
                })
            })
            .collect()
    }

    /// Runs one bench. `home` is emptied and then holds what criterion wrote.
    pub(crate) fn run(&self, id: &str, length: Length, home: &Path) -> Result<Run> {
        empty(home)?;
        let mut command = self.command();
        command
            .args(["--bench", "--exact", id, "--noplot", "--color", "never"])
            .args(["--warm-up-time", &seconds(length.warm_up_ms)])
            .args(["--measurement-time", &seconds(length.time_ms)])
            .args(["--sample-size", SAMPLES])
            .args(["--nresamples", RESAMPLES])
            .env("CRITERION_HOME", home);
        let mut phases = Phases::default();
        let ended = child::run(&mut command, length.limit(), |bytes, clock| {
            phases.saw(bytes, clock);
        })?;
        let ended = ended.checked(&self.failed(id))?;
        let mut lines = ended.stdout.lines();
        let barriers = lines.find_map(|line| line.strip_prefix(BARRIERS)?.parse().ok());
        let sample = self.sample(id, home)?;
        let iterations: f64 = sample.iters.iter().sum();
        let mut walls: Vec<f64> = (sample.times.iter().zip(&sample.iters))
            .map(|(time, iterations)| time / iterations)
            .collect();
        ensure!(
            !walls.is_empty() && walls.iter().all(|w| w.is_finite() && *w > 0.0),
            "`{id}` of {} took no measurable time; is its work optimised away?",
            self.side
        );
        let measured = Duration::from_nanos(sample.times.iter().sum::<f64>() as u64);
        let cpu = phases.cpu(measured);
        Ok(Run {
            cpu: cpu.map(|cpu| cpu.as_nanos() as f64 / iterations),
            barriers,
            ..Run::of(median(&mut walls))
        })
    }

    /// Started where it lies.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.envs(self.variables.iter().cloned());
        if let Some(dir) = self.path.parent() {
            command.current_dir(dir);
        }
        command
    }

    /// What an error about a run begins with.
    fn failed(&self, what: &str) -> String {
        let (side, path) = (&self.side, self.path.display());
        format!("`{what}` failed on {side}; to see it alone: `{path} --bench --exact {what}`")
    }

    /// Reads the one `sample.json` below `home`.
    fn sample(&self, id: &str, home: &Path) -> Result<Sample> {
        let mut found = files_below(home)?;
        found.retain(|path| path.ends_with("new/sample.json"));
        let [sample] = &found[..] else {
            bail!(
                "`{id}` of {} left {} samples instead of one; is the id unique?",
                self.side,
                found.len()
            );
        };
        let text = fs_err::read_to_string(sample)?;
        serde_json::from_str(&text)
            .with_context(|| format!("{} is no sample of criterion", sample.display()))
    }
}

fn seconds(millis: u64) -> String {
    format!("{}", millis as f64 / 1e3)
}

/// CPU times at the lines with which criterion begins and ends taking samples.
#[derive(Default)]
struct Phases {
    /// The line that is being printed.
    line: Vec<u8>,
    /// When the lines were seen, and the CPU time until then.
    start: Option<(Instant, Duration)>,
    end: Option<(Instant, Duration)>,
}

impl Phases {
    fn saw(&mut self, bytes: &[u8], clock: &CpuClock) {
        let now = || Some((Instant::now(), clock.now()?));
        for piece in bytes.split_inclusive(|b| *b == b'\n') {
            self.line.extend_from_slice(piece);
            if !piece.ends_with(b"\n") {
                continue;
            }
            let line = String::from_utf8_lossy(&self.line);
            if line.starts_with("Benchmarking ") && line.contains(": Collecting ") {
                self.start = now();
            } else if line.starts_with("Benchmarking ") && line.trim_end().ends_with(": Analyzing")
            {
                self.end = now();
            }
            self.line.clear();
        }
    }

    /// The CPU time between the lines, unless the time between them is shorter than what was measured between
    /// them: then the first was seen too late.
    fn cpu(&self, measured: Duration) -> Option<Duration> {
        let ((start, before), (end, after)) = (self.start?, self.end?);
        let seen = end.checked_duration_since(start)?;
        let whole = seen.as_secs_f64() >= measured.as_secs_f64() * SEEN_IN_TIME;
        after.checked_sub(before).filter(|_| whole)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::{Length, Program, Run};

    /// A program that speaks criterion's command line: `/bin/sh` runs the script.
    fn program(dir: &Path, script: &str) -> Program {
        let path = dir.join("bench");
        // Another process writes it: a fork of a parallel test would inherit an open file, and then it
        // could not be started ("text file busy").
        let write = r#"printf '#!/bin/sh\n%s\n' "$1" > "$2" && chmod +x "$2""#;
        let mut sh = Command::new("sh");
        let status = sh.args(["-c", write, "sh", script]).arg(&path).status();
        assert!(status.expect("sh starts").success());
        Program {
            path,
            side: "base (main)".to_owned(),
            ..Program::test()
        }
    }

    /// What a run of such a program finds, or its error.
    fn run(script: &str) -> Result<Run, String> {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let home = dir.path().join("home");
        // What an earlier run left is not read.
        fs_err::create_dir_all(home.join("old/new")).expect("writable");
        fs_err::write(home.join("old/new/sample.json"), "{").expect("writable");
        let run = program(dir.path(), script).run("a/b", Length::of_millis(3), &home);
        run.map_err(|error| error.to_string())
    }

    const WRITES: &str = r#"mkdir -p "$CRITERION_HOME/a/b/new"
echo '{"sampling_mode":"Flat","iters":[2.0,4.0,8.0],"times":[20.0,80.0,90.0]}' > "$CRITERION_HOME/a/b/new/sample.json""#;

    #[test]
    fn ids_are_listed() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let script = "echo 'a/b/c/1: benchmark'; echo 'a/b c: benchmark'; echo";
        let listed = program(dir.path(), script).list();
        assert_eq!(listed.expect("it lists"), ["a/b/c/1", "a/b c"]);
        let error = program(dir.path(), "echo test")
            .list()
            .expect_err("no bench");
        assert!(error.to_string().contains("`test`"), "{error}");
    }

    #[test]
    fn a_run_gives_the_median_and_the_cpu_time_of_its_phase() {
        let phases = "echo 'Benchmarking x: Collecting 3 samples in estimated 1 s (14 iterations)' >&2\n\
                      i=0; while [ $i -lt 9999 ]; do i=$((i+1)); done\n\
                      echo 'Benchmarking x: Analyzing' >&2\n";
        let prints = "echo 'barriers an iteration: 0.5'\n";
        // If this thread stands still, it may see both lines at once: the phase has taken no time then.
        let tells = |_| {
            let found = run(&format!("{phases}{prints}{WRITES}")).expect("it runs");
            assert_eq!((found.value, found.barriers), (11.25, Some(0.5)));
            found.cpu.is_some_and(|cpu| cpu > 0.0)
        };
        assert!((0..20).any(tells) || !cfg!(target_os = "linux"));
        // Samples that took far longer than the lines are apart: the first line was seen too late.
        let late = WRITES.replace("20.0,80.0,90.0", "2e12,8e12,9e12");
        assert_eq!(run(&format!("{phases}{late}")).expect("it runs").cpu, None);
        let without = run(WRITES).expect("it runs");
        assert_eq!((without.value, without.cpu), (11.25, None));
        assert_eq!(without.barriers, None);
    }

    #[test]
    fn a_failing_bench_is_named_with_its_side_and_last_words() {
        let error = run("echo \"thread 'main' panicked\" >&2; exit 101").expect_err("it failed");
        for part in ["`a/b`", "base (main)", "101", "panicked", "--exact a/b"] {
            assert!(error.contains(part), "{part} is not in {error}");
        }
        assert!(run("exit 0").is_err(), "there is no sample");
    }
}
