//! The end of a pool against threads that poll its tasks: workers, and a thread in a wait.

use terrace_executor::protocol::end::Holders;
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
    /// A worker is in a poll, which may look at the task.
    polling: AtomicBool,
}

impl Pool {
    fn new(ledger: &Ledger) -> Arc<Self> {
        Arc::new(Self {
            holders: Holders::default(),
            task: Mutex::new(Some(ledger.item(0))),
            over: AtomicBool::new(false),
            polling: AtomicBool::new(false),
        })
    }

    fn leave(&self) -> bool {
        let last = self.holders.leave();
        if last {
            assert!(!self.polling.load(SeqCst), "dropped under a poll");
            let task = self.task.lock().take();
            drop(task);
        }
        last
    }

    /// Takes the task, and polls it as a guest: it is pending afterwards. Or leaves it to the last holder.
    fn guest(&self) {
        let Some(task) = self.task.lock().take() else {
            return;
        };
        self.holders.enter();
        if !self.holders.is_closing() {
            assert!(!self.over.load(SeqCst), "polled after the end");
        }
        *self.task.lock() = Some(task);
        self.leave();
    }

    /// A worker, which was counted in by its starter, ends its poll and leaves.
    fn worker(&self) {
        self.polling.store(false, SeqCst);
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

/// The last holder drops the task, once: the closer or the guest. The guest does not poll it after the closer has dropped all tasks.
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

/// A worker is in a poll while the pool closes and a guest finds the task: no holder drops the task before the poll has ended.
///
/// Seen to drop it under the poll if a guest that finds the pool closing drops the task itself, and if the worker is not counted.
#[test]
fn executor_holders_close_against_poll_and_guest() {
    model(|| {
        let ledger = Ledger::new(1);
        let pool = Pool::new(&ledger);
        pool.holders.enter();
        pool.polling.store(true, SeqCst);
        let threads = [Pool::guest, Pool::worker].map(|part| {
            let pool = Arc::clone(&pool);
            thread::spawn(move || part(&pool))
        });
        pool.close();
        for thread in threads {
            thread.join().unwrap();
        }
        assert!(pool.task.lock().is_none(), "the task was kept");
        ledger.assert_all_dropped_once();
    });
}
