//! The alarm of a pool whose workers are all awake.

use terrace_executor::protocol::publish::Alarm;
use terrace_sync::atomic::AtomicUsize;
use terrace_sync::atomic::Ordering::Relaxed;
use terrace_sync::{Arc, light, model, thread};

/// A publish that finds all workers awake, while the watch leaves the pool: the watch stays, or is told anew.
///
/// Seen to fail its assertion without the fence of the watch (`executor-alarm-fence`).
#[test]
fn executor_alarm_publish_against_leaving_watch() {
    model(|| {
        let alarm = Arc::new(Alarm::new(true));
        let queued = Arc::new(AtomicUsize::new(0));
        let publisher = {
            let (alarm, queued) = (alarm.clone(), queued.clone());
            thread::spawn(move || {
                queued.store(1, Relaxed);
                light();
                !alarm.is_raised() && alarm.raise()
            })
        };
        let leaves = alarm.lower(|| queued.load(Relaxed) > 0);
        let told = publisher.join().unwrap();
        assert!(!leaves || told || queued.load(Relaxed) == 0);
        assert!(leaves || !told, "two watches");
        assert!(alarm.is_raised(), "it is looked after");
    });
}

/// Of two publishes that find the alarm down, one tells the watch.
#[test]
fn executor_alarm_is_raised_once() {
    model(|| {
        let alarm = Arc::new(Alarm::new(false));
        let other = alarm.clone();
        let publisher = thread::spawn(move || other.raise());
        let here = alarm.raise();
        assert!(here != publisher.join().unwrap());
    });
}
