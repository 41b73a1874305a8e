//! Ends tests that hang.
//!
//! A thread of its own waits for the guard's end, at most for the limit. It then reports and aborts the process,
//! because no thread can end another one.

use std::cell::RefCell;
use std::fmt::Debug;
use std::panic::Location;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use terrace_sync::{Arc, Mutex};

use crate::program::{succeeds, this_program};
use crate::report;

/// How long a test may take: no test needs a tenth of it, sanitized or not.
const LIMIT: Duration = Duration::from_secs(if cfg!(miri) { 3_600 } else { 60 });
/// The variable that sets another limit, in seconds.
const LIMIT_VARIABLE: &str = "TERRACE_TEST_SECONDS";
/// Set in the process that [`in_own_process`] starts.
const INSIDE: &str = "TERRACE_TEST_INSIDE";
/// How long the values may take to describe themselves: they may hang, too.
const VALUES_LIMIT: Duration = Duration::from_secs(5);

/// Describes something for the report.
pub(crate) type Describe = Box<dyn Fn() -> String + Send>;
type Shown = Arc<Mutex<Vec<Describe>>>;

terrace_sync::thread_local! {
    /// The report of this thread's innermost watchdog.
    static SHOWN: RefCell<Option<Shown>> = const { RefCell::new(None) };
}

/// Watches until it is dropped, see [`watchdog`].
#[must_use = "the watch ends when this is dropped"]
#[derive(Debug)]
pub struct Watchdog {
    /// Dropped to end the watch, before the thread is joined.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// A watchdog with a limit of its own.
    /// # Panics
    /// If the system starts no thread.
    #[track_caller]
    pub fn within(limit: Duration) -> Self {
        let place = Location::caller();
        let test = match thread::current().name() {
            // A single test thread runs tests itself.
            None | Some("main") => format!("the test at {place}"),
            Some(name) => format!("{name} ({place})"),
        };
        let shown = Shown::default();
        SHOWN.with(|own| own.replace(Some(Arc::clone(&shown))));
        let (end, ended) = channel();
        let thread = thread::Builder::new().name("watchdog".to_owned());
        let thread = thread.spawn(move || {
            if ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                bite(&test, limit, &shown);
            }
        });
        Self {
            end: Some(end),
            thread: Some(thread.expect("a thread can be started")),
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.end.take());
        // It has ended already, or ends the process.
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

/// From now on the test may take 60 seconds, or what `TERRACE_TEST_SECONDS` says. If it takes longer, the process
/// reports on its threads and aborts.
#[track_caller]
pub fn watchdog() -> Watchdog {
    Watchdog::within(limit())
}

/// Runs `body` under a watchdog on a thread of its own, and returns what it returns.
///
/// # Panics
/// If `body` does.
#[track_caller]
pub fn on_own_thread<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> T {
    let _watchdog = watchdog();
    let shown = SHOWN.with(|shown| shown.borrow().clone());
    let name = thread::current().name().unwrap_or("test").to_owned();
    let thread = thread::Builder::new().name(name).spawn(move || {
        SHOWN.with(|own| own.replace(shown));
        body()
    });
    let ended = thread.expect("a thread can be started").join();
    ended.unwrap_or_else(|payload| std::panic::resume_unwind(payload))
}

/// Runs `body` on a thread with a stack of so many bytes, without a watchdog of its own.
///
/// # Panics
/// If `body` does. A stack that is too small ends the process.
#[track_caller]
pub fn on_stack_of(bytes: usize, body: impl FnOnce() + Send + 'static) {
    let thread = thread::Builder::new().stack_size(bytes).spawn(body);
    let ended = thread.expect("a thread can be started").join();
    ended.unwrap_or_else(|payload| std::panic::resume_unwind(payload));
}

/// Runs `body` under a watchdog in a process of its own: this test program again, with the test called `name` alone. What
/// the process prints is shown if it fails.
///
/// # Panics
/// If the process fails.
#[track_caller]
pub fn in_own_process(name: &str, body: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_none() {
        let mut command = this_program();
        command.args([name, "--exact", "--nocapture"]);
        succeeds(name, command.env(INSIDE, "1"));
        return;
    }
    // Never dropped: the end of the process may hang, too.
    std::mem::forget(watchdog());
    body();
}

/// If the test hangs, the report has this value's `Debug` text, unless the value is gone by then. Without a watchdog on
/// this thread nothing happens.
pub fn show<T: Debug + Send + Sync + 'static>(value: &Arc<T>) {
    let value = Arc::downgrade(value);
    add(Box::new(move || match value.upgrade() {
        // This does not drop it: its end might wait for the thread that hangs.
        Some(value) => format!("{:#?}", *std::mem::ManuallyDrop::new(value)),
        None => "a value that is gone, or is being dropped".to_owned(),
    }));
}

/// The same for a value that is never dropped.
pub fn show_static<T: Debug + Sync>(value: &'static T) {
    add(Box::new(move || format!("{value:#?}")));
}

fn add(describe: Describe) {
    SHOWN.with(|shown| {
        let shown = shown.borrow();
        if let Some(shown) = &*shown {
            shown.lock().push(describe);
        }
    });
}

/// How long a test may take: 60 seconds, or what `TERRACE_TEST_SECONDS` says.
/// # Panics
/// If the variable is no whole number.
#[must_use]
pub fn limit() -> Duration {
    let seconds = std::env::var(LIMIT_VARIABLE).ok();
    seconds.map_or(LIMIT, |text| {
        Duration::from_secs(text.parse().expect("a whole number of seconds"))
    })
}

/// Reports and ends the process.
fn bite(test: &str, limit: Duration, shown: &Shown) -> ! {
    report::write(&format!("{test} hangs: it has not ended after {limit:?}\n"));
    report::threads();
    let (done, described) = channel::<()>();
    let shown = Arc::clone(shown);
    thread::spawn(move || {
        report::executors();
        report::values(&shown.lock());
        drop(done);
    });
    // Disconnected when it is done. The executors come first: what a test shows may run users' code.
    if let Err(RecvTimeoutError::Timeout) = described.recv_timeout(VALUES_LIMIT) {
        report::write("what the test shows hangs, too\n");
    }
    report::stacks();
    std::process::abort();
}
