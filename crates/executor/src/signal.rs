//! A dump on a signal.

use std::io::{self, Write as _};

use signal_hook::consts::SIGUSR1;
use signal_hook::iterator::Signals;
use terrace_sync::thread;

use crate::pool::look::dump_all;

/// From now on the process writes [`dump_all`] to standard error each time it gets the signal `SIGUSR1`: `kill -USR1 PID`.
///
/// The signal's handler only wakes a thread of its own, `terrace-dump`, which writes. So the signal may interrupt any code, and the
/// dump works where every other thread hangs. A second call adds a second dump.
///
/// # Errors
/// When the system refuses the handler, or a thread.
///
/// # Examples
///
/// ```
/// terrace_executor::dump_on_signal()?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn dump_on_signal() -> io::Result<()> {
    let mut signals = Signals::new([SIGUSR1])?;
    let thread = thread::Builder::new().name("terrace-dump".into());
    let started = thread.spawn(move || {
        for _ in signals.forever() {
            let text = dump_all().to_string();
            // Where standard error is closed, there is no place for it.
            let _written = io::stderr().write_all(text.as_bytes());
        }
    });
    started.map(drop)
}
