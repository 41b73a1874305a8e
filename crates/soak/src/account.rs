//! The end of every future: an account that each carries, and the sums.

use std::any::Any;
use std::backtrace::Backtrace;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

use terrace_executor::Task;
use terrace_sync::Arc;
use terrace_sync::atomic::{AtomicU64, Ordering};

use crate::events;
use crate::watchdog::Watchdog;

/// The payload of panics that the soak wants.
#[derive(Debug)]
pub(crate) struct Planned;

/// Panics without a word.
pub(crate) fn panic_as_planned() -> ! {
    resume_unwind(Box::new(Planned))
}

/// From now on a panic that is not planned ends the process, with a report. Planned ones do not reach the panic hook.
pub(crate) fn report_unplanned_panics(watchdog: &Watchdog) {
    let (report, watchdog) = (std::panic::take_hook(), watchdog.clone());
    std::panic::set_hook(Box::new(move |info| {
        report(info);
        let backtrace = Backtrace::force_capture();
        let report = watchdog.report();
        eprintln!("soak: a panic that was not planned, see above\n{backtrace}\n{report}");
        std::process::exit(4);
    }));
}

/// Goes on if `payload` is planned.
pub(crate) fn expect_planned(payload: Box<dyn Any + Send>) {
    if !payload.is::<Planned>() {
        resume_unwind(payload);
    }
}

/// Runs `f`, in which planned panics may come up.
pub(crate) fn expect_planned_panics_only<T>(f: impl FnOnce() -> T) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        expect_planned(payload);
    }
}

/// The sums of one round.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    spawned: AtomicU64,
    finished: AtomicU64,
    cancelled: AtomicU64,
    panicked: AtomicU64,
    wakes: AtomicU64,
    /// Payloads that the executors' handlers got.
    handled: AtomicU64,
    acts: AtomicU64,
    /// Accounts that are open, by number: what for.
    open: Mutex<BTreeMap<u64, &'static str>>,
}

impl Ledger {
    /// The account of a future that is being spawned, for `what`.
    pub(crate) fn open(self: &Arc<Self>, what: &'static str) -> Account {
        // Ordering: Relaxed for all sums: they are compared when all is over.
        let number = self.spawned.fetch_add(1, Ordering::Relaxed);
        self.open_accounts().insert(number, what);
        events::note(what, Some(number));
        Account {
            ledger: Arc::clone(self),
            number,
            finished: false,
        }
    }

    /// The accounts that are open: number, and purpose.
    pub(crate) fn open_accounts(&self) -> MutexGuard<'_, BTreeMap<u64, &'static str>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn wake(&self) {
        self.wakes.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn act(&self) {
        self.acts.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn handle(&self, payload: Box<dyn Any + Send>) {
        expect_planned(payload);
        self.handled.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn totals(&self) -> Totals {
        let read = |sum: &AtomicU64| sum.load(Ordering::Relaxed);
        Totals {
            finished: read(&self.finished),
            cancelled: read(&self.cancelled),
            panicked: read(&self.panicked),
            wakes: read(&self.wakes),
            handled: read(&self.handled),
            acts: read(&self.acts),
            // Read last: at least what has ended was spawned.
            spawned: read(&self.spawned),
        }
    }
}

/// Notes once what becomes of a future: it is dropped after `finish`, by a panic, or before it has ended.
#[derive(Debug)]
pub(crate) struct Account {
    ledger: Arc<Ledger>,
    number: u64,
    finished: bool,
}

impl Account {
    /// The output of a task that this future has spawned onto its own executor and awaits.
    ///
    /// # Panics
    /// If the task was cancelled. No executor drops a task under a poll of its own: while it is being dropped, the last thread that
    /// polls its tasks drops them all, this future among them.
    pub(crate) async fn child_of_own<T>(&self, child: Task<T>, name: &'static str) -> T {
        let number = self.number;
        let end = child.fallible().await;
        end.unwrap_or_else(|| panic!("{name} #{number}: a child that it awaits was cancelled"))
    }

    /// The future is done.
    pub(crate) fn finish(mut self) {
        self.finished = true;
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        let ledger = &self.ledger;
        ledger.open_accounts().remove(&self.number);
        let (end, sum) = if std::thread::panicking() {
            ("panicked", &ledger.panicked)
        } else if self.finished {
            ("finished", &ledger.finished)
        } else {
            ("cancelled", &ledger.cancelled)
        };
        events::note(end, Some(self.number));
        sum.fetch_add(1, Ordering::Relaxed);
    }
}

/// The sums, read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    spawned: u64,
    finished: u64,
    cancelled: u64,
    panicked: u64,
    wakes: u64,
    handled: u64,
    acts: u64,
}

impl Totals {
    pub(crate) fn add(&mut self, other: &Self) {
        self.spawned += other.spawned;
        self.finished += other.finished;
        self.cancelled += other.cancelled;
        self.panicked += other.panicked;
        self.wakes += other.wakes;
        self.handled += other.handled;
        self.acts += other.acts;
    }

    /// The number of futures that have ended.
    pub(crate) fn ended(&self) -> u64 {
        self.finished + self.cancelled + self.panicked
    }

    /// Whether everything that was spawned is accounted for.
    pub(crate) fn is_balanced(&self) -> bool {
        self.spawned == self.ended()
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} acts, {} wakes; {} spawned = {} finished + {} cancelled + {} panicked ({} payloads to handlers)",
            self.acts,
            self.wakes,
            self.spawned,
            self.finished,
            self.cancelled,
            self.panicked,
            self.handled
        )
    }
}
