//! Drivers whose wakers panic when they are dropped: nothing unwinds, each keeps or gives back its place.

#![cfg(not(any(terrace_loom, terrace_shuttle)))]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

use terrace_park::{Idle, Wake as Woken};
use terrace_testing::watchdog;

#[derive(Default)]
struct Count {
    wakes: AtomicUsize,
    drops: AtomicUsize,
}

/// Panics when its last waker is dropped.
struct Trap(Arc<Count>);

impl Wake for Trap {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
        // If it was woken, it is dropped without a panic.
        std::mem::forget(self);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.wakes.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Trap {
    fn drop(&mut self) {
        self.0.drops.fetch_add(1, Ordering::Relaxed);
        panic!("the waker's panic");
    }
}

/// Sleeps with a waker of which the driver has the only reference.
fn sleep(driver: &mut terrace_park::Driver<'_>) -> Arc<Count> {
    let count = Arc::new(Count::default());
    let waker = Waker::from(Arc::new(Trap(Arc::clone(&count))));
    driver.sleep(&waker);
    drop(waker);
    count
}

#[test]
fn a_sleep_replaces_the_waker_of_the_last_one() {
    let _watchdog = watchdog();
    let idle = Idle::new(1);
    let mut driver = idle.driver();
    let old = sleep(&mut driver);
    let new = sleep(&mut driver);
    assert_eq!(old.drops.load(Ordering::Relaxed), 1);
    assert_eq!(idle.driver_count(), (1, 1));
    assert_eq!(idle.publish(), Woken::Driver);
    let wakes = [old, new].map(|count| count.wakes.load(Ordering::Relaxed));
    assert_eq!(wakes, [0, 1]);
    assert!(driver.wake(), "it was notified");
}

#[test]
fn a_driver_gets_up_and_sleeps_again() {
    let _watchdog = watchdog();
    let idle = Idle::new(1);
    let mut driver = idle.driver();
    for _ in 0..2 {
        let count = sleep(&mut driver);
        assert!(!driver.wake(), "no publisher has notified it");
        assert_eq!(count.drops.load(Ordering::Relaxed), 1);
        assert_eq!(idle.driver_count(), (1, 0));
    }
}

#[test]
fn a_driver_that_goes_gives_back_its_place() {
    let _watchdog = watchdog();
    let idle = Idle::new(1);
    for unwinds in [false, true] {
        let caught = catch_unwind(AssertUnwindSafe(|| {
            let mut driver = idle.driver();
            sleep(&mut driver);
            assert!(!unwinds, "as it was told");
        }));
        assert_eq!(caught.is_err(), unwinds);
        assert_eq!(idle.driver_count(), (0, 0));
    }
}

#[test]
fn drivers_that_were_forgotten_go_with_the_idle() {
    let _watchdog = watchdog();
    let idle = Idle::new(1);
    let counts = [(); 3].map(|()| {
        let mut driver = idle.driver();
        let count = sleep(&mut driver);
        std::mem::forget(driver);
        count
    });
    drop(idle);
    let drops = counts.map(|count| count.drops.load(Ordering::Relaxed));
    assert_eq!(drops, [1; 3]);
}
