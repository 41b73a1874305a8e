//! Which async driver a publish notifies, and when a publisher relies on one that is about to look.

#![cfg(not(any(terrace_loom, terrace_shuttle)))]

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

use terrace_park::{Driver, Idle, Wake as Woken, Work};
use terrace_testing::watchdog;

/// One item that every worker may take.
struct Item;

impl Work for Item {
    fn takeable(&self) -> bool {
        true
    }

    fn has_private_work(&self, _worker: usize) -> bool {
        false
    }
}

/// A waker that counts its calls, and panics in each if it is told to.
#[derive(Default)]
struct Calls {
    count: AtomicUsize,
    panics: bool,
}

impl Calls {
    fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }
}

impl Wake for Calls {
    fn wake(self: Arc<Self>) {
        self.count.fetch_add(1, Ordering::Relaxed);
        assert!(!self.panics, "the waker's panic");
    }
}

/// Puts the driver to sleep. Returns what its waker counts.
fn sleep(driver: &mut Driver<'_>) -> Arc<Calls> {
    let calls = Arc::<Calls>::default();
    driver.sleep(&Waker::from(Arc::clone(&calls)));
    calls
}

/// Many drivers.
fn many(idle: &Idle) -> Vec<Driver<'_>> {
    (0..40).map(|_| idle.driver()).collect()
}

#[test]
fn every_driver_has_a_place_of_its_own() {
    let _watchdog = watchdog();
    let idle = Idle::new(0);
    // The second time the drivers get the places that the first ones gave back.
    for _ in 0..2 {
        let mut drivers = many(&idle);
        let calls: Vec<_> = drivers.iter_mut().map(sleep).collect();
        assert_eq!(idle.driver_count(), (40, 40));
        while idle.publish() != Woken::NoneParked {}
        for (number, (driver, calls)) in drivers.iter_mut().zip(calls).enumerate() {
            assert_eq!(calls.count(), 1, "of driver {number}");
            assert!(driver.wake(), "driver {number} was notified");
            assert!(!driver.wake(), "driver {number} is awake");
        }
        drop(drivers);
        assert_eq!(idle.driver_count(), (0, 0));
    }
}

#[test]
fn publishers_notify_another_driver_from_time_to_time() {
    let _watchdog = watchdog();
    let idle = Idle::new(0);
    let mut drivers = many(&idle);
    let _calls: Vec<_> = drivers.iter_mut().map(sleep).collect();
    let notifies = |publish: usize| {
        let expected = match publish.is_power_of_two() || publish % 64 == 0 {
            true => Woken::Driver,
            false => Woken::Covered,
        };
        assert_eq!(idle.publish(), expected, "publish {publish}");
    };
    (1..=200).for_each(notifies);
    // The one that was notified first is about to look. The next publish is the first one after that.
    assert!(drivers[39].wake());
    (1..=10).for_each(notifies);
}

#[test]
fn the_driver_that_fell_asleep_last_is_notified() {
    let _watchdog = watchdog();
    let idle = Idle::new(0);
    let mut drivers = many(&idle);
    // Neither first to last nor last to first.
    let order = [20, 3, 30, 0, 17];
    let calls = order.map(|number| sleep(&mut drivers[number]));
    for (number, calls) in order.into_iter().zip(calls).rev() {
        assert_eq!(calls.count(), 0, "of driver {number}, which slept longer");
        assert_eq!(idle.publish(), Woken::Driver);
        assert_eq!(calls.count(), 1, "of driver {number}");
        assert!(drivers[number].wake());
    }
    assert_eq!(idle.publish(), Woken::NoneParked);
}

#[test]
fn a_driver_searches_in_place_of_a_notification() {
    let _watchdog = watchdog();
    let idle = Idle::new(0);
    let mut drivers = [(); 4].map(|()| idle.driver());
    let calls = sleep(&mut drivers[0]);
    let looks = Cell::new(0);
    let look = || looks.set(looks.get() + 1);
    let publish = |times| (0..times).for_each(|_| assert_eq!(idle.publish(), Woken::Covered));
    assert!(drivers[1].search(|| {
        look();
        publish(1);
        assert!(drivers[2].search(|| {
            look();
            assert!(!drivers[3].search(look), "half of the drivers search");
            publish(2);
        }));
        // One is left, on which publishers rely.
        publish(2);
    }));
    assert_eq!(looks.get(), 2);
    assert_eq!(calls.count(), 0);
    // The last searcher has answered for all publishes. Here no other one was notified, so this publish needs the sleeper.
    assert_eq!(idle.publish(), Woken::Driver);
    assert_eq!(calls.count(), 1);
}

#[test]
fn a_driver_that_is_alone_does_not_search() {
    let _watchdog = watchdog();
    let idle = Idle::new(0);
    let driver = idle.driver();
    assert!(!driver.search(|| panic!("it spares no other driver a wake")));
}

#[test]
fn a_notified_driver_that_goes_hands_its_notification_on() {
    let _watchdog = watchdog();
    let idle = Idle::new(0);
    let [mut stays, mut asleep, mut notified] = [(); 3].map(|()| idle.driver());
    let calls = sleep(&mut stays);
    sleep(&mut asleep);
    drop(asleep);
    assert_eq!(calls.count(), 0, "the one that went was not notified");
    sleep(&mut notified);
    assert_eq!(idle.publish(), Woken::Driver);
    assert_eq!(calls.count(), 0, "the other one fell asleep later");
    drop(notified);
    assert_eq!(calls.count(), 1);
    assert!(stays.wake());
}

#[test]
fn a_waker_that_panics_leaves_the_publish_to_another_driver() {
    let _watchdog = watchdog();
    let idle = Idle::new(0);
    let [mut good, mut bad] = [(); 2].map(|()| idle.driver());
    let calls = sleep(&mut good);
    let fails = Arc::new(Calls {
        panics: true,
        ..Calls::default()
    });
    let waker = Waker::from(Arc::clone(&fails));
    bad.sleep(&waker);
    assert_eq!(idle.publish(), Woken::Driver);
    assert_eq!((fails.count(), calls.count()), (1, 1));
    assert!(good.wake() && bad.wake());
    // Where it is the only one, no publisher relies on it: each publish looks for a driver anew.
    for publish in 2..10 {
        bad.sleep(&waker);
        assert_eq!(idle.publish(), Woken::NoneParked);
        assert_eq!(fails.count(), publish);
    }
    let calls = sleep(&mut good);
    assert_eq!(idle.publish(), Woken::Driver);
    assert_eq!(calls.count(), 1);
}

#[test]
fn the_last_worker_that_stops_its_search_leaves_the_rest_to_a_driver() {
    let _watchdog = watchdog();
    let idle = Idle::new(2);
    let mut driver = idle.driver();
    let calls = sleep(&mut driver);
    let [first, last] = [0, 1].map(|worker| idle.enter(worker));
    assert_eq!(idle.publish(), Woken::Covered);
    idle.stop_search(first, &Item);
    assert_eq!(calls.count(), 0, "worker 1 searches");
    // It has taken an item, and one is left.
    idle.stop_search(last, &Item);
    assert_eq!(calls.count(), 1);
    assert!(driver.wake());
}
