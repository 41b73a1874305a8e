//! Restricted waits: woken for their own work only, except as a last resort; and workers that leave.

use terrace_park::{Restricted, Work};
use terrace_sync::atomic::Ordering::Relaxed;
use terrace_sync::{model, thread};

use crate::fixture::{Fixture, Shape, model_of_two};

/// Worker 0 waits for its latch. Ending that wait makes no token, so the item published after it
/// still wakes worker 1.
///
/// Seen to deadlock with a token made for an `R` bit (`park-release-token`), without the second look
/// (`park-wait-rescan`), and without the fence (`park-wait-fence`).
fn restricted_wake(shape: Shape) {
    let workers: [fn(&Fixture); 2] = [|f| f.wait_for_latch(0), |f| f.run_one(1)];
    model_of_two(shape, workers, |f| {
        f.latches[0].store(1, Relaxed);
        f.idle.wake_worker(0);
        f.publish_one();
    });
}

/// Ending a wait for a latch makes no token: the next published item still wakes the other worker. Both share a group.
#[test]
fn idle_restricted_wake_one_group() {
    restricted_wake(Shape::OneGroupOfTwo);
}

/// The same with a group for each worker.
#[test]
fn idle_restricted_wake_two_groups() {
    restricted_wake(Shape::TwoGroupsOfOne);
}

/// Both workers wait for an event that only the run of the published item causes: one of them runs
/// it.
///
/// Seen to deadlock without the R rule of publish (`park-r-rule`), without the last look of the waiter
/// (`park-last-resort`), and without the fence (`park-wait-fence`). With two groups, also if the waiter loads the other
/// group's bits before the fence (`park-wait-early-load`).
fn last_resort(shape: Shape) {
    let workers: [fn(&Fixture); 2] = [|f| f.wait_for_latch(0), |f| f.wait_for_latch(1)];
    model_of_two(shape, workers, Fixture::publish_one);
}

/// Where every worker waits for the published item, one of them runs it. Both workers share a group.
#[test]
fn idle_last_resort_one_group() {
    last_resort(Shape::OneGroupOfTwo);
}

/// The same with a group for each worker.
#[test]
fn idle_last_resort_two_groups() {
    last_resort(Shape::TwoGroupsOfOne);
}

/// A worker that may not help even as the last resort, asked while it is in `R`, passes the turn on.
struct Exhausted<'a>(&'a Fixture);

impl Work for Exhausted<'_> {
    fn takeable(&self) -> bool {
        if self.0.takeable() {
            self.0.idle.release_other(0);
        }
        false
    }

    fn has_private_work(&self, worker: usize) -> bool {
        self.0.has_private_work(worker)
    }
}

/// As the last resort, but worker 0 cannot help. Worker 1 must, whichever worker is woken or goes to sleep last.
fn turn_is_passed_on(shape: Shape) {
    let exhausted = |f: &Fixture| {
        let token = f.idle.enter(0);
        f.idle.stop_search(token, f);
        let ready = || f.latches[0].load(Relaxed) > 0;
        while !ready() {
            let outcome = f.idle.wait_restricted(0, &Exhausted(f), ready);
            assert_ne!(outcome, Restricted::LastResort);
        }
    };
    let workers: [fn(&Fixture); 2] = [exhausted, |f| f.wait_for_latch(1)];
    model_of_two(shape, workers, Fixture::publish_one);
}

/// A waiter that may not run the item passes the turn on to the other waiter. Both workers share a group.
#[test]
fn idle_turn_is_passed_on_one_group() {
    turn_is_passed_on(Shape::OneGroupOfTwo);
}

/// The same with a group for each worker.
#[test]
fn idle_turn_is_passed_on_two_groups() {
    turn_is_passed_on(Shape::TwoGroupsOfOne);
}

/// A thread that ends a wait writes the latch before; the waiter sees it at once.
///
/// Seen to fail its assertion with a relaxed load of the bit (`park-wait-acquire`).
#[test]
fn idle_released_worker_sees_the_latch() {
    model(|| {
        let f = Fixture::new(Shape::OneGroupOfTwo, 1);
        let waiter = f.clone();
        let worker = thread::spawn(move || {
            let token = waiter.idle.enter(0);
            waiter.idle.stop_search(token, &*waiter);
            let outcome = waiter
                .idle
                .wait_restricted(0, &*waiter, || waiter.private[1].load(Relaxed) > 0);
            assert_ne!(outcome, Restricted::LastResort);
            waiter.latches[0].load(Relaxed) > 0
        });
        f.private[1].store(1, Relaxed);
        f.latches[0].store(1, Relaxed);
        let woken = f.idle.wake_worker(0);
        let seen = worker.join().unwrap();
        assert!(seen || !woken);
    });
}

/// Worker 1 leaves while a publisher may leave its item to that worker; worker 0 is parked.
///
/// Seen to deadlock without the fence (`park-leave-fence`), and without the look (`park-leave-rescan`).
fn leave_parked(shape: Shape) {
    let leaver = |f: &Fixture| {
        let token = f.idle.enter(f.second);
        f.idle.leave(f.second, token, f);
    };
    let workers: [fn(&Fixture); 2] = [|f| f.run_one(0), leaver];
    model_of_two(shape, workers, Fixture::publish_one);
}

/// A worker leaves while a publisher may rely on it: the parked worker gets the item. Both share a group.
#[test]
fn idle_leave_parked_one_group() {
    leave_parked(Shape::OneGroupOfTwo);
}

/// The same with a group for each worker.
#[test]
fn idle_leave_parked_two_groups() {
    leave_parked(Shape::TwoGroupsOfOne);
}

/// The same, but worker 0 waits for an event that the item causes. Once worker 1 is gone, worker 0
/// is the last resort.
///
/// Seen to deadlock without the fence (`park-leave-fence`), and without the look (`park-leave-rescan`).
fn leave_restricted(shape: Shape) {
    let workers: [fn(&Fixture); 2] = [|f| f.wait_for_latch(0), |f| f.idle.leave(f.second, None, f)];
    model_of_two(shape, workers, Fixture::publish_one);
}

/// A worker leaves while the other one waits for the published item: the waiter runs it. Both share a group.
#[test]
fn idle_leave_restricted_one_group() {
    leave_restricted(Shape::OneGroupOfTwo);
}

/// The same with a group for each worker.
#[test]
fn idle_leave_restricted_two_groups() {
    leave_restricted(Shape::TwoGroupsOfOne);
}

/// A spare that was counted live cannot be started: its starter covers for it.
///
/// Seen to deadlock without the fence (`park-leave-fence`), and without the look (`park-leave-rescan`).
#[test]
fn idle_abandoned_spare() {
    model(|| {
        let f = Fixture::new(Shape::OneGroupOfTwo, 1);
        f.idle.adopt_live(f.second);
        let waiter = f.clone();
        let producer = f.clone();
        let threads = [
            thread::spawn(move || waiter.wait_for_latch(0)),
            thread::spawn(move || producer.publish_one()),
        ];
        f.idle.abandon_live(f.second, &*f);
        for thread in threads {
            thread.join().unwrap();
        }
        f.assert_at_rest();
    });
}
