//! Publishing: no wake is lost, searchers hand on, a batch wakes for every item.

use terrace_park::Wake;
use terrace_sync::atomic::Ordering::Relaxed;
use terrace_sync::{model, thread};

use crate::fixture::{Fixture, RUN_ONE, Shape, model_from, model_of_two};

/// Two workers, and two items published one by one. A worker that takes an item never comes back,
/// so each worker must get one.
///
/// Seen to deadlock without the fence in publish (`park-publish-fence`), without the one in park
/// (`park-fence`), and without the second look before sleeping (`park-rescan`).
fn no_lost_wake(shape: Shape) {
    model_of_two(shape, RUN_ONE, |f| {
        f.publish_one();
        f.publish_one();
    });
}

/// Two items published one by one reach two workers that go to sleep: no wake is lost. Both workers share a group.
#[test]
fn idle_no_lost_wake_one_group() {
    no_lost_wake(Shape::OneGroupOfTwo);
}

/// The same with a group for each worker.
#[test]
fn idle_no_lost_wake_two_groups() {
    no_lost_wake(Shape::TwoGroupsOfOne);
}

/// One item lies there when both workers search; a publisher adds the second during the search. The
/// last worker to stop searching looks again on behalf of the publisher that got `Covered`.
///
/// Seen to deadlock, one worker gone and the other asleep, without the fence (`park-stop-search-fence`) and without the
/// look (`park-stop-search-rescan`). With two groups, also if the worker loads the other group's bits before the fence
/// (`park-stop-search-early-load`); one group loads them by its read-modify-write. A token kept while running
/// (`park-token-kept`) never leaves `S`.
fn last_searcher(shape: Shape) {
    model_from(shape, |f| f.put(1), RUN_ONE, Fixture::publish_one);
}

/// The last worker to stop its search finds the item of a publisher that relied on the search. Both workers share a group.
#[test]
fn idle_last_searcher_one_group() {
    last_searcher(Shape::OneGroupOfTwo);
}

/// The same with a group for each worker.
#[test]
fn idle_last_searcher_two_groups() {
    last_searcher(Shape::TwoGroupsOfOne);
}

/// Worker 0 moves an item into its ring while it holds a token, then runs another without end. Worker 1 went to park
/// while that token existed, or gives the last token up: it sees the ring.
///
/// Seen to deadlock with a relaxed `S - 1` (`park-stop-search-ordering`). The Acquire alone is not
/// missed, since a fence follows it.
#[test]
fn idle_moved_work_is_seen_by_the_last_searcher() {
    model(|| {
        let f = Fixture::new(Shape::OneGroupOfTwo, 2);
        let other = f.clone();
        let worker = thread::spawn(move || other.run_one(1));
        let token = f.idle.enter(0);
        f.items.store(1, Relaxed);
        f.idle.stop_search(token, &*f);
        worker.join().unwrap();
        f.assert_at_rest();
    });
}

/// Worker 0, in the middle of its work and so without a token, takes two shared items. It puts one into its ring, and
/// runs the other without end. Worker 1 gets the one in the ring, though it may have looked while that was on the way.
///
/// Seen to deadlock without the publish (`park-moved`).
#[test]
fn idle_moved_work_is_published() {
    model(|| {
        let f = Fixture::new(Shape::OneGroupOfTwo, 2);
        f.put(2);
        let token = f.idle.enter(0);
        f.idle.stop_search(token, &*f);
        let other = f.clone();
        let worker = thread::spawn(move || other.run_one(1));
        if f.take() && f.take() {
            f.put(1);
            f.idle.moved();
        }
        worker.join().unwrap();
        f.assert_at_rest();
    });
}

/// A worker that was woken sees the item of that wake, even if it had not blocked yet.
///
/// Seen to fail its assertion with a relaxed load of the bit (`park-bit-acquire`), and of the bit that
/// turns out to be taken already (`park-take-back-acquire`).
fn woken_sees(private: bool) {
    model(move || {
        let f = Fixture::new(Shape::OneGroupOfTwo, 2);
        let other = f.clone();
        let worker = thread::spawn(move || {
            let token = other.idle.enter(0);
            let token = other.idle.park(0, token, &*other);
            let seen = other.items.load(Relaxed) > 0;
            other.idle.leave(0, token, &*other);
            seen
        });
        if private {
            f.private[0].store(1, Relaxed);
        }
        f.put(1);
        let wake = f.idle.publish();
        let seen = worker.join().unwrap();
        assert!(seen || wake != Wake::Woke(0));
    });
}

/// A worker that was woken sees the item of that wake.
#[test]
fn idle_woken_worker_sees_the_item() {
    woken_sees(false);
}

/// The same, but private work makes the worker take its bit back, and the publisher has been faster.
#[test]
fn idle_taken_back_worker_sees_the_item() {
    woken_sees(true);
}

/// Two items published as one batch: each worker gets one.
///
/// Seen to deadlock without the fence (`park-batch-fence`).
fn batch(shape: Shape) {
    model_of_two(shape, RUN_ONE, |f| {
        f.put(2);
        f.idle.publish_batch(2);
    });
}

/// A batch of two items wakes a worker for each. Both workers share a group.
#[test]
fn idle_batch_one_group() {
    batch(Shape::OneGroupOfTwo);
}

/// The same with a group for each worker.
#[test]
fn idle_batch_two_groups() {
    batch(Shape::TwoGroupsOfOne);
}

/// Worker 0 comes back from running: it searches again, or, if its group does not let it, parks without
/// a token. Both get an item.
fn search_again(shape: Shape) {
    let returning = |f: &Fixture| {
        let token = f.idle.enter(0);
        f.idle.stop_search(token, f);
        let token = f
            .idle
            .try_search(0)
            .unwrap_or_else(|| f.idle.park(0, None, f));
        f.run_one_from(0, token);
    };
    model_of_two(shape, [returning, |f| f.run_one(1)], |f| {
        f.put(2);
        f.idle.publish();
    });
}

/// A worker that comes back from its work searches again or parks: each of two items finds a worker. Both share a group.
#[test]
fn idle_search_again_one_group() {
    search_again(Shape::OneGroupOfTwo);
}

/// The same with a group for each worker.
#[test]
fn idle_search_again_two_groups() {
    search_again(Shape::TwoGroupsOfOne);
}
