//! Holds: a thread takes the place of a parked worker, and gives it back.

use std::task::{Wake, Waker};

use terrace_park::{Parker, Restricted, Unparker};
use terrace_sync::atomic::Ordering::Relaxed;
use terrace_sync::cell::UnsafeCell;
use terrace_sync::{Arc, Mutex, model, thread};

use crate::fixture::{Fixture, RUN_ONE, Shape, model_of_two};

/// Holds a place, if a worker is parked, and gives it back.
fn hold_once(f: &Fixture) {
    if let Some(held) = f.idle.hold(f) {
        f.idle.unhold(held, f);
    }
}

/// Worker 0 runs as `worker` says, beside a thread that holds its place, and one that does `beside`.
fn model_of_one(worker: fn(&Fixture), beside: fn(&Fixture)) {
    model(move || {
        let f = Fixture::new(Shape::OneOfOne, 1);
        let (mine, holder) = (f.clone(), f.clone());
        let threads = [
            thread::spawn(move || worker(&mine)),
            thread::spawn(move || hold_once(&holder)),
        ];
        beside(&f);
        for thread in threads {
            thread.join().unwrap();
        }
        f.assert_at_rest();
    });
}

/// The only worker parks while its place is held, and an item is published.
///
/// Seen to deadlock without the fence of `unhold` (`park-unhold-fence`) or its look (`park-unhold-look`), and seen to run beside its
/// holder where it takes a held bit back (`park-held-take-back`).
#[test]
fn idle_hold_against_publish() {
    model_of_one(|f| f.run_one(0), Fixture::publish_one);
}

/// The only worker parks while its place is held, and gets private work.
///
/// Seen to deadlock where the thread that wakes it leaves no wish (`park-held-unwanted`) or does not look again after that
/// (`park-want-fence`), and where `unhold` does not heed the wish (`park-unhold-wish`).
#[test]
fn idle_hold_against_wake_worker() {
    model_of_one(
        |f| f.park_for_inlet(0),
        |f| {
            f.private[0].store(1, Relaxed);
            f.idle.wake_worker(0);
        },
    );
}

/// As above, by the thread that wakes every worker.
#[test]
fn idle_hold_against_unpark_all() {
    model_of_one(
        |f| f.park_for_inlet(0),
        |f| {
            f.private[0].store(1, Relaxed);
            f.idle.unpark_all();
        },
    );
}

/// The only worker is a sentinel whose time runs out, while its place is held and an item is left to it.
#[test]
fn idle_hold_of_a_sentinel() {
    model_of_one(
        |f| f.watch_then_run_one(0),
        |f| {
            f.put(1);
            f.idle.publish_paced();
        },
    );
}

/// Two workers park, two items are published, and a thread holds one place. A worker that parks while the other one's token covers
/// the items may be held when it looks.
#[test]
fn idle_hold_beside_another_worker() {
    model_of_two(Shape::OneGroupOfTwo, RUN_ONE, |f| {
        f.publish_one();
        hold_once(f);
        f.publish_one();
    });
}

/// What belongs to the thread that has the place of the only worker.
struct Handed {
    f: Arc<Fixture>,
    cell: UnsafeCell<u32>,
}

// SAFETY: the thread that has the place touches the cell. The model checks that.
unsafe impl Sync for Handed {}
// SAFETY: it holds numbers, and what threads share.
unsafe impl Send for Handed {}

impl Handed {
    fn touch(&self) {
        self.cell.with_mut(|cell| {
            // SAFETY: the thread has the place.
            unsafe { *cell += 1 }
        });
    }

    fn hold_once(&self) {
        if let Some(held) = self.f.idle.hold(&*self.f) {
            self.touch();
            self.f.idle.unhold(held, &*self.f);
        }
    }
}

