//! Which operations count and which do not: run with `RUSTFLAGS="--cfg terrace_count"`, and once
//! without.

use std::time::Duration;
use terrace_sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering, fence};
use terrace_sync::count::Counts;
use terrace_sync::{Mutex, heavy, light, steal, thread};
use terrace_testing::watchdog;

/// `count` if counting is on.
fn on(count: u64) -> u64 {
    if cfg!(terrace_count) { count } else { 0 }
}

#[test]
fn every_read_modify_write_counts_as_one() {
    let (word, flag) = (AtomicU32::new(0), AtomicBool::new(false));
    let pointer = AtomicPtr::<u32>::default();
    let cost = Counts::of(|| {
        word.fetch_add(3, Ordering::Relaxed);
        word.fetch_and(1, Ordering::Relaxed);
        assert!(
            word.compare_exchange(1, 2, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        );
        assert!(
            word.compare_exchange(1, 2, Ordering::Relaxed, Ordering::Relaxed)
                .is_err()
        );
        flag.swap(true, Ordering::Relaxed);
        pointer.swap(std::ptr::null_mut(), Ordering::Relaxed);
    });
    assert_eq!(cost.rmws, on(6));
    let cost = Counts::of(|| {
        word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |value| {
            value.checked_sub(9)
        })
    });
    assert_eq!(cost, Counts::default(), "an update that does nothing");
}

#[test]
fn loads_and_stores_do_not_count() {
    let word = AtomicU32::new(0);
    let cost = Counts::of(|| {
        word.store(1, Ordering::Release);
        word.load(Ordering::Acquire)
    });
    assert_eq!(cost, Counts::default());
}

#[test]
fn fences_locks_and_parks_count() {
    let lock = Mutex::new(());
    let cost = Counts::of(|| {
        light();
        heavy();
        fence(Ordering::AcqRel);
        drop(lock.lock());
        drop(lock.try_lock());
        thread::current().unpark();
        thread::park();
        thread::park_timeout(Duration::ZERO);
    });
    assert_eq!(cost.fences, on(3));
    assert_eq!((cost.light_fences, cost.heavy_fences), (on(1), on(1)));
    assert_eq!(cost.locks, on(2));
    assert_eq!((cost.parks, cost.unparks), (on(2), on(1)));
    assert_eq!(cost.rmws, 0, "a lock counts as a lock");
}

/// An owner that knows the form of its fence has none; a thief has one.
#[test]
fn a_thief_fences_and_an_owner_does_not() {
    let unseen = !cfg!(any(terrace_tsan, miri));
    let cost = Counts::of(steal::light_asymmetric);
    assert!(!unseen || cost == Counts::default());
    let cost = Counts::of(steal::light);
    assert_eq!(cost.fences, on(1));
    assert_eq!((cost.light_fences, cost.steal_heavy_fences), (0, 0));
    let cost = Counts::of(steal::heavy);
    assert_eq!(cost.fences, on(1));
    assert_eq!((cost.heavy_fences, cost.steal_heavy_fences), (0, on(1)));
}

/// Operations of another thread do not count here.
#[test]
fn counters_are_per_thread() {
    let _watchdog = watchdog();
    let cost = Counts::of(|| {
        thread::spawn(|| AtomicU32::new(0).fetch_add(1, Ordering::Relaxed))
            .join()
            .unwrap();
    });
    assert_eq!(cost.rmws, 0);
}

#[test]
fn a_panic_does_not_poison_a_mutex() {
    let _watchdog = watchdog();
    let lock = std::sync::Arc::new(Mutex::new(1));
    let other = lock.clone();
    let panicked = thread::spawn(move || {
        let _guard = other.lock();
        panic!("under the lock");
    });
    assert!(panicked.join().is_err());
    assert_eq!(*lock.lock(), 1);
    assert_eq!(lock.try_lock().map(|guard| *guard), Some(1));
}
