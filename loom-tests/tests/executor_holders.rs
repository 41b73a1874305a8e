//! The end of a pool against a thread that polls one of its tasks in a wait.

use terrace_executor::protocol::holders::Holders;
use terrace_loom_tests::{Item, Ledger};
use terrace_sync::atomic::AtomicBool;
use terrace_sync::atomic::Ordering::SeqCst;
use terrace_sync::{Arc, Mutex, model, thread};

/// A pool with one task: queued, or pending after a poll.
struct Pool {
    holders: Holders,
    task: Mutex<Option<Item>>,
    /// The closer was the last holder: no poll begins any more.
    over: AtomicBool,
}

impl Pool {
    fn new(ledger: &Ledger) -> Arc<Self> {
        Arc::new(Self {
            holders: Holders::new(),
            task: Mutex::new(Some(ledger.item(0))),
            over: AtomicBool::new(false),
        })
    }

    fn leave(&self) -> bool {
        let last = self.holders.leave();
        if last {
            let task = self.task.lock().take();
            drop(task);
        }
        last
    }

    /// Takes the task, and polls it as a guest: it is pending afterwards.
    fn guest(&self) {
        let Some(task) = self.task.lock().take() else {
            return;
        };
        self.holders.enter();
        if self.holders.is_closing() {
            drop(task);
        } else {
            assert!(!self.over.load(SeqCst), "polled after the end");
            *self.task.lock() = Some(task);
        }
        self.leave();
    }

    fn close(&self) {
        self.holders.close();
        self.holders.enter();
        if self.leave() {
            self.over.store(true, SeqCst);
        }
    }
}

/// The closer or the guest drops the task, once. The guest does not poll it after the closer has dropped all tasks.
///
/// Seen to poll after the end if the guest does not acquire (`executor-holders-enter`). Seen to keep the task if the
/// last holder to leave does not acquire (`executor-holders-leave`).
#[test]
fn executor_holders_close_against_guest() {
    model(|| {
        let ledger = Ledger::new(1);
        let pool = Pool::new(&ledger);
        let other = Arc::clone(&pool);
        let guest = thread::spawn(move || other.guest());
        pool.close();
        guest.join().unwrap();
        assert!(pool.task.lock().is_none(), "the task was kept");
        ledger.assert_all_dropped_once();
    });
}
