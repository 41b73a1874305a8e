//! All async drivers of one `Idle`: futures that run a core's work while they are polled, and sleep as wakers.
//!
//! A driver can be left unpolled or forgotten at any time, so it never owns a token and is never counted live.
//!
//! | state    | in the list     | leaves it by                                                                  |
//! |----------|-----------------|-------------------------------------------------------------------------------|
//! | awake    | no              | `Driver::sleep` → asleep; drop → gone                                          |
//! | asleep   | with its waker  | a publisher → notified; `Driver::wake` → awake; drop → gone                    |
//! | notified | no              | `Driver::wake` → awake, and is told so; drop → gone, and publishes             |
//!
//! While one driver is notified publishers notify few others: `call.rs`. Of the drivers asleep, the one that fell asleep last is notified.
//! Where waits are nested on one thread, it is the innermost one, and no other can be polled.
//!
//! The list changes under its lock, and with it the number of drivers asleep. Publishers look at that number without the lock.

use std::task::Waker;

use terrace_sync::atomic::{AtomicUsize, Ordering};
use terrace_sync::{CachePadded, Mutex, OnceLock, weakened};

use crate::call::{Call, Counted, Searching};
use crate::contain::{contain, discard};
use crate::outcome::Wake;

/// All drivers of one `Idle`.
pub(crate) struct Drivers {
    /// Whether `W` is set in every group's word.
    pub(crate) announced: OnceLock<()>,
    /// How many there are.
    all: AtomicUsize,
    /// How many are asleep.
    asleep: CachePadded<AtomicUsize>,
    call: CachePadded<Call>,
    list: Mutex<List>,
}

/// The drivers asleep.
#[derive(Default)]
struct List {
    /// How often drivers have fallen asleep.
    sleeps: u64,
    /// The number of each one's sleep, in their order, and its waker. No user code runs under the lock: wakers are moved in and out. It has
    /// room for all drivers, so a sleep does not allocate.
    asleep: Vec<(u64, Waker)>,
}

impl Drivers {
    pub(crate) fn new() -> Self {
        Self {
            announced: OnceLock::new(),
            all: AtomicUsize::new(0),
            asleep: CachePadded::new(AtomicUsize::new(0)),
            call: CachePadded::new(Call::new()),
            list: Mutex::default(),
        }
    }

    /// A new driver, awake.
    pub(crate) fn enter(&self) {
        // Ordering: Relaxed. Of the drivers in the list, the last one to be counted here makes room for all of them before it sleeps: a
        // driver leaves the list under the lock before it counts itself out, and this one takes the lock afterwards.
        let all = self.all.fetch_add(1, Ordering::Relaxed) + 1;
        let asleep = &mut self.list.lock().asleep;
        asleep.reserve(all.saturating_sub(asleep.len()));
    }

    /// A driver goes. It is awake.
    pub(crate) fn leave(&self) {
        // Ordering: Relaxed, as in `enter`.
        self.all.fetch_sub(1, Ordering::Relaxed);
    }

    /// Puts a driver to sleep: the number of this sleep.
    pub(crate) fn put_to_sleep(&self, waker: Waker) -> u64 {
        self.change(|list| {
            list.sleeps += 1;
            list.asleep.push((list.sleeps, waker));
            list.sleeps
        })
    }

    /// Ends a sleep: the driver's waker, unless a publisher has called it.
    pub(crate) fn get_up(&self, sleep: u64) -> Option<Waker> {
        self.change(|list| {
            let at = list.asleep.binary_search_by_key(&sleep, |entry| entry.0);
            at.ok().map(|at| list.asleep.remove(at).1)
        })
    }

    /// The waker of the driver that fell asleep last.
    fn claim_last(&self) -> Option<Waker> {
        self.change(|list| list.asleep.pop()).map(|entry| entry.1)
    }

    fn change<T>(&self, change: impl FnOnce(&mut List) -> T) -> T {
        let mut list = self.list.lock();
        let value = change(&mut list);
        // Ordering: Relaxed, it changes under the lock; publishers and sleepers meet by fences.
        self.asleep.store(list.asleep.len(), Ordering::Relaxed);
        value
    }

    /// Whether any driver is asleep. Exact after a fence.
    #[inline]
    pub(crate) fn any_asleep(&self) -> bool {
        // Ordering: Relaxed, after the caller's fence.
        self.asleep.load(Ordering::Relaxed) != 0
    }

    /// A search of one driver, unless half of all drivers search. Publishers rely on it until it is dropped.
    pub(crate) fn try_search(&self) -> Option<Searching<'_>> {
        let all = u32::try_from(self.count().0).unwrap_or(u32::MAX);
        self.call.try_search(all / 2)
    }

    /// A driver that was notified calls this before it looks.
    pub(crate) fn answer(&self) {
        self.call.answer();
    }

    /// The number of drivers, and of those asleep: a hint.
    pub(crate) fn count(&self) -> (usize, usize) {
        // Ordering: Relaxed, hints.
        let number = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        (number(&self.all), number(&self.asleep))
    }

    /// Makes a driver look. The publisher has fenced. It wakes a sleeping driver, unless an earlier one has not
    /// answered yet and this publish is not one that wakes another.
    #[inline]
    pub(crate) fn notify(&self) -> Wake {
        if weakened!("park-driver-notify") {
            return Wake::NoneParked;
        }
        loop {
            if !self.any_asleep() {
                return Wake::NoneParked;
            }
            let counted = self.call.count();
            if let Counted::Rely = counted {
                return Wake::Covered;
            }
            while let Some(waker) = self.claim_last() {
                // A waker's panic does not reach the publisher, which goes on with another driver.
                if contain(|| waker.wake()) {
                    return Wake::Driver;
                }
            }
            // The drivers seen asleep have got up by themselves. But other publishers may rely on this notification.
            let has_others = matches!(counted, Counted::NotifyFirst) && self.call.withdraw();
            if !has_others {
                return Wake::NoneParked;
            }
        }
    }
}

impl Drop for Drivers {
    fn drop(&mut self) {
        // Wakers of drivers that were forgotten.
        while let Some(waker) = self.claim_last() {
            discard(Some(waker));
        }
    }
}
