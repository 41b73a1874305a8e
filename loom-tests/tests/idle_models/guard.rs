//! The guard and paced publishers. In models its time-out comes whenever the scheduler likes.

use std::time::Duration;

use terrace_park::Wake;
use terrace_sync::atomic::Ordering::Relaxed;
use terrace_sync::{model, thread};

use crate::fixture::{Fixture, LANE, Shape, model_of_two};

/// Two items, each left to the guard if there is one. Worker 0 is the guard once and then parks for
/// good; worker 1 parks for good. Both get an item.
///
/// Seen to deadlock without the fence of a paced publish (`park-paced-fence`), and with a guard that
/// sleeps on after its flag went down (`park-guard-rescan`). With the flag left up
/// (`park-guard-flag-kept`) there is a guard for ever.
fn guard(shape: Shape) {
    let guard = |f: &Fixture| {
        let token = f.idle.enter(0);
        let woken = f
            .idle
            .park_as_guard(0, token, f, Duration::from_millis(2))
            .expect("the only guard");
        f.run_one_from(0, woken.into_token());
    };
    model_of_two(shape, [guard, |f| f.run_one(1)], |f| {
        for _ in 0..2 {
            f.put(1);
            f.idle.publish_paced(LANE, false);
        }
    });
}

#[test]
fn idle_guard_one_group() {
    guard(Shape::OneGroupOfTwo);
}

#[test]
fn idle_guard_two_groups() {
    guard(Shape::TwoGroupsOfOne);
}

/// What was left to the guard is visible to it the moment its sleep has ended, for whatever reason.
///
/// Seen to fail its assertion without the fence at the guard's end (`park-guard-fence`), and without the
/// one of the publish (`park-paced-fence`).
#[test]
fn idle_guard_sees_what_was_left_to_it() {
    model(|| {
        let f = Fixture::new(Shape::OneGroupOfTwo, 1);
        let other = f.clone();
        let guard = thread::spawn(move || {
            let token = other.idle.enter(0);
            let woken = other
                .idle
                .park_as_guard(0, token, &*other, Duration::from_millis(2))
                .expect("the only guard");
            let seen = other.items.load(Relaxed) > 0;
            other.idle.leave(0, woken.into_token(), &*other);
            seen
        });
        f.put(1);
        let wake = f.idle.publish_paced(LANE, false);
        let seen = guard.join().unwrap();
        assert!(seen || wake != Wake::Guarded);
    });
}
