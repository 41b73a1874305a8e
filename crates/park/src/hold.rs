//! Holds: a thread that is no worker takes the place of a parked worker for a while.
//!
//! | state   | bits    | the worker's thread | the place counts as               | leaves it by                              |
//! |---------|---------|---------------------|------------------------------------|--------------------------------------------|
//! | parked  | `P`     | sleeps              | parked                             | `hold` → held; a waker → searching         |
//! | held    | `P`,`R` | sleeps              | running, by the holder             | `unhold` → parked; `begin_wait` → waiting  |
//! | waiting | `P`,`R` | sleeps              | waiting for its own work           | `end_wait` → held                          |
//!
//! A hold moves no token, as the holder promises to no publisher that it searches. It is a worker that runs a job: whatever it has not
//! seen, it looks for at its end ([`Idle::unhold`]), as a worker does that parks.
//!
//! | meets a held place                     | does                                                                                |
//! |----------------------------------------|--------------------------------------------------------------------------------------|
//! | a publisher                            | passes it over: neither parked nor searching                                         |
//! | `wake_worker`, `unpark_all`            | leave a wish at the seat; the holder wakes the worker when it gives the place back   |
//! | the worker itself, which saw work while it parked, or as a sentinel | hands the work to a parked worker, or calls [`Work::unattended`], and sleeps on |
//! | the R rule                             | counts a holder that sleeps as restricted, and may end its wait                       |
//!
//! A wish may come to a seat too late, and stay. Then the next holder wakes the worker in vain.

use std::task::Waker;

use terrace_sync::atomic::Ordering;
use terrace_sync::{heavy, ordering, weakened};

use crate::group::Group;
use crate::idle::{Idle, Work};
use crate::word;

/// The place of a worker that sleeps, held by another thread. It goes back by [`Idle::unhold`]; a dropped one keeps its worker asleep,
/// so it panics in debug builds. [`Idle::hold`] has an example.
#[must_use = "a held place must be given back to its Idle"]
#[derive(Debug)]
pub struct Held {
    worker: usize,
}

impl Held {
    /// The number of the worker.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_park::Idle;
    ///
    /// # struct Nothing;
    /// # impl terrace_park::Work for Nothing {
    /// #     fn takeable(&self) -> bool { false }
    /// #     fn has_private_work(&self, _: usize) -> bool { false }
    /// # }
    /// let idle = Idle::new(1);
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         let token = idle.enter(0);
    ///         let token = idle.park(0, token, &Nothing);
    ///         // The worker is awake, and searches.
    ///         idle.leave(0, token, &Nothing);
    ///     });
    ///     while !idle.any_parked() {
    ///         std::thread::yield_now();
    ///     }
    ///     let held = idle.hold(&Nothing).expect("it is parked");
    ///     assert_eq!(held.worker(), 0);
    ///     idle.unhold(held, &Nothing);
    ///     idle.unpark_all();
    /// });
    /// ```
    #[inline]
    #[must_use = "the call only reads a value"]
    pub fn worker(&self) -> usize {
        self.worker
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        debug_assert!(
            std::thread::panicking(),
            "a held place was dropped instead of given back"
        );
    }
}

impl Idle {
    /// Takes the place of a parked worker, if there is one: the worker sleeps on, and counts as running, until the calling thread
    /// gives the place back. Of the first group with a parked worker, the one with the highest number is taken, a sentinel only if no
    /// other is parked there. Workers that park in a poll are passed over.
    ///
    /// Cost: one read-modify-write; a worker that parks in a poll costs an [`unhold`](Self::unhold) besides.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_park::{Doing, Idle, Wake};
    ///
    /// # struct Nothing;
    /// # impl terrace_park::Work for Nothing {
    /// #     fn takeable(&self) -> bool { false }
    /// #     fn has_private_work(&self, _: usize) -> bool { false }
    /// # }
    /// let idle = Idle::new(1);
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         let token = idle.enter(0);
    ///         let token = idle.park(0, token, &Nothing);
    ///         // The worker is awake, and searches.
    ///         idle.leave(0, token, &Nothing);
    ///     });
    ///     while !idle.any_parked() {
    ///         std::thread::yield_now();
    ///     }
    ///     let held = idle.hold(&Nothing).expect("it is parked");
    ///     assert_eq!(idle.doing(0), Doing::Held);
    ///     // The worker counts as running: it is not woken.
    ///     assert_eq!(idle.publish(), Wake::NoneParked);
    ///     idle.unhold(held, &Nothing);
    ///     assert_eq!(idle.publish(), Wake::Woke(0));
    /// });
    /// ```
    pub fn hold(&self, work: &impl Work) -> Option<Held> {
        self.groups
            .iter()
            .find_map(|group| self.hold_in(group, work))
    }

    fn hold_in(&self, group: &Group, work: &impl Work) -> Option<Held> {
        let sentinels = self.flags.bits_in(group);
        // Ordering: relaxed, the exchange below checks it.
        let mut word = group.load(Ordering::Relaxed);
        let mut refused = 0;
        loop {
            let parked = word.parked() & !refused;
            let bit = word::highest(parked & !sentinels).or_else(|| word::highest(parked))?;
            // Ordering: the Acquire pairs with the Release by which the worker set its bit, or another holder gave the place back.
            // The Release hands nothing over: AcqRel as for every change of the word. Relaxed on failure: the next round decides on
            // that word.
            let order = ordering!("park-hold-relaxed", AcqRel);
            match group.swap(word, word.taken(bit), order, Ordering::Relaxed) {
                Ok(()) => {
                    let worker = group.base + bit as usize;
                    let held = Held { worker };
                    if !group.seat(bit).is_polled() {
                        return Some(held);
                    }
                    self.unhold(held, work);
                    refused |= 1 << bit;
                    word = group.load(Ordering::Relaxed);
                }
                Err(now) => word = now,
            }
        }
    }

