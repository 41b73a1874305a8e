//! Async drivers: futures that sleep as wakers, and may be dropped, forgotten or never polled again.

use std::task::{Wake, Waker};

use terrace_park::{Driver, Idle, Parker, Unparker, Work};
use terrace_sync::atomic::{AtomicUsize, Ordering::Relaxed};
use terrace_sync::{Arc, model, thread};

use crate::fixture::{Fixture, Shape};

/// A waker that unparks the thread which polls the driver.
struct Unpark(Unparker);

impl Wake for Unpark {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.unpark();
    }
}

fn parker_and_waker() -> (Parker, Waker) {
    let parker = Parker::new();
    let waker = std::sync::Arc::new(Unpark(parker.unparker())).into();
    (parker, waker)
}

/// Polls a driver until it has taken one item. A notified driver publishes the items that it leaves behind.
fn take_one(f: &Fixture, driver: &mut Driver<'_>) {
    let (parker, waker) = parker_and_waker();
    loop {
        let notified = driver.wake();
        if take_and_publish_rest(f, notified) {
            return;
        }
        driver.sleep(&waker);
        if !f.takeable() {
            parker.park();
        }
    }
}

/// One look. The driver takes an item if there is one; if it `owes` the look, it publishes when
/// more are left.
fn take_and_publish_rest(f: &Fixture, owes: bool) -> bool {
    let taken = f.take();
    if taken && owes && f.takeable() {
        f.idle.publish();
    }
    taken
}

fn no_workers() -> Arc<Fixture> {
    Arc::new(Fixture::with(Idle::new(0), 1))
}

/// An item is published while a driver goes to sleep: it gets it.
///
/// Seen to deadlock without the fence of the sleep (`park-driver-fence`), without that of the publish
/// (`park-publish-fence`), and if a publish notifies no driver (`park-driver-notify`).
#[test]
fn idle_driver_sleeps_against_publish() {
    model(|| {
        let f = no_workers();
        let other = f.clone();
        let driver = thread::spawn(move || take_one(&other, &mut other.idle.driver()));
        f.put(1);
        f.idle.publish();
        driver.join().unwrap();
    });
}

/// Two drivers sleep. The one that fell asleep last, which a publish notifies, is dropped without having been polled
/// again, while an item is published. The other one gets the item.
///
/// Seen to deadlock where a notified driver that is dropped does not publish (`park-driver-pass-on`).
#[test]
fn idle_driver_dropped_after_being_notified() {
    model(|| {
        let f = no_workers();
        let [(parker, waker), (_parker, last)] = [parker_and_waker(), parker_and_waker()];
        let [mut driver, mut dropped] = [f.idle.driver(), f.idle.driver()];
        driver.sleep(&waker);
        dropped.sleep(&last);
        let other = f.clone();
        let publisher = thread::spawn(move || other.publish_one());
        drop(dropped);
        parker.park();
        take_one(&f, &mut driver);
        publisher.join().unwrap();
    });
}

/// Two drivers sleep. The one that fell asleep last is forgotten. It costs one notification at most: of two items, the
/// driver that is polled gets one.
#[test]
fn idle_driver_forgotten_costs_one_notification() {
    model(|| {
        let f = no_workers();
        let [(parker, waker), (_parker, last)] = [parker_and_waker(), parker_and_waker()];
        let [mut driver, mut forgotten] = [f.idle.driver(), f.idle.driver()];
        driver.sleep(&waker);
        forgotten.sleep(&last);
        std::mem::forget(forgotten);
        let other = f.clone();
        let publisher = thread::spawn(move || (0..2).for_each(|_| other.publish_one()));
        parker.park();
        take_one(&f, &mut driver);
        publisher.join().unwrap();
        assert_eq!(f.items.load(Relaxed), 1);
    });
}

/// Counts its wakes.
#[derive(Default)]
struct Counting(AtomicUsize);

