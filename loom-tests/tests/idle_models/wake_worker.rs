//! Wakes of a given worker, taking a bit back, stopping, and a place that changes hands.

use terrace_sync::atomic::Ordering::Relaxed;
use terrace_sync::{model, thread};

use crate::fixture::{Fixture, Shape, model_of_two};

/// Each worker parks until it has private work; each is woken once by `wake_worker`.
///
/// Seen to deadlock without the fence (`park-wake-worker-fence`), and without the second look for
/// private work (`park-private-rescan`).
fn wake_worker(shape: Shape) {
    let workers: [fn(&Fixture); 2] = [|f| f.park_for_inlet(0), |f| f.park_for_inlet(1)];
    model_of_two(shape, workers, |f| {
        for (w, private) in f.private.iter().enumerate() {
            private.store(1, Relaxed);
            f.idle.wake_worker(f.number(w));
        }
    });
}

/// A worker that parks gets the private work that another thread wakes it for. Both workers share a group.
#[test]
fn idle_wake_worker_one_group() {
    wake_worker(Shape::OneGroupOfTwo);
}

/// The same with a group for each worker.
#[test]
fn idle_wake_worker_two_groups() {
    wake_worker(Shape::TwoGroupsOfOne);
}

/// Worker 0 gets up for private work by itself, while a publisher and a `wake_worker` may clear its bit as well. In
/// every order there is one token, so that the second item still wakes worker 1.
///
/// Seen to fail without a token for a cleared bit: `S` falls below zero (`park-claim-no-token`). Seen to fail with a
/// second token for a bit that another thread cleared: `S` never gets back to zero (`park-take-back-twice`).
fn take_back(shape: Shape) {
    let by_itself = |f: &Fixture| {
        let mut token = f.idle.enter(0);
        while !f.take() {
            token = f.idle.park(0, token, f);
            f.private[0].store(0, Relaxed);
        }
        f.idle.stop_search(token, f);
    };
    model_of_two(shape, [by_itself, |f| f.run_one(1)], |f| {
        f.private[0].store(1, Relaxed);
        f.publish_one();
        f.publish_one();
    });
}

/// A worker that gets up by itself while others wake it leaves one token, so the next item wakes the other worker. Both share a group.
#[test]
fn idle_take_back_one_group() {
    take_back(Shape::OneGroupOfTwo);
}

/// The same with a group for each worker.
#[test]
fn idle_take_back_two_groups() {
    take_back(Shape::TwoGroupsOfOne);
}

/// Stopping: the reason is put where each worker looks for private work, then all are woken.
///
/// Seen to deadlock without the fence (`park-unpark-all-fence`).
fn unpark_all(shape: Shape) {
    let workers: [fn(&Fixture); 2] = [|f| f.park_for_inlet(0), |f| f.wait_for_latch(1)];
    model_of_two(shape, workers, |f| {
        f.private[0].store(1, Relaxed);
        f.latches[1].store(1, Relaxed);
        f.idle.unpark_all();
    });
}

/// The wake of all reaches each worker that parks or waits. Both workers share a group.
#[test]
fn idle_unpark_all_one_group() {
    unpark_all(Shape::OneGroupOfTwo);
}

/// The same with a group for each worker.
#[test]
fn idle_unpark_all_two_groups() {
    unpark_all(Shape::TwoGroupsOfOne);
}

/// A worker finds its bit cleared, leaves, and another thread takes its place while the unpark that
/// goes with the bit is still under way.
///
/// loom saw the handle read and written at once with any of the seat's four orderings relaxed
/// (`park-seat-{bind,unpark}-{acquire,release}`).
#[test]
fn idle_seat_changes_hands() {
    model(|| {
        let f = Fixture::new(Shape::OneGroupOfTwo, 0);
        let first = f.clone();
        let worker = thread::spawn(move || {
            let token = first.idle.enter(0);
            let token = first.idle.park(0, token, &*first);
            first.idle.leave(0, token, &*first);
            let second = first.clone();
            let successor = thread::spawn(move || {
                let token = second.idle.enter(0);
                second.idle.leave(0, token, &*second);
            });
            successor.join().unwrap();
        });
        // Lets the worker go first without spending one of the two preemptions.
        thread::yield_now();
        f.private[0].store(1, Relaxed);
        f.idle.wake_worker(0);
        worker.join().unwrap();
        f.assert_at_rest();
    });
}
