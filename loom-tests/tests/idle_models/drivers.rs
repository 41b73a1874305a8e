//! Async drivers: futures that sleep as wakers, and may be dropped, forgotten or never polled again.

use std::task::{Wake, Waker};

use terrace_park::{Driver, Idle, Parker, Unparker, Work};
use terrace_sync::atomic::Ordering::Relaxed;
use terrace_sync::{Arc, model, thread};

use crate::fixture::{Fixture, LANE, Shape};

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

/// Polls a driver until it has taken one item.
fn take_one(f: &Fixture, driver: &mut Driver<'_>) {
    let (parker, waker) = parker_and_waker();
    loop {
        driver.wake();
        if f.take() {
            return;
        }
        driver.sleep(&waker);
        if !f.takeable(LANE) {
            parker.park();
        }
    }
}

fn no_workers() -> Arc<Fixture> {
    Arc::new(Fixture::with(Idle::with_workers(0)))
}

/// An item is published while a driver goes to sleep: it gets it.
///
/// Seen to deadlock without the fence of the sleep (`park-driver-fence`), without that of the publish
/// (`park-publish-fence`), and where a publish notifies nobody (`park-driver-notify`).
#[test]
fn idle_driver_sleeps_against_publish() {
    model(|| {
        let f = no_workers();
        let other = f.clone();
        let driver = thread::spawn(move || take_one(&other, &mut other.idle.driver()));
        f.put(1);
        f.idle.publish(LANE);
        driver.join().unwrap();
    });
}

/// A driver goes to sleep and is dropped without having been polled again, while an item is published. Another one
/// sleeps, and gets the item whichever of them was notified.
///
/// Seen to deadlock where a notified driver that is dropped does not publish (`park-driver-pass-on`).
#[test]
fn idle_driver_dropped_after_being_notified() {
    model(|| {
        let f = no_workers();
        // The lowest place, which is notified first.
        let mut dropped = f.idle.driver();
        let (_parker, waker) = parker_and_waker();
        dropped.sleep(&waker);
        let other = f.clone();
        let driver = thread::spawn(move || take_one(&other, &mut other.idle.driver()));
        let publisher = {
            let f = f.clone();
            thread::spawn(move || {
                f.put(1);
                f.idle.publish(LANE);
            })
        };
        drop(dropped);
        publisher.join().unwrap();
        driver.join().unwrap();
    });
}

/// A driver went to sleep and is forgotten. It costs one notification at most: of two items, a driver that is polled
/// gets one.
#[test]
fn idle_driver_forgotten_costs_one_notification() {
    model(|| {
        let f = no_workers();
        let mut forgotten = f.idle.driver();
        let (_parker, waker) = parker_and_waker();
        forgotten.sleep(&waker);
        std::mem::forget(forgotten);
        let other = f.clone();
        let driver = thread::spawn(move || take_one(&other, &mut other.idle.driver()));
        for _ in 0..2 {
            f.put(1);
            f.idle.publish(LANE);
        }
        driver.join().unwrap();
        assert_eq!(f.items.load(Relaxed), 1);
    });
}

/// The only worker takes one of two items and never comes back from it. The other item was left to the worker's search
/// or to a driver: the driver gets it, also if it came into being meanwhile.
///
/// Seen to deadlock where a worker that gives up the last token does not look for drivers (`park-wide`), where a
/// publish that finds no worker asleep notifies no driver (`park-driver-notify`), and without the fence of the one
/// (`park-driver-fence`) or the other (`park-stop-search-fence`).
#[test]
fn idle_driver_beside_a_worker() {
    model(|| {
        let f = Fixture::new(Shape::OneOfOne, 1);
        let [worker, driver] = [f.clone(), f.clone()];
        let worker = thread::spawn(move || worker.run_one(0));
        let driver = thread::spawn(move || take_one(&driver, &mut driver.idle.driver()));
        f.put(1);
        f.idle.publish(LANE);
        f.put(1);
        f.idle.publish(LANE);
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
            added.idle.ensure(1);
            added.run_one(1);
        });
        f.put(1);
        f.idle.publish(LANE);
        f.put(1);
        f.idle.publish(LANE);
        first.join().unwrap();
        added.join().unwrap();
    });
}
