//! What the hooks add up to, with the feature and without.

use terrace_testing::watchdog;
use terrace_trace as trace;

/// Four threads call every hook a known number of times; alone in this file, as the counters are global.
#[test]
fn every_hook_adds_to_its_counter() {
    let _watchdog = watchdog();
    let before = trace::snapshot();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..100 {
                    trace::spawn();
                    trace::local_schedule();
                    trace::run_begin();
                    trace::steal(3);
                    trace::park();
                    trace::wake(0);
                    trace::unpark();
                    trace::inject(5);
                    trace::take(4);
                }
            });
        }
    });
    let after = trace::snapshot();
    let counted = after.since(&before);
    let on = u64::from(trace::ENABLED);
    assert_eq!(counted.spawned_tasks_count, 400 * on);
    assert_eq!(counted.worker_local_schedule_count, 400 * on);
    assert_eq!(counted.worker_poll_count, 400 * on);
    assert_eq!(counted.worker_steal_count, 1200 * on);
    assert_eq!(counted.worker_steal_operations, 400 * on);
    assert_eq!(counted.worker_park_count, 400 * on);
    assert_eq!(counted.worker_wake_count, 400 * on);
    assert_eq!(counted.worker_unpark_count, 400 * on);
    assert_eq!(counted.remote_schedule_count, 2000 * on);
    assert_eq!(counted.global_queue_depth, 400 * on);
}