    /// Gives a held place back: its worker is parked again. If another thread wanted that worker awake, it wakes now. If work
    /// is visible and no worker of the group searches, a parked worker wakes.
    ///
    /// Cost: one read-modify-write, one heavy fence, one scan.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_park::Idle;
    ///
    /// # struct Nothing;
    /// # impl terrace_park::Work for Nothing {
    /// #     fn takeable(&self) -> bool { false }
    /// #     fn has_private_work(&self, _: usize) -> bool { false }
    /// # }
    /// let idle = Idle::new(1);
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         let token = idle.enter(0);
    ///         let token = idle.park(0, token, &Nothing);
    ///         // The worker is awake, and searches.
    ///         idle.leave(0, token, &Nothing);
    ///     });
    ///     while !idle.any_parked() {
    ///         std::thread::yield_now();
    ///     }
    ///     let held = idle.hold(&Nothing).expect("it is parked");
    ///     assert!(!idle.wake_worker(0), "its place is held");
    ///     // Now it wakes.
    ///     idle.unhold(held, &Nothing);
    /// });
    /// ```
    pub fn unhold(&self, held: Held, work: &impl Work) {
        let worker = held.worker;
        std::mem::forget(held);
        let (group, place) = self.groups.place(worker);
        debug_assert!(
            group.load(Ordering::Relaxed).is_held(place.bit),
            "gave back a place that is not held"
        );
        // Ordering: the Release pairs with the Acquire by which another thread takes the place, or the worker wakes; AcqRel as for
        // every change of the word.
        let order = ordering!("park-unhold-relaxed", AcqRel);
        let after = group.clear_restricted(place.bit, order);
        // Fence pair: `light` in publish and wake_worker. Either they see the worker parked, or this thread sees their item or wish.
        unless_weakened!("park-unhold-fence", heavy());
        if !weakened!("park-unhold-wish") && group.seat(place.bit).take_wish() {
            self.wake_worker(worker);
        }
        // As in `park`: a searcher in that word looks later than this.
        if !weakened!("park-unhold-look") && after.searching() == 0 {
            self.publish_visible(work);
        }
    }

    /// The holder is about to sleep, for its own work only, until `waker` is called or its own event comes. True if it must not: every
    /// live worker waits like this, and work is visible. It ends its wait then, and runs exactly one item, or starts a spare. It
    /// looks for its own event after this call, and calls [`end_wait`](Self::end_wait) when it is awake, in either case.
    ///
    /// Cost: one read-modify-write, one heavy fence, one lock.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_park::{Doing, Idle};
    ///
    /// # struct Nothing;
    /// # impl terrace_park::Work for Nothing {
    /// #     fn takeable(&self) -> bool { false }
    /// #     fn has_private_work(&self, _: usize) -> bool { false }
    /// # }
    /// let idle = Idle::new(1);
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         let token = idle.enter(0);
    ///         let token = idle.park(0, token, &Nothing);
    ///         // The worker is awake, and searches.
    ///         idle.leave(0, token, &Nothing);
    ///     });
    ///     while !idle.any_parked() {
    ///         std::thread::yield_now();
    ///     }
    ///     let held = idle.hold(&Nothing).expect("it is parked");
    ///     // No work is visible, so this thread may sleep.
    ///     assert!(!idle.begin_wait(&held, &Nothing, std::task::Waker::noop().clone()));
    ///     assert_eq!(idle.doing(0), Doing::HeldWaiting);
    ///     idle.end_wait(&held);
    ///     idle.unhold(held, &Nothing);
    ///     idle.unpark_all();
    /// });
    /// ```
    pub fn begin_wait(&self, held: &Held, work: &impl Work, waker: Waker) -> bool {
        let (group, place) = self.groups.place(held.worker);
        group.seat(place.bit).put_waker(Some(waker));
        if !weakened!("park-holder-uncounted") {
            group.holder_waits(place.bit, true);
        }
        // Fence pair: `light` in publish, `heavy` in wait_restricted: the last of them to fence sees all others.
        unless_weakened!("park-holder-fence", heavy());
        self.last_resort(work)
    }

    /// The holder is awake: it counts as running again.
    ///
    /// Cost: one read-modify-write, one lock.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_park::{Doing, Idle};
    ///
    /// # struct Nothing;
    /// # impl terrace_park::Work for Nothing {
    /// #     fn takeable(&self) -> bool { false }
    /// #     fn has_private_work(&self, _: usize) -> bool { false }
    /// # }
    /// let idle = Idle::new(1);
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         let token = idle.enter(0);
    ///         let token = idle.park(0, token, &Nothing);
    ///         idle.leave(0, token, &Nothing);
    ///     });
    ///     while !idle.any_parked() {
    ///         std::thread::yield_now();
    ///     }
    ///     let held = idle.hold(&Nothing).expect("it is parked");
    ///     assert!(!idle.begin_wait(&held, &Nothing, std::task::Waker::noop().clone()));
    ///     // Its own event has come, and it runs again.
    ///     idle.end_wait(&held);
    ///     assert_eq!(idle.doing(0), Doing::Held);
    ///     idle.unhold(held, &Nothing);
    ///     idle.unpark_all();
    /// });
    /// ```
    pub fn end_wait(&self, held: &Held) {
        let (group, place) = self.groups.place(held.worker);
        group.holder_waits(place.bit, false);
        group.seat(place.bit).put_waker(None);
    }
}
