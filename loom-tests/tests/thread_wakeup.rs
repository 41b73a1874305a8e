//! Models of how a notifier wakes a thread across the begin and the end of the thread's life as a worker.

use terrace_park::{Idle, Parker, Work};
use terrace_sync::atomic::{AtomicUsize, Ordering::Relaxed};
use terrace_sync::{Arc, model, thread};
use terrace_thread::Notify;
use terrace_thread::wakeup::Wakeup;

/// The events that the thread waits for, first as a worker, then on its parker.
struct Life {
    idle: Idle,
    items: AtomicUsize,
}

impl Life {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            idle: Idle::new(1),
            items: AtomicUsize::new(0),
        })
    }

    /// Another thread makes an item and wakes this one.
    fn made_elsewhere(life: &Arc<Self>, wakeup: &Arc<Wakeup<Seat>>) -> thread::JoinHandle<()> {
        let (life, wakeup) = (life.clone(), wakeup.clone());
        thread::spawn(move || {
            life.items.fetch_add(1, Relaxed);
            wakeup.wake();
        })
    }

    /// This thread is the worker until an item is there.
    fn work(&self) {
        let token = self.idle.enter(0);
        self.idle.stop_search(token, self);
        let here = || self.items.load(Relaxed) == 1;
        while !here() {
            let _any = self.idle.wait_restricted(0, self, here);
        }
        self.idle.leave(0, None, self);
    }
}

impl Work for Life {
    fn takeable(&self) -> bool {
        false
    }

    fn has_private_work(&self, _worker: usize) -> bool {
        false
    }
}

/// Wakes the worker.
#[derive(Clone)]
struct Seat(Arc<Life>);

impl Notify for Seat {
    fn notify(&self) {
        self.0.idle.wake_worker(0);
    }
}

/// The thread of a worker enters. If there are two `items`, it waits for the first in the middle of a job. It leaves,
/// and waits for the last one on its parker, as in the destructor of a thread-local. Another thread makes the items.
fn life(items: usize) {
    model(move || {
        let life = Life::new();
        let parker = Parker::new();
        let wakeup = Arc::new(Wakeup::new(parker.unparker()));
        wakeup.bind(Seat(life.clone()));
        let (theirs, wake) = (life.clone(), wakeup.clone());
        let token = life.idle.enter(0);
        life.idle.stop_search(token, &*life);
        let other = thread::spawn(move || {
            for _ in 0..items {
                theirs.items.fetch_add(1, Relaxed);
                wake.wake();
            }
        });
        let here = || life.items.load(Relaxed);
        while here() + 1 < items {
            let _any = life.idle.wait_restricted(0, &*life, || here() + 1 >= items);
        }
        life.idle.leave(0, None, &*life);
        wakeup.unbind();
        while here() < items {
            parker.park();
        }
        other.join().unwrap();
    });
}

/// While a thread becomes a worker, a notifier reaches that thread, or the new worker sees the notifier's item.
///
/// Seen to deadlock without the fence (`thread-next-fence`), and if the notifier does not look whether the thread is a worker now
/// (`thread-next-ignored`).
#[test]
fn thread_wake_across_the_begin_of_a_worker() {
    model(|| {
        let life = Life::new();
        let wakeup = Arc::new(Wakeup::new(Parker::new().unparker()));
        let other = Life::made_elsewhere(&life, &wakeup);
        wakeup.bind(Seat(life.clone()));
        life.work();
        other.join().unwrap();
    });
}

/// A notifier that has found the thread a worker reaches it where it is one again, or its item is seen.
#[test]
fn thread_wake_across_two_lives_as_a_worker() {
    model(|| {
        let life = Life::new();
        let wakeup = Arc::new(Wakeup::new(Parker::new().unparker()));
        wakeup.bind(Seat(Life::new()));
        let other = Life::made_elsewhere(&life, &wakeup);
        wakeup.unbind();
        wakeup.bind(Seat(life.clone()));
        life.work();
        other.join().unwrap();
    });
}

/// A notification while the thread gives up its seat reaches it there, or on its parker, or is seen.
///
/// Seen to deadlock if the notifier leaves the parker out (`thread-notify-worker-only`).
#[test]
fn thread_wake_across_the_end_of_a_worker() {
    life(1);
}

/// The same after a wait as the worker: no notification counts for two waits.
#[test]
fn thread_wakes_on_both_sides_of_the_end_of_a_worker() {
    life(2);
}
