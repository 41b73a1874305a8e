//! A bar on a terminal; without one, a line every tenth of the frames.

use std::cell::Cell;
use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};

/// Counts frames.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    total: usize,
    done: Cell<usize>,
}

impl Progress {
    /// At none of `total` frames.
    pub(crate) fn new(total: usize) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("frame {pos}/{len} [{bar:40}] {eta} left")
                .expect("the template is a constant and valid")
                .progress_chars("=> ");
            ProgressBar::new(total as u64).with_style(style)
        });
        Self {
            bar,
            total,
            done: Cell::new(0),
        }
    }

    /// A frame is done.
    pub(crate) fn frame(&self) {
        let done = self.done.get() + 1;
        self.done.set(done);
        match &self.bar {
            Some(bar) => bar.inc(1),
            None if done * 10 / self.total > (done - 1) * 10 / self.total => {
                eprintln!("frame {done}/{}", self.total);
            }
            None => {}
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
