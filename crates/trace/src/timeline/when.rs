//! Writes a timeline when something happens.

use std::boxed::Box;
use std::io::{Write, stderr};
use std::path::{Path, PathBuf};

use terrace_sync::Mutex;

use super::taken::snapshot;

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
/// [`Timeline::write_file`](super::Timeline::write_file) does. A panic that the program catches counts, too: the last one stays in the file.
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
/// [`Timeline::write_file`](super::Timeline::write_file) does. It does nothing else any more: the process does not end.
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
pub fn write_on_signal(signal: i32, path: impl Into<PathBuf>) -> std::io::Result<()> {
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
