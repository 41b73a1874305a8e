//! Models of the primitives of `terrace-sync`, on which every other model stands.

use std::time::Duration;
use terrace_sync::atomic::{AtomicU32, Ordering};
use terrace_sync::cell::UnsafeCell;
use terrace_sync::{Arc, Mutex, OnceLock, heavy, light, model, thread};

/// An unpark before, during or after the decision to park is never lost, and all that preceded it is visible.
#[test]
fn unpark_is_never_lost() {
    model(|| {
        let flag = Arc::new(AtomicU32::new(0));
        let sleeper = {
            let flag = flag.clone();
            thread::spawn(move || {
                while flag.load(Ordering::Relaxed) == 0 {
                    thread::park();
                }
            })
        };
        flag.store(1, Ordering::Relaxed);
        sleeper.thread().unpark();
        sleeper.join().unwrap();
    });
}

/// A token that is given to a thread which no longer wants it disturbs neither its locks nor its joins.
#[test]
fn stray_unpark_is_harmless() {
    model(|| {
        let lock = Arc::new(Mutex::new(0));
        let me = thread::current();
        let other = {
            let lock = lock.clone();
            thread::spawn(move || {
                *lock.lock() += 1;
                me.unpark();
            })
        };
        *lock.lock() += 1;
        other.join().unwrap();
        assert_eq!(*lock.lock(), 2);
    });
}

/// A timer ends the wait it was started for and no later one. With the old timer still to come, a wait without a
/// timeout ends only by the wake, whose data it then sees.
#[test]
fn timeout_ends_its_own_wait_alone() {
    model(|| {
        let flag = Arc::new(AtomicU32::new(0));
        let me = thread::current();
        thread::park_timeout(Duration::from_micros(1));
        let setter = {
            let flag = flag.clone();
            thread::spawn(move || {
                flag.store(1, Ordering::Relaxed);
                me.unpark();
            })
        };
        while flag.load(Ordering::Relaxed) == 0 {
            thread::park();
        }
        setter.join().unwrap();
    });
}

/// Two threads each write one word, fence, and read the other's word. At least one sees a write, if one of the fences
/// is heavy.
///
/// Fails under: `sync-light-removed`, `sync-heavy-removed`.
#[test]
fn light_and_heavy_are_ordered() {
    model(|| {
        let words = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let sleeper = {
            let words = words.clone();
            thread::spawn(move || {
                words[0].store(1, Ordering::Relaxed);
                heavy();
                words[1].load(Ordering::Relaxed)
            })
        };
        words[1].store(1, Ordering::Relaxed);
        light();
        let seen = words[0].load(Ordering::Relaxed);
        assert!(
            seen + sleeper.join().unwrap() >= 1,
            "both missed the other's write"
        );
    });
}

/// A load in front of a compare-exchange does not deceive the checker's search. The spawned thread may have done
/// nothing, one exchange or both when the other looks.
#[test]
fn a_load_hides_no_schedule() {
    // Not modelled: it collects over all runs of the body.
    let seen = std::sync::Arc::new(std::sync::Mutex::new(std::collections::BTreeSet::new()));
    let collect = seen.clone();
    model(move || {
        let word = Arc::new(AtomicU32::new(0));
        let other = {
            let word = word.clone();
            thread::spawn(move || {
                for _ in 0..2 {
                    let old = word.load(Ordering::Relaxed);
                    let _ =
                        word.compare_exchange(old, old + 1, Ordering::Relaxed, Ordering::Relaxed);
                }
            })
        };
        collect.lock().unwrap().insert(word.load(Ordering::Relaxed));
        other.join().unwrap();
        assert_eq!(word.load(Ordering::Relaxed), 2);
    });
    let seen = seen.lock().unwrap();
    assert!(seen.iter().all(|&value| value <= 2));
    if cfg!(terrace_loom) {
        assert_eq!(seen.len(), 3, "schedules seen: {seen:?}");
    }
}

/// A lock orders the accesses it guards.
#[test]
fn mutex_excludes() {
    struct Shared(Mutex<()>, UnsafeCell<u32>);
    // SAFETY: the cell is touched only under the lock.
    unsafe impl Sync for Shared {}

    model(|| {
        let shared = Arc::new(Shared(Mutex::new(()), UnsafeCell::new(0)));
        let add = |shared: &Shared| {
            let _locked = shared.0.lock();
            // SAFETY: the lock is held, so no other access is going on.
            shared.1.with_mut(|value| unsafe { *value += 1 });
        };
        let other = {
            let shared = shared.clone();
            thread::spawn(move || add(&shared))
        };
        add(&shared);
        other.join().unwrap();
        let mut shared =
            Arc::try_unwrap(shared).unwrap_or_else(|_| panic!("the other thread has ended"));
        assert_eq!(*shared.1.get_mut(), 2);
    });
}

/// One of two initialisers runs, and both threads see its value.
#[test]
fn once_lock_initialises_once() {
    model(|| {
        let (cell, runs) = (Arc::new(OnceLock::new()), Arc::new(AtomicU32::new(0)));
        let init = |cell: &OnceLock<u32>, runs: &AtomicU32| {
            *cell.get_or_init(|| runs.fetch_add(1, Ordering::Relaxed) + 7)
        };
        let other = {
            let (cell, runs) = (cell.clone(), runs.clone());
            thread::spawn(move || init(&cell, &runs))
        };
        assert_eq!(init(&cell, &runs), 7);
        assert_eq!(other.join().unwrap(), 7);
        assert_eq!(cell.set(1), Err(1));
        assert_eq!(runs.load(Ordering::Relaxed), 1);
    });
}

terrace_sync::thread_local! {
    static LOCAL: AtomicU32 = const { AtomicU32::new(3) };
}

/// Each thread has its own value.
#[test]
fn thread_locals_are_per_thread() {
    model(|| {
        let set = |value| LOCAL.with(|local| local.swap(value, Ordering::Relaxed));
        set(9);
        assert_eq!(thread::spawn(move || set(1)).join().unwrap(), 3);
        assert_eq!(set(3), 9);
    });
}
