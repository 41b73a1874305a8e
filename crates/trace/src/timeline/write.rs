//! Writes a timeline: as a trace, as a page, into a file, and there also when the program panics or gets a signal.

use std::boxed::Box;
use std::fs::File;
use std::io::{self, BufWriter, Write, stderr};
use std::path::{Path, PathBuf};

use terrace_sync::Mutex;

use super::taken::{Timeline, snapshot};
use super::{chrome, spans};

impl Timeline {
    /// Writes a trace in Chrome's JSON format. [Perfetto](https://ui.perfetto.dev) opens it, and `cargo xtask timeline` makes the page of
    /// [`write_html`](Self::write_html) out of it. Flows lead from each wake to the poll that it caused.
    ///
    /// Cost: about 150 bytes and a microsecond an event. Many small writes: give it a [`BufWriter`].
    ///
    /// # Errors
    /// Those of `out`.
    ///
    /// # Examples
    ///
    /// ```
    /// terrace_trace::park();
    /// let mut json = Vec::new();
    /// terrace_trace::timeline::snapshot().write_chrome(&mut json)?;
    /// assert!(!json.is_empty());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn write_chrome(&self, out: &mut impl Write) -> io::Result<()> {
        chrome::write(&spans::picture(self), out)
    }

    /// Writes a page that shows the timeline in a browser: one file that needs no other. Cost: about 8 bytes and a fraction of a microsecond
    /// an event.
    ///
    /// # Errors
    /// Those of `out`.
    ///
    /// # Examples
    ///
    /// ```
    /// terrace_trace::park();
    /// let mut page = Vec::new();
    /// terrace_trace::timeline::snapshot().write_html(&mut page)?;
    /// assert!(page.starts_with(b"<!"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn write_html(&self, out: &mut impl Write) -> io::Result<()> {
        spans::picture(self).write_page(out)
    }

    /// Writes a file: the page if the path ends in `.html`, else the trace.
    ///
    /// # Errors
    /// Those of creating and writing the file.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use terrace_trace::timeline;
    ///
    /// let page = std::env::temp_dir().join("timeline.html");
    /// timeline::snapshot().write_file(page)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn write_file(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let path = path.as_ref();
        let mut out = BufWriter::new(File::create(path)?);
        match path.extension() == Some("html".as_ref()) {
            true => self.write_html(&mut out)?,
            false => self.write_chrome(&mut out)?,
        }
        out.flush()
    }
}

/// Of the threads that write: several may panic at once.
static WRITES: Mutex<()> = Mutex::new(());

/// Writes the timeline of the moment to a file, and says so, or that it failed.
fn write(path: &Path) {
    let _alone = WRITES.lock();
    let written = snapshot().write_file(path);
    let path = path.display();
    // Where standard error is closed, there is no place for it.
    let _told = match written {
        Ok(()) => writeln!(stderr(), "the timeline is in {path}"),
        Err(error) => writeln!(stderr(), "cannot write the timeline to {path}: {error}"),
    };
}

/// From now on each panic first does what it did before, and then writes the timeline to this file, as
/// [`Timeline::write_file`] does. A panic that the program catches counts, too: the last one stays in the file.
///
/// # Examples
///
/// ```no_run
/// terrace_trace::timeline::write_on_panic("timeline.html");
/// ```
pub fn write_on_panic(path: impl Into<PathBuf>) {
    let path = path.into();
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        before(panic);
        write(&path);
    }));
}

/// From now on the signal, for instance `SIGUSR1` (10 on Linux), writes the timeline to this file, as
/// [`Timeline::write_file`] does. It does nothing else any more: the process does not end.
///
/// A thread of its own writes the file, so it works while all others hang. Needs feature `signal`.
///
/// # Errors
/// If the system refuses the handler or the thread, or the signal is one that cannot be handled.
///
/// # Panics
/// If the signal is `SIGKILL`, `SIGSTOP`, `SIGILL`, `SIGFPE` or `SIGSEGV`.
///
/// # Examples
///
/// ```no_run
/// # #[cfg(target_os = "linux")]
/// terrace_trace::timeline::write_on_signal(10, "timeline.html")?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[cfg(all(unix, feature = "signal"))]
pub fn write_on_signal(signal: i32, path: impl Into<PathBuf>) -> io::Result<()> {
    let path = path.into();
    let mut signals = signal_hook::iterator::Signals::new([signal])?;
    let watch = std::thread::Builder::new().name("timeline-signal".into());
    watch.spawn(move || {
        for _ in signals.forever() {
            write(&path);
        }
    })?;
    Ok(())
}
