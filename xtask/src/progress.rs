//! Progress of long commands: a bar on a terminal, plain numbered lines elsewhere.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};

/// Counts through a known number of steps and says which one runs.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    total: u64,
    done: std::cell::Cell<u64>,
}

impl Progress {
    /// Starts at zero of `total` steps of the job called `title`.
    pub(crate) fn new(title: &str, total: usize) -> Self {
        let total = total as u64;
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template(
                "{prefix} [{bar:30}] {pos}/{len} {elapsed}, {eta} left: {msg}",
            )
            .expect("the template is a constant and valid")
            .progress_chars("=> ");
            ProgressBar::new(total)
                .with_style(style)
                .with_prefix(title.to_owned())
        });
        if bar.is_none() {
            eprintln!("{title}: {total} steps");
        }
        Self {
            bar,
            total,
            done: std::cell::Cell::new(0),
        }
    }

    /// Says that `what` is being worked on now.
    pub(crate) fn at(&self, what: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(what.to_owned()),
            None => eprintln!("[{}/{}] {what}", self.done.get() + 1, self.total),
        }
    }

    /// One step is done.
    pub(crate) fn step(&self) {
        self.done.set(self.done.get() + 1);
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
    }

    /// Prints a line above the bar.
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
