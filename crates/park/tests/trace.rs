//! Every wake of a worker is counted, on each thread that may decide on it. `terrace-trace` counts for the whole
//! process, so this program has one test.
#![cfg(feature = "trace")]

mod pool;

use std::sync::atomic::Ordering;
use std::time::Duration;

use pool::Pool;
use terrace_park::{GROUP_CAPACITY, Restricted, Wake};
use terrace_testing::watchdog;

/// The wakes counted so far. The test reports a wrong count at its end: a panic while threads sleep would wait for
/// them.
struct Wakes {
    last: terrace_trace::Counters,
    wrong: Vec<String>,
}

impl Wakes {
    /// So many workers were woken since the last call.
    fn were(&mut self, expected: u64, what: &str) {
        let now = terrace_trace::snapshot();
        let counted = now.since(&self.last).worker_wake_count;
        self.last = now;
        if counted != expected {
            self.wrong
                .push(format!("{what}: {counted} instead of {expected}"));
        }
    }
}

#[test]
fn each_way_to_wake_a_worker_counts_it() {
    let _watchdog = watchdog();
    // Five in one group, two in another.
    let numbers = [0, 1, 2, 3, 4, GROUP_CAPACITY, GROUP_CAPACITY + 1];
    let pool = Pool::new(GROUP_CAPACITY + 2);
    let mut wakes = Wakes {
        last: terrace_trace::snapshot(),
        wrong: Vec::new(),
    };
    pool.with(|p| {
        let sleepers = numbers.map(|w| p.sleeper(w));
        p.await_awake(0);
        wakes.were(0, "threads that come and go");

        assert_eq!(p.idle.publish(), Wake::Woke(0));
        wakes.were(1, "a publish");
        assert_eq!(p.idle.publish(), Wake::Covered);
        wakes.were(0, "no worker is woken");
        assert_eq!(p.idle.publish_batch(9), 2);
        wakes.were(2, "a batch");
        let mut sleepers = sleepers.into_iter();
        let first = sleepers.next().expect("worker 0").token();
        assert_eq!(p.idle.wake_more(&first, 1), 1);
        wakes.were(1, "what a worker hands on");
        assert!(p.idle.wake_worker(4));
        wakes.were(1, "wake_worker");
        assert_eq!(p.idle.unpark_all(), 2);
        wakes.were(2, "all");
        p.idle.stop_search(first, p);
        sleepers.for_each(|sleeper| p.idle.stop_search(sleeper.token(), p));
        for w in numbers {
            p.idle.leave(w, None, p);
        }
        wakes.were(0, "threads that come and go");

        // While it searches, a worker that parks does not look for items.
        let token = p.idle.enter(0);
        let sleeper = p.sleeper(1);
        p.await_awake(1);
        p.items.store(1, Ordering::Relaxed);
        p.idle.stop_search(token, p);
        wakes.were(1, "the last searcher");
        p.items.store(0, Ordering::Relaxed);
        p.idle.stop_search(sleeper.token(), p);
        p.idle.leave(1, None, p);

        let sentinel = p.sentinel(1, Duration::from_secs(600));
        p.await_awake(1);
        assert_eq!(p.idle.publish_paced(), Wake::Watched);
        wakes.were(0, "a paced publish that leaves it to the sentinel");
        assert_eq!(p.idle.publish(), Wake::Woke(1));
        wakes.were(1, "a publish that wakes the sentinel");
        p.idle.stop_search(sentinel.token(), p);
        p.idle.leave(1, None, p);

        let waiter = p.waiter(1);
        p.await_awake(1);
        assert!(p.idle.wake_worker(1));
        wakes.were(1, "wake_worker in a restricted wait");
        assert_eq!(waiter.outcome(), Restricted::Woken);
        assert_eq!(p.idle.awake(), 1);

        let waiter = p.waiter(1);
        p.await_awake(1);
        assert!(p.idle.release_other(0));
        wakes.were(1, "a turn that is passed on");
        assert_eq!(waiter.outcome(), Restricted::Woken);
        assert_eq!(p.idle.awake(), 1);

        let waiter = p.waiter(1);
        p.await_awake(1);
        p.idle.leave(0, None, p);
        assert_eq!(p.idle.publish(), Wake::WokeRestricted(1));
        wakes.were(1, "the last resort");
        assert_eq!(waiter.outcome(), Restricted::Woken);
    });
    assert_eq!(wakes.wrong, [""; 0]);
}
