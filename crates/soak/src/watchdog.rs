//! Looks whether rounds still end, and says what hangs.

use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use terrace_executor::Executor;
use terrace_sync::Arc;
use terrace_sync::unmodelled::Weak;

use crate::account::Ledger;
use crate::{again, events};

/// How long a round may take; most take less than a tenth of a second.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often the watchdog looks.
const LOOK: Duration = Duration::from_millis(500);

#[derive(Default)]
struct Watched {
    round: u64,
    ledger: Arc<Ledger>,
    executors: Vec<Weak<Executor<'static>>>,
    /// The present act of each thread of the round.
    doing: Vec<&'static str>,
}

/// The watchdog, and its present round.
#[derive(Clone)]
pub(crate) struct Watchdog {
    seed: u64,
    watched: Arc<Mutex<Watched>>,
}

impl Watchdog {
    /// Starts its thread, which ends the process if no round ends any more.
    pub(crate) fn start(seed: u64) -> Self {
        let watchdog = Self {
            seed,
            watched: Arc::new(Mutex::default()),
        };
        let own = watchdog.clone();
        std::thread::spawn(move || own.watch());
        watchdog
    }

    fn locked<T>(&self, f: impl FnOnce(&mut Watched) -> T) -> T {
        f(&mut self.watched.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A new round begins.
    pub(crate) fn begin(
        &self,
        round: u64,
        ledger: &Arc<Ledger>,
        executors: &[Arc<Executor<'static>>],
        threads: usize,
    ) {
        self.locked(|watched| {
            *watched = Watched {
                round,
                ledger: Arc::clone(ledger),
                executors: executors.iter().map(Arc::downgrade).collect(),
                doing: vec!["nothing yet"; threads],
            };
        });
    }

    /// Thread `thread` of the round begins to do `what`.
    pub(crate) fn doing(&self, thread: usize, what: &'static str) {
        events::note(what, None);
        self.locked(|watched| watched.doing[thread] = what);
    }

    fn watch(&self) {
        let mut last = 0;
        let mut since = Instant::now();
        loop {
            std::thread::sleep(LOOK);
            let now = self.locked(|watched| watched.round);
            if now != last {
                last = now;
                since = Instant::now();
            } else if since.elapsed() >= PATIENCE {
                eprintln!(
                    "soak: a round does not end\n{}{}",
                    events::dump(),
                    self.dump()
                );
                // Whether it stands still or runs in circles.
                std::thread::sleep(LOOK);
                eprintln!("soak: a little later\n{}", self.dump());
                std::process::exit(3);
            }
        }
    }

    /// Everything that is known of a fault, and the command that runs the round again.
    pub(crate) fn report(&self) -> String {
        let round = self.locked(|watched| watched.round);
        format!(
            "{}{}{}",
            events::dump(),
            self.dump(),
            again(self.seed, round)
        )
    }

    /// The report on a round: for a stall, for a panic, and for accounts that do not balance.
    pub(crate) fn dump(&self) -> String {
        // An executor must not be dropped under the lock, nor by this thread if it hangs.
        let (mut text, executors) = self.locked(|watched| {
            let mut text = format!("round {}: {}\n", watched.round, watched.ledger.totals());
            for (thread, what) in watched.doing.iter().enumerate() {
                writeln!(text, "  thread {thread}: {what}").expect("a string takes it");
            }
            let open = watched.ledger.open_accounts();
            writeln!(
                text,
                "  open, the last ones: {:?}",
                open.iter().rev().take(9)
            )
            .expect("a string takes it");
            drop(open);
            let executors: Vec<_> = watched.executors.iter().map(Weak::upgrade).collect();
            (text, executors)
        });
        for (number, executor) in executors.iter().enumerate() {
            match executor {
                Some(executor) => writeln!(text, "  executor {number}: {executor:#?}"),
                None => writeln!(text, "  executor {number}: dropped"),
            }
            .expect("a string takes it");
        }
        std::mem::forget(executors);
        text
    }
}
