//! Models of how a notifier wakes a thread across the end of the thread's life as a worker.

use terrace_park::{Idle, Parker, Unparker, Work};
use terrace_sync::atomic::{AtomicUsize, Ordering::Relaxed};
use terrace_sync::{Arc, model, thread};
use terrace_thread::Notify;
use terrace_thread::wakeup::Wakeup;

/// The events that the thread waits for, first as a worker, then on its parker.
struct Life {
    idle: Idle,
    items: AtomicUsize,
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
        let life = Arc::new(Life {
            idle: Idle::new(1),
            items: AtomicUsize::new(0),
        });
        let parker = Parker::new();
        let wakeup = Arc::new(bound(&life, parker.unparker()));
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

fn bound(life: &Arc<Life>, unparker: Unparker) -> Wakeup<Seat> {
    Wakeup::new(unparker, Some(Seat(life.clone())))
}

/// A notifier of a thread that becomes a worker afterwards reaches it there, or its item is seen.
///
/// Seen to deadlock without the fence (`thread-next-fence`), and if the notifier stays with the wakeup of its time
/// (`thread-next-ignored`).
#[test]
fn thread_wake_across_the_begin_of_a_worker() {
    model(|| {
        let life = Arc::new(Life {
            idle: Idle::new(1),
            items: AtomicUsize::new(0),
        });
        let parker = Parker::new();
        let before = Arc::new(Wakeup::new(parker.unparker(), None));
        let (theirs, wake) = (life.clone(), before.clone());
        let other = thread::spawn(move || {
            theirs.items.fetch_add(1, Relaxed);
            wake.wake();
        });
        before.follow(Arc::new(bound(&life, Parker::new().unparker())));
        let token = life.idle.enter(0);
        life.idle.stop_search(token, &*life);
        let here = || life.items.load(Relaxed);
        while here() < 1 {
            let _any = life.idle.wait_restricted(0, &*life, || here() == 1);
        }
        life.idle.leave(0, None, &*life);
        other.join().unwrap();
    });
}

/// A notification while the thread gives up its seat reaches it there, or on its parker, or is seen.
///
/// Seen to deadlock without the fence (`thread-unbind-fence`), without the second look (`thread-notify-once`), and if
/// the notifier leaves the parker out (`thread-notify-worker-only`).
#[test]
fn thread_wake_across_the_end_of_a_worker() {
    life(1);
}

/// The same after a wait as the worker: no notification counts for two waits.
#[test]
fn thread_wakes_on_both_sides_of_the_end_of_a_worker() {
    life(2);
}
