//! The parker for threads that are no workers. A token is never lost, and the parker sees all
//! writes before its `unpark`.

use std::time::Duration;

use terrace_park::Parker;
use terrace_sync::atomic::{AtomicUsize, Ordering::Relaxed};
use terrace_sync::{Arc, model, thread};

/// Two unparks: one before the thread sleeps or while it does, one after it took the first token. A stray unpark of the
/// thread itself counts for nothing.
///
/// Seen to fail its assertion with a relaxed swap in unpark (`park-parker-release`). Also with a relaxed take of a
/// token that was there (`park-parker-early-acquire`) or came during the sleep (`park-parker-acquire`).
#[test]
fn idle_parker_token() {
    model(|| {
        let parker = Parker::new();
        let unparker = parker.unparker();
        let sleeper = thread::current();
        let steps = Arc::new(AtomicUsize::new(0));
        let theirs = steps.clone();
        let other = thread::spawn(move || {
            sleeper.unpark();
            theirs.store(1, Relaxed);
            unparker.unpark();
        });
        parker.park();
        assert_eq!(steps.load(Relaxed), 1);
        other.join().unwrap();
        parker.unparker().unpark();
        parker.park();
    });
}

/// A token that comes with the time-out is taken by it, or stays for the next park.
///
/// Seen to fail its assertion with a relaxed swap at the time-out (`park-parker-timeout-acquire`).
#[test]
fn idle_parker_timeout() {
    model(|| {
        let parker = Parker::new();
        let unparker = parker.unparker();
        let steps = Arc::new(AtomicUsize::new(0));
        let theirs = steps.clone();
        let other = thread::spawn(move || {
            theirs.store(1, Relaxed);
            unparker.unpark();
        });
        if !parker.park_timeout(Duration::from_millis(1)) {
            parker.park();
        }
        assert_eq!(steps.load(Relaxed), 1);
        other.join().unwrap();
    });
}