impl Wake for Counting {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// A driver that sleeps, and how often it was notified.
fn asleep(f: &Fixture) -> (Driver<'_>, std::sync::Arc<Counting>) {
    let count = std::sync::Arc::new(Counting::default());
    let mut driver = f.idle.driver();
    driver.sleep(&count.clone().into());
    (driver, count)
}

/// Two drivers were notified, and a third one sleeps. One of the two is polled while an item is published: it takes the
/// item, or the third is notified.
///
/// Seen to strand the item if the driver does not announce its answer (`park-driver-answer`). Also if the answer does
/// not acquire the publishes counted on it (`park-driver-answer-acquire`).
#[test]
fn idle_driver_answers() {
    model(|| {
        let f = no_workers();
        let (mut notified, _) = asleep(&f);
        let _stalled = asleep(&f);
        for _ in 0..2 {
            f.publish_one();
            assert!(f.take());
        }
        let (_third, wakes) = asleep(&f);
        let other = f.clone();
        let publisher = thread::spawn(move || other.publish_one());
        assert!(notified.wake());
        let taken = f.take();
        publisher.join().unwrap();
        assert!(taken || wakes.0.load(Relaxed) == 1);
    });
}

/// A driver searches while two items are published, and takes one. A sleeping driver is notified of the item that is
/// left.
///
/// Seen to strand an item if the count of publishers that relied on the search outlives it (`park-driver-search-over`).
/// Also if the search's end does not acquire their items (`park-driver-search-acquire`).
#[test]
fn idle_driver_searches() {
    model(|| {
        let f = no_workers();
        let (_asleep, wakes) = asleep(&f);
        let driver = f.idle.driver();
        let other = f.clone();
        let publisher = thread::spawn(move || {
            for _ in 0..2 {
                other.publish_one();
            }
        });
        let searched = driver.search(|| {
            f.takeable();
        });
        assert!(searched);
        take_and_publish_rest(&f, true);
        publisher.join().unwrap();
        assert!(f.items.load(Relaxed) == 0 || wakes.0.load(Relaxed) > 0);
    });
}

/// A driver gets up by itself while a publish is about to notify it, so no driver is notified. Later publishes do not
/// rely on that notification.
///
/// Seen to fail where such a publish does not withdraw its notification (`park-driver-withdraw`).
#[test]
fn idle_driver_gets_up_by_itself() {
    model(|| {
        let f = no_workers();
        let (mut driver, _) = asleep(&f);
        let other = f.clone();
        let publisher = thread::spawn(move || other.publish_one());
        driver.wake();
        publisher.join().unwrap();
        let all = [asleep(&f), asleep(&f)];
        for _ in &all {
            f.publish_one();
        }
        assert!(all.iter().all(|(_, wakes)| wakes.0.load(Relaxed) == 1));
    });
}

/// The same with a second publisher, which counts on a notification that the first turns out not to send.
///
/// With the two preemptions that models are allowed it does not show why the first looks for sleepers once more.
#[test]
fn idle_driver_gets_up_by_itself_with_two_publishers() {
    model(|| {
        let f = no_workers();
        let [one, other] = [f.clone(), f.clone()];
        let driver = thread::spawn(move || {
            let mut driver = other.idle.driver();
            for _ in 0..3 {
                take_one(&other, &mut driver);
            }
        });
        let publisher = thread::spawn(move || one.publish_one());
        for _ in 0..2 {
            f.publish_one();
        }
        publisher.join().unwrap();
        driver.join().unwrap();
    });
}

/// The only worker takes one of two items and never comes back from it. The publisher left the other item to the
/// worker's search or to a driver. The driver gets it, also if the driver was made during the publish.
///
/// Seen to deadlock if a worker that gives up the last token does not look for drivers (`park-wide`). Also if a publish
/// that finds no worker asleep notifies no driver (`park-driver-notify`). Also without the fence of the driver
/// (`park-driver-fence`) or of the worker (`park-stop-search-fence`).
#[test]
fn idle_driver_beside_a_worker() {
    model(|| {
        let f = Fixture::new(Shape::OneOfOne, 1);
        let [worker, driver] = [f.clone(), f.clone()];
        let worker = thread::spawn(move || worker.run_one(0));
        let driver = thread::spawn(move || take_one(&driver, &mut driver.idle.driver()));
        f.put(1);
        f.idle.publish();
        f.put(1);
        f.idle.publish();
        worker.join().unwrap();
        driver.join().unwrap();
    });
}

/// A group is added while the only worker takes one of two items and never comes back: the new group's worker gets the
/// other one.
///
/// Seen to deadlock where older groups are not told of the new one (`park-wide`).
#[test]
fn idle_group_added() {
    model(|| {
        let f = Fixture::new(Shape::OneOfOne, 1);
        let [first, added] = [f.clone(), f.clone()];
        let first = thread::spawn(move || first.run_one(0));
        let added = thread::spawn(move || {
            added.idle.ensure(added.second);
            added.run_one(1);
        });
        f.put(1);
        f.idle.publish();
        f.put(1);
        f.idle.publish();
        first.join().unwrap();
        added.join().unwrap();
    });
}
