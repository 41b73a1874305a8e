//! The life of a worker's thread: users' code runs between `enter` and the loop, and between the loop and `leave`, and
//! may wait there.

use terrace_sync::atomic::Ordering::Relaxed;

use crate::fixture::{Fixture, Shape, model_of_two};

/// Worker 0 enters and waits in its start hook for an event that only the run of the item causes. Worker 1 enters, goes
/// through its loop without a look, and leaves. The last of the two to look sees that worker 0 is the last resort.
fn start_hook_waits(shape: Shape) {
    let workers: [fn(&Fixture); 2] = [
        |f| {
            f.wait_for_latch(0);
            f.idle.leave(0, None, f);
        },
        |f| {
            let token = f.idle.enter(f.second);
            f.idle.stop_search(token, f);
            f.idle.leave(f.second, None, f);
        },
    ];
    model_of_two(shape, workers, Fixture::publish_one);
}

/// A worker whose start hook waits for a published item sees it run. Both workers share a group.
#[test]
fn idle_start_hook_waits_one_group() {
    start_hook_waits(Shape::OneGroupOfTwo);
}

/// The same with a group for each worker.
#[test]
fn idle_start_hook_waits_two_groups() {
    start_hook_waits(Shape::TwoGroupsOfOne);
}

/// Worker 0 ends its loop when asked to, and waits in its stop hook for the item. Worker 1 may run the item before it
/// leaves, or not.
#[test]
fn idle_stop_hook_waits_one_group() {
    let workers: [fn(&Fixture); 2] = [
        |f| {
            let token = f.idle.enter(0);
            f.idle.stop_search(token, f);
            let ready = || f.latches[0].load(Relaxed) > 0;
            while !ready() {
                match f.idle.wait_restricted(0, f, ready) {
                    terrace_park::Restricted::LastResort if f.take() => f.set_latches(),
                    _ => {}
                }
            }
            f.idle.leave(0, None, f);
        },
        |f| {
            let token = f.idle.enter(f.second);
            let found = f.take();
            f.idle.stop_search(token, f);
            if found {
                f.set_latches();
            }
            f.idle.leave(f.second, None, f);
        },
    ];
    model_of_two(Shape::OneGroupOfTwo, workers, Fixture::publish_one);
}
