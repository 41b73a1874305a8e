//! Sentinels and paced publishers. In models its time-out comes whenever the scheduler likes.

use std::time::Duration;

use terrace_park::Wake;
use terrace_sync::atomic::Ordering::Relaxed;
use terrace_sync::{model, thread};

use crate::fixture::{Fixture, Shape, model_of_two, token_of};

/// Two items, each left to the sentinel if there is one. Worker 0 is the sentinel once and then parks for
/// good; worker 1 parks for good. Both get an item.
///
/// Seen to deadlock without the fence of a paced publish (`park-paced-fence`), and with a sentinel that
/// sleeps on after its flag went down (`park-sentinel-rescan`). With the flag left up
/// (`park-sentinel-flag-kept`) `Idle` still has a sentinel at the end.
fn sentinel(shape: Shape) {
    let workers: [fn(&Fixture); 2] = [|f| f.watch_then_run_one(0), |f| f.run_one(1)];
    model_of_two(shape, workers, |f| {
        for _ in 0..2 {
            f.put(1);
            f.idle.publish_paced();
        }
    });
}

/// An item that a publisher leaves to the sentinel is run, also when the sentinel's time runs out. Both workers share a group.
#[test]
fn idle_sentinel_one_group() {
    sentinel(Shape::OneGroupOfTwo);
}

/// The same with a group for each worker.
#[test]
fn idle_sentinel_two_groups() {
    sentinel(Shape::TwoGroupsOfOne);
}

/// Two items, each left to a sentinel if there is one. Both workers are sentinels once and then park for good. Both get an
/// item: it is no matter which flag the publisher saw.
///
/// Seen to deadlock with sentinels that sleep on after their flag went down (`park-sentinel-rescan`).
#[test]
fn idle_two_sentinels() {
    let sentinels: [fn(&Fixture); 2] = [|f| f.watch_then_run_one(0), |f| f.watch_then_run_one(1)];
    model_of_two(Shape::OneGroupOfTwo, sentinels, |f| {
        for _ in 0..2 {
            f.put(1);
            f.idle.publish_paced();
        }
    });
}

/// An item that a publisher left to the sentinel is visible to it the moment its sleep has ended, for any reason.
///
/// Seen to fail its assertion without the fence at the sentinel's end (`park-sentinel-fence`), and without the
/// one of the publish (`park-paced-fence`).
#[test]
fn idle_sentinel_sees_what_was_left_to_it() {
    model(|| {
        let f = Fixture::new(Shape::OneGroupOfTwo, 1);
        let other = f.clone();
        let sentinel = thread::spawn(move || {
            let token = other.idle.enter(0);
            let woken = other
                .idle
                .park_as_sentinel(0, token, &*other, [Duration::from_millis(2)])
                .expect("the only sentinel");
            let seen = other.items.load(Relaxed) > 0;
            other.idle.leave(0, token_of(woken), &*other);
            seen
        });
        f.put(1);
        let wake = f.idle.publish_paced();
        let seen = sentinel.join().unwrap();
        assert!(seen || wake != Wake::Watched);
    });
}
