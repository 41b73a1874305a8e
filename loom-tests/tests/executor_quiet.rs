//! A thread waits for the end of a pool's last task.

use terrace_executor::protocol::end::Quiet;
use terrace_sync::atomic::AtomicUsize;
use terrace_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use terrace_sync::{Arc, model, thread};

/// A pool of two seats, each with a task that is going to end.
struct Pool {
    quiet: Quiet,
    ended: [AtomicUsize; 2],
    /// Stands for the event: how often it was notified.
    notified: AtomicUsize,
}

impl Pool {
    /// A pool of which the second seat's task has ended already, if there is but one.
    fn new(tasks: usize) -> Arc<Self> {
        Arc::new(Self {
            quiet: Quiet::default(),
            ended: [AtomicUsize::new(0), AtomicUsize::new(2 - tasks)],
            notified: AtomicUsize::new(0),
        })
    }

    fn is_quiet(&self) -> bool {
        self.ended.iter().all(|ended| ended.load(Acquire) == 1)
    }

    /// The task of a seat ends.
    fn end(&self, seat: usize) {
        self.ended[seat].store(1, Release);
        if self.quiet.ended(|| self.is_quiet()) {
            self.notified.fetch_add(1, AcqRel);
        }
    }
}

/// A thread on which the task of a seat ends.
fn ender(pool: &Arc<Pool>, seat: usize) -> thread::JoinHandle<()> {
    let pool = Arc::clone(pool);
    thread::spawn(move || pool.end(seat))
}

/// The last task ends beside the waiter's look: the waiter sees it, or is notified.
///
/// Seen to sleep on without the waiter's fence (`executor-quiet-waiter`).
#[test]
fn executor_quiet_waiter_against_ender() {
    model(|| {
        let pool = Pool::new(1);
        let ender = ender(&pool, 0);
        assert!(pool.quiet.enter());
        let sleeps = !pool.is_quiet();
        ender.join().unwrap();
        assert!(!sleeps || pool.notified.load(Relaxed) > 0, "it sleeps on");
        pool.quiet.leave();
    });
}

/// The last two tasks end at the same time, on two threads: one of these sees both ends, and notifies.
///
/// Seen to notify nobody without the enders' fence (`executor-quiet-enders`).
#[test]
fn executor_quiet_two_enders() {
    model(|| {
        let pool = Pool::new(2);
        assert!(pool.quiet.enter());
        let enders = [0, 1].map(|seat| ender(&pool, seat));
        for ender in enders {
            ender.join().unwrap();
        }
        assert!(pool.notified.load(Relaxed) > 0, "it sleeps on");
    });
}

/// Both at once: two enders, and a waiter that comes beside them.
#[test]
fn executor_quiet_waiter_against_two_enders() {
    model(|| {
        let pool = Pool::new(2);
        let enders = [0, 1].map(|seat| ender(&pool, seat));
        assert!(pool.quiet.enter());
        let sleeps = !pool.is_quiet();
        for ender in enders {
            ender.join().unwrap();
        }
        assert!(!sleeps || pool.notified.load(Relaxed) > 0, "it sleeps on");
    });
}
