//! Programs under a time limit, and several jobs at a time.

use std::io::{Read, Seek};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

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
    Ok(Finished {
        status,
        output: String::from_utf8_lossy(&bytes).into_owned(),
        time,
    })
}

/// Calls `f` on each item, as many at a time as there are processors; the results keep the order.
pub(crate) fn parallel<T: Sync, R: Send>(items: &[T], f: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads.min(items.len()) {
            scope.spawn(|| {
                while let Some((at, item)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    items.get(at).map(|item| (at, item))
                } {
                    let result = f(item);
                    results
                        .lock()
                        .expect("no job panics while it holds the lock")
                        .push((at, result));
                }
            });
        }
    });
    let mut results = results
        .into_inner()
        .expect("no job panics while it holds the lock");
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Duration;

    use super::{parallel, run_limited};

    #[test]
    fn output_and_status_are_returned() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo out; echo err >&2; exit 3"]);
        let finished = run_limited(command, Duration::from_secs(60)).expect("sh starts");
        assert_eq!(finished.output, "out\nerr\n");
        assert_eq!(finished.status.and_then(|s| s.code()), Some(3));
    }

    #[test]
    fn a_program_over_its_time_is_killed() {
        let mut command = Command::new("sleep");
        command.arg("600");
        let finished = run_limited(command, Duration::from_millis(50)).expect("sleep starts");
        assert!(finished.status.is_none());
    }

    #[test]
    fn a_missing_program_is_an_error() {
        let command = Command::new("no-such-program-here");
        assert!(run_limited(command, Duration::from_secs(1)).is_err());
    }

    #[test]
    fn results_keep_the_order() {
        let items: Vec<usize> = (0..100).collect();
        let doubled = parallel(&items, |n| n * 2);
        assert!(doubled.iter().enumerate().all(|(at, n)| *n == at * 2));
    }
}