/// The place of the only worker passes from the worker to two holders, one after the other: each sees what the one before has written.
///
/// Seen to fail if a holder takes or gives it by a relaxed exchange (`park-hold-relaxed`, `park-unhold-relaxed`).
#[test]
fn idle_held_place_changes_hands() {
    model(|| {
        let all = Arc::new(Handed {
            f: Fixture::new(Shape::OneOfOne, 1),
            cell: UnsafeCell::new(0),
        });
        let (mine, holder) = (all.clone(), all.clone());
        let threads = [
            thread::spawn(move || {
                mine.touch();
                mine.f.park_for_inlet(0);
            }),
            thread::spawn(move || holder.hold_once()),
        ];
        all.hold_once();
        all.f.private[0].store(1, Relaxed);
        all.f.idle.wake_worker(0);
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

/// A holder passes a worker over that parks in a poll.
///
/// Seen to fail if it takes the place by a relaxed exchange (`park-hold-relaxed`).
#[test]
fn idle_hold_passes_a_polled_worker_over() {
    model(|| {
        let f = Fixture::new(Shape::OneOfOne, 1);
        let mine = f.clone();
        let worker = thread::spawn(move || {
            let waker = Waker::noop().clone();
            let token = mine.idle.enter(0);
            let parked = mine
                .idle
                .park_in_poll(0, Some(token), &*mine, waker)
                .is_none();
            if parked {
                let token = mine.idle.end_park(0);
                mine.idle.stop_search(token, &*mine);
            }
            parked
        });
        if let Some(held) = f.idle.hold(&*f) {
            f.idle.unhold(held, &*f);
            panic!("the worker is polled");
        }
        assert!(worker.join().unwrap(), "there was no work");
    });
}

struct Unpark(Unparker);

impl Wake for Unpark {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.unpark();
    }
}

/// A thread that holds the place of worker 1 until the one item was run, and the way to wake it.
struct Holder {
    f: Arc<Fixture>,
    unparker: Mutex<Option<Unparker>>,
}

impl Holder {
    fn new(shape: Shape, live: usize) -> Arc<Self> {
        Arc::new(Self {
            f: Fixture::new(shape, live),
            unparker: Mutex::new(None),
        })
    }

    fn is_done(&self) -> bool {
        self.f.latches[1].load(Relaxed) > 0
    }

    /// Takes the item if it is visible, and tells both that wait for its run.
    fn run_item(&self) {
        if self.f.take() {
            self.f.latches[1].store(1, Relaxed);
            if let Some(unparker) = &*self.unparker.lock() {
                unparker.unpark();
            }
            self.f.latches[0].store(1, Relaxed);
            self.f.idle.wake_worker(0);
        }
    }

    /// The holder's thread. True if it had a place.
    fn hold(&self) -> bool {
        let Some(held) = self.f.idle.hold(&*self.f) else {
            return false;
        };
        let parker = Parker::new();
        *self.unparker.lock() = Some(parker.unparker());
        while !self.is_done() {
            let waker: Waker = std::sync::Arc::new(Unpark(parker.unparker())).into();
            let is_last = self.f.idle.begin_wait(&held, &*self.f, waker);
            if !is_last && !self.is_done() {
                parker.park();
            }
            self.f.idle.end_wait(&held);
            if is_last {
                self.run_item();
            }
        }
        self.f.idle.unhold(held, &*self.f);
        true
    }
}

/// The place of the only worker is held by a thread that waits for the run of the item that is published.
///
/// Seen to deadlock without the R rule (`park-r-rule`), without the look of the holder (`park-last-resort`), without its fence
/// (`park-holder-fence`), and where it is not counted (`park-holder-uncounted`).
#[test]
fn idle_holder_is_the_last_resort() {
    model(|| {
        let all = Holder::new(Shape::OneOfOne, 1);
        let (mine, holder) = (all.f.clone(), all.clone());
        let worker = thread::spawn(move || mine.run_one(0));
        let holder = thread::spawn(move || holder.hold());
        all.f.publish_one();
        if holder.join().unwrap() {
            // The holder ran the item in place of the worker, which wants one.
            all.f.publish_one();
        }
        worker.join().unwrap();
        all.f.assert_at_rest();
    });
}

/// Worker 0 waits in `R` for the run of the item, and so does the thread that holds the place of worker 1. One of them runs it.
#[test]
fn idle_holder_beside_a_restricted_worker() {
    model(|| {
        let all = Holder::new(Shape::OneGroupOfTwo, 2);
        let (mine, holder) = (all.clone(), all.clone());
        let worker = thread::spawn(move || {
            let mut token = mine.f.idle.enter(1);
            while !mine.is_done() {
                mine.run_item();
                if !mine.is_done() {
                    token = mine.f.idle.park(1, token, &*mine.f);
                }
            }
            mine.f.idle.stop_search(token, &*mine.f);
        });
        let holder = thread::spawn(move || holder.hold());
        let token = all.f.idle.enter(0);
        all.f.idle.stop_search(token, &*all.f);
        all.f.publish_one();
        let ready = || all.f.latches[0].load(Relaxed) > 0;
        while !ready() {
            if let Restricted::LastResort = all.f.idle.wait_restricted(0, &*all.f, ready) {
                all.run_item();
            }
        }
        all.f.private[1].store(1, Relaxed);
        all.f.idle.wake_worker(1);
        holder.join().unwrap();
        worker.join().unwrap();
        all.f.assert_at_rest();
    });
}

/// Worker 1 publishes an item, which its own token covers, and parks while its place is held until the item was run. So the worker hands
/// the look that it owes on to worker 0.
///
/// Seen to deadlock where it does not (`park-held-pass-on`).
#[test]
fn idle_held_worker_hands_its_look_on() {
    model(|| {
        let all = Holder::new(Shape::OneGroupOfTwo, 2);
        let (first, second) = (all.clone(), all.clone());
        let threads = [
            thread::spawn(move || {
                let mut token = first.f.idle.enter(0);
                while first.f.private[0].load(Relaxed) == 0 {
                    token = first.f.idle.park(0, token, &*first.f);
                    first.run_item();
                }
                first.f.idle.stop_search(token, &*first.f);
            }),
            thread::spawn(move || {
                let token = second.f.idle.enter(1);
                second.f.publish_one();
                let token = second.f.idle.park(1, token, &*second.f);
                second.run_item();
                second.f.idle.stop_search(token, &*second.f);
            }),
        ];
        if let Some(held) = all.f.idle.hold(&*all.f) {
            let parker = Parker::new();
            *all.unparker.lock() = Some(parker.unparker());
            while held.worker() == 1 && !all.is_done() {
                parker.park();
            }
            all.f.idle.unhold(held, &*all.f);
        }
        for worker in [0, 1] {
            all.f.private[worker].store(1, Relaxed);
            all.f.idle.wake_worker(worker);
        }
        for thread in threads {
            thread.join().unwrap();
        }
    });
}
