//! Progress of long commands: a bar on a terminal, plain numbered lines elsewhere.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

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
