//! Programs under a time limit, and several jobs at a time.

use std::collections::BTreeMap;
use std::io::{Read, Seek};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

/// How often a running program is looked at.
const POLL: Duration = Duration::from_millis(10);

/// How a program ended.
pub(crate) struct Finished {
    /// `None`: it was killed at the time limit.
    pub(crate) status: Option<ExitStatus>,
    /// What it printed, standard output and standard error in the order written.
    pub(crate) output: String,
    pub(crate) time: Duration,
}

impl Finished {
    /// An error with all that it printed, unless it ended well.
    pub(crate) fn passed(&self) -> Result<()> {
        let how = self.status.map_or("killed".to_owned(), |s| s.to_string());
        ensure!(
            self.status.is_some_and(|status| status.success()),
            "{how} after {:.1?}\n{}",
            self.time,
            self.output
        );
        Ok(())
    }
}

/// What a program prints on its standard output.
pub(crate) fn said(mut command: Command) -> Result<String> {
    let output = command.stderr(Stdio::piped()).output();
    let output = output.with_context(|| format!("cannot start {:?}", command.get_program()))?;
    ensure!(
        output.status.success(),
        "{command:?} failed: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A program and its arguments, separated by blanks.
pub(crate) fn program(words: &str) -> Command {
    let mut words = words.split(' ');
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    command
}

/// Fails unless a program starts, which Debian has in the package `apt`.
pub(crate) fn needs(name: &str, apt: &str) -> Result<()> {
    let version = said(program(&format!("{name} --version")));
    let hint =
        || format!("{name} does not start; install it, on Debian by `apt-get install {apt}`");
    version.map(drop).with_context(hint)
}

/// Fails with the first line in which two texts differ, the one above the other.
pub(crate) fn same([(this, these), (other, others)]: [(&str, &str); 2]) -> Result<()> {
    let [mut these, mut others] = [these, others].map(str::lines);
    for number in 1..=these.clone().count().max(others.clone().count()) {
        let [a, b] = [these.next(), others.next()].map(|line| line.unwrap_or("(nothing)"));
        ensure!(a == b, "line {number}\n  {this}: {a}\n  {other}: {b}");
    }
    Ok(())
}

/// A program that is killed when this is dropped.
pub(crate) struct Killed(pub(crate) Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // It may have ended already.
        let _ended = self.0.kill();
        let _status = self.0.wait();
    }
}

/// Runs a program that starts no others; kills it when the time is up.
pub(crate) fn run_limited(mut command: Command, limit: Duration) -> Result<Finished> {
    let mut file = tempfile::tempfile().context("cannot create a temporary file")?;
    let start = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file.try_clone()?)
        .spawn()
        .with_context(|| format!("cannot start {:?}", command.get_program()))?;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if start.elapsed() >= limit {
            child.kill()?;
            child.wait()?;
            break None;
        }
        std::thread::sleep(POLL);
    };
    let time = start.elapsed();
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    let output = String::from_utf8_lossy(&bytes).into_owned();
    Ok(Finished {
        status,
        output,
        time,
    })
}

/// What a program prints, to its end.
pub(crate) fn printed(command: Command, limit: Duration) -> Result<String> {
    let shown = format!("{command:?}");
    let finished = run_limited(command, limit)?;
    finished.passed().context(shown)?;
    Ok(finished.output)
}

/// Calls `f` on each item, as many at a time as there are processors; the results keep the order.
pub(crate) fn parallel<T: Sync, R: Send>(items: &[T], f: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let left = Mutex::new(items.iter().enumerate());
    let results = Mutex::new(BTreeMap::new());
    let next = || left.lock().expect("the iterator does not panic").next();
    let work = || {
        while let Some((at, item)) = next() {
            let result = f(item);
            results.lock().expect("no insert panics").insert(at, result);
        }
    };
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let results = results.into_inner().expect("no insert panics");
    results.into_values().collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Duration;

    use super::{parallel, run_limited, same};

    #[test]
    fn programs_end_by_themselves_or_are_killed() {
        let run = |script: &str, millis| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            run_limited(command, Duration::from_millis(millis)).expect("sh starts")
        };
        let failed = run("echo out; echo err >&2; exit 3", 60_000);
        assert_eq!(failed.output, "out\nerr\n");
        let error = failed.passed().expect_err("it fails").to_string();
        assert!(error.starts_with("exit status: 3") && error.ends_with("err\n"));
        assert!(run("exit 0", 60_000).passed().is_ok());
        assert!(run("exec sleep 600", 50).status.is_none());
    }

    #[test]
    fn the_first_line_that_differs_is_shown() {
        let cases = [
            ("a\nb\nc\n", "a\nx\ny\n", "line 2\n  stock: b\n  ours: x"),
            ("a\n", "a\nb\n", "line 2\n  stock: (nothing)\n  ours: b"),
            ("a\nb\n", "a\nb\n", ""),
        ];
        for (stock, ours, wanted) in cases {
            let shown = same([("stock", stock), ("ours", ours)]);
            assert_eq!(
                shown.map_or_else(|error| error.to_string(), |()| String::new()),
                wanted
            );
        }
    }

    #[test]
    fn results_keep_the_order() {
        let items = Vec::from_iter(0..100);
        assert_eq!(
            parallel(&items, |n| n * 2),
            Vec::from_iter((0..100).map(|n| n * 2))
        );
    }
}
