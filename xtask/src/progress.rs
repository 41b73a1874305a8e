//! Progress of long commands: a bar on a terminal, plain numbered lines elsewhere.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use indicatif::{ProgressBar, ProgressStyle};

use crate::process::parallel;

/// How often the bar shows the time that has passed.
const TICK: Duration = Duration::from_millis(500);

/// Counts through a known number of steps and says which one runs; may be shared by threads.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    total: usize,
    started: AtomicUsize,
}

impl Progress {
    /// Starts at zero of `total` steps of the job called `title`.
    pub(crate) fn new(title: &str, total: usize) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template(
                "{prefix} [{bar:30}] {pos}/{len} {elapsed}, {eta} left: {msg}",
            )
            .expect("the template is a constant and valid")
            .progress_chars("=> ");
            let bar = ProgressBar::new(total as u64)
                .with_style(style)
                .with_prefix(title.to_owned());
            bar.enable_steady_tick(TICK);
            bar
        });
        if bar.is_none() {
            eprintln!("{title}: {total} to do");
        }
        Self {
            bar,
            total,
            started: AtomicUsize::new(0),
        }
    }

    /// Says that `what` is being worked on now.
    pub(crate) fn at(&self, what: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(what.to_owned()),
            None => {
                let number = self.started.fetch_add(1, Ordering::Relaxed) + 1;
                eprintln!("[{number}/{}] {what}", self.total);
            }
        }
    }

    /// Says on a terminal what of it is being worked on now.
    pub(crate) fn detail(&self, what: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(what.to_owned());
        }
    }

    /// One step is done.
    pub(crate) fn step(&self) {
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
    }

    /// Prints text above the bar.
    pub(crate) fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None => eprintln!("{text}"),
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

/// What is printed of a job at its end: one word, and what else there is to say.
pub(crate) type Told = (&'static str, String);

/// Does `job` for every item, as many at a time as there are processors, and tells how each went. The results have the time
/// that each took.
pub(crate) fn run_timed<T: Sync, R: Send>(
    title: &str,
    items: &[T],
    name: impl Fn(&T) -> String + Sync,
    job: impl Fn(&T) -> (Told, R) + Sync,
) -> Vec<(R, Duration)> {
    let progress = Progress::new(title, items.len());
    parallel(items, |item| {
        let name = name(item);
        progress.at(&name);
        let start = Instant::now();
        let ((word, more), result) = job(item);
        let time = start.elapsed();
        progress.line(&format!("{word:9} {:7.2} s  {name}", time.as_secs_f64()));
        if !more.is_empty() {
            progress.line(&more);
        }
        progress.step();
        (result, time)
    })
}

/// Does `job` for every item, also after one has failed, and says which have. A job that passes may say a line.
pub(crate) fn run_all<T>(
    title: &str,
    items: &[T],
    name: impl Fn(&T) -> String,
    job: impl Fn(&T) -> Result<String>,
) -> Result<()> {
    let progress = Progress::new(title, items.len());
    let mut failed = Vec::new();
    for item in items {
        let name = name(item);
        progress.at(&name);
        match job(item) {
            Ok(line) => progress.line(&format!("{name}: {line}")),
            Err(error) => {
                progress.line(&format!("{name}: FAILED: {error:#}"));
                failed.push(name);
            }
        }
        progress.step();
    }
    progress.finish();
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    eprintln!("{title}: all {} passed", items.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn all_are_run_and_those_that_fail_are_named() {
        let job = |item: &&str| match item.len() {
            1 => Ok(String::new()),
            _ => Err(anyhow::anyhow!("too long")),
        };
        let run = |items: &[&str]| super::run_all("a test", items, |item| item.to_string(), job);
        assert!(run(&["a", "b"]).is_ok());
        let error = run(&["aa", "b", "cc"]).expect_err("two fail");
        assert_eq!(error.to_string(), "failed: aa, cc");
    }
}
