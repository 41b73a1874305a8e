//! Progress of long commands: a bar on a terminal, plain numbered lines elsewhere.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use indicatif::{ProgressBar, ProgressStyle};

use crate::process::parallel;

/// How often the bar shows the time that has passed.
const TICK: Duration = Duration::from_millis(500);

/// Counts through a known number of steps and says which one runs; may be shared by threads.
pub(crate) struct Progress {
    /// Hidden where standard error is no terminal.
    bar: ProgressBar,
    total: usize,
    started: AtomicUsize,
    /// The jobs that have.
    failed: Mutex<Vec<String>>,
}

impl Progress {
    /// Starts at zero of `total` steps of the job called `title`.
    pub(crate) fn new(title: &str, total: usize) -> Self {
        let template = "{prefix} [{bar:30}] {pos}/{len} {elapsed}, {eta} left: {msg}";
        let style = ProgressStyle::with_template(template)
            .expect("the template is a constant and valid")
            .progress_chars("=> ");
        let bar = ProgressBar::new(total as u64)
            .with_style(style)
            .with_prefix(title.to_owned());
        if bar.is_hidden() {
            eprintln!("{title}: {total} to do");
        } else {
            bar.enable_steady_tick(TICK);
        }
        let (started, failed) = (AtomicUsize::new(0), Mutex::default());
        Self {
            bar,
            total,
            started,
            failed,
        }
    }

    /// Says that `what` is being worked on now.
    pub(crate) fn at(&self, what: &str) {
        let number = self.started.fetch_add(1, Ordering::Relaxed) + 1;
        if self.bar.is_hidden() {
            eprintln!("[{number}/{}] {what}", self.total);
        }
        self.detail(what);
    }

    /// Says on a terminal what of it is being worked on now.
    pub(crate) fn detail(&self, what: &str) {
        self.bar.set_message(what.to_owned());
    }

    pub(crate) fn step(&self) {
        self.bar.inc(1);
    }

    /// Prints text above the bar.
    pub(crate) fn line(&self, text: &str) {
        self.bar.suspend(|| eprintln!("{text}"));
    }

    /// Does a job of this name, and says how it went; how long it took.
    fn job(&self, name: String, job: impl FnOnce() -> Result<String>) -> Duration {
        self.at(&name);
        let start = Instant::now();
        let result = job();
        let time = start.elapsed();
        let said = match &result {
            Ok(said) => said.clone(),
            Err(error) => format!("FAILED: {error:#}"),
        };
        self.line(&format!("{:8.2} s  {name}: {said}", time.as_secs_f64()));
        self.step();
        if result.is_err() {
            self.failed.lock().expect("no push panics").push(name);
        }
        time
    }

    /// An error if a job has failed.
    fn end(self) -> Result<()> {
        self.finish();
        let (title, all) = (self.bar.prefix(), self.total);
        let failed = self.failed.lock().expect("no push panics");
        let (count, names) = (failed.len(), failed.join(", "));
        ensure!(count == 0, "{count} of {all} failed: {names}");
        println!("{title}: all {all} passed");
        Ok(())
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Does `job` for every item that a filter has left, also after one has failed, and says which have. A job that passes may say a
/// line.
pub(crate) fn run_all<T>(
    title: &str,
    items: &[T],
    name: impl Fn(&T) -> String,
    job: impl Fn(&T) -> Result<String>,
) -> Result<()> {
    ensure!(!items.is_empty(), "{title}: no name contains the filter");
    let progress = Progress::new(title, items.len());
    for item in items {
        progress.job(name(item), || job(item));
    }
    progress.end()
}

/// The same, as many at a time as there are processors; how long each took.
pub(crate) fn run_parallel<T: Sync>(
    title: &str,
    items: &[T],
    name: impl Fn(&T) -> String + Sync,
    job: impl Fn(&T) -> Result<String> + Sync,
) -> Result<Vec<Duration>> {
    let progress = Progress::new(title, items.len());
    let times = parallel(items, |item| progress.job(name(item), || job(item)));
    progress.end()?;
    Ok(times)
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
        assert!(run(&[]).is_err());
        let error = run(&["aa", "b", "cc"]).expect_err("two fail");
        assert_eq!(error.to_string(), "2 of 3 failed: aa, cc");
    }
}
