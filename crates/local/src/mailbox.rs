//! Where a thread's runnables wait: its own queue, the inbox for other threads, and who is to be woken.
//!
//! Generic over the runnable `R`, so that loom runs it with tokens.
//!
//! | who                | does                                                                          |
//! |--------------------|-------------------------------------------------------------------------------|
//! | owner pushes       | run queue; wakes a sleeping driver if there is one                             |
//! | another pushes     | in-flight + 1; inbox; in-flight - 1 (its last touch of the queues); `light()`; wakes |
//! | driver sleeps      | registers, asleep + 1, `heavy()`, takes from both queues if there is something  |
//! | owner closes       | closed; `heavy()`; drains until nothing is queued, in flight or registered     |
//! | another spawns     | in-flight + 1; `light()`; closed: in-flight - 1, gives the task back; else as a push |

use alloc::collections::VecDeque;
use core::panic::AssertUnwindSafe;
use core::task::Waker;

use terrace_queue::{Inbox, RunQueue};
use terrace_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use terrace_sync::thread::yield_now;
use terrace_sync::{Mutex, const_fn, heavy, light};

use crate::unwind::catch_unwind;

/// The queues of one thread's executor.
pub struct Mailbox<R> {
    /// Owner only.
    queue: RunQueue<R>,
    inbox: Inbox<R>,
    /// Foreign pushes that have begun and not ended.
    in_flight: AtomicUsize,
    /// Raised once, when nothing new is taken in any more.
    closed: AtomicBool,
    /// Drivers in `drivers`.
    asleep: AtomicUsize,
    /// Wakers of sleeping drivers, oldest first, with their keys. Wakers are woken and dropped outside.
    drivers: Mutex<Drivers>,
}

/// What became of a driver's attempt to sleep.
#[must_use = "a runnable that is found must be run"]
pub enum Sleep<R> {
    /// It sleeps under this key, until a push takes its waker.
    Asleep(u64),
    /// It is awake: something turned up.
    Found(R),
}

struct Drivers {
    next_key: u64,
    sleeping: VecDeque<(u64, Waker)>,
}

// SAFETY: the run queue is touched only by the owner's thread, which the unsafe methods require; runnables that
// other threads push are moved (`R: Send`).
unsafe impl<R: Send> Send for Mailbox<R> {}
// SAFETY: as above.
unsafe impl<R: Send> Sync for Mailbox<R> {}

impl<R> Mailbox<R> {
    const_fn! {
        /// Empty and open.
        #[must_use]
        pub const fn new() -> Self {
            let drivers = Drivers {
                next_key: 0,
                sleeping: VecDeque::new(),
            };
            Self {
                queue: RunQueue::new(),
                inbox: Inbox::new(),
                in_flight: AtomicUsize::new(0),
                closed: AtomicBool::new(false),
                asleep: AtomicUsize::new(0),
                drivers: Mutex::new(drivers),
            }
        }
    }

    /// Queues a runnable from the owner's thread.
    ///
    /// # Safety
    /// The caller is on the owner's thread.
    #[inline]
    pub unsafe fn push_owner(&self, runnable: R) {
        self.queue.push_back(runnable);
        // Ordering: Relaxed; drivers sleep and wake on this very thread, or have fenced.
        if self.asleep.load(Ordering::Relaxed) != 0 {
            self.wake_driver();
        }
    }

    /// Queues a runnable from any other thread. The caller keeps the mailbox alive, and wakes the owner's thread
    /// where it sleeps otherwise than as a driver.
    pub fn push_foreign(&self, runnable: R) {
        // Ordering: AcqRel, pairs with the Acquire load in `drain`: a drain that sees this push ended sees the
        // item, and one that sees it begun goes on.
        self.in_flight.fetch_add(1, Ordering::AcqRel);
        self.inbox.push(runnable);
        self.finish_push();
    }

    /// As `push_foreign` for a task that is new; gives it back if the mailbox is closed.
    ///
    /// # Errors
    /// The runnable, which will not run.
    pub fn spawn_foreign(&self, runnable: R) -> Result<(), R> {
        self.in_flight.fetch_add(1, Ordering::AcqRel);
        if !cfg!(terrace_weaken = "local-spawn-fence") {
            light();
        }
        // Ordering: Relaxed; the fence pairs with the one in `close`: either this sees the flag, or the close
        // sees the count and waits for the item.
        if self.closed.load(Ordering::Relaxed) {
            // Ordering: Release, ends what `drain` waits for.
            self.in_flight.fetch_sub(1, Ordering::Release);
            return Err(runnable);
        }
        self.inbox.push(runnable);
        self.finish_push();
        Ok(())
    }

    fn finish_push(&self) {
        // Ordering: Release, pairs with the Acquire load in `drain`: what was pushed is seen there.
        let release = if cfg!(terrace_weaken = "local-in-flight-release") {
            Ordering::Relaxed
        } else {
            Ordering::Release
        };
        self.in_flight.fetch_sub(1, release);
        // Pairs with the fence in `sleep`, and in the sleep of whoever waits on this thread.
        if !cfg!(terrace_weaken = "local-push-fence") {
            light();
        }
        // Ordering: Relaxed, after the fence.
        if self.asleep.load(Ordering::Relaxed) != 0 {
            self.wake_driver();
        }
    }

    /// The next runnable, first come first served; foreign ones join the queue one a call.
    ///
    /// # Safety
    /// The caller is on the owner's thread.
    #[inline]
    pub unsafe fn pop(&self) -> Option<R> {
        if !self.inbox.is_empty() {
            if let Some(runnable) = self.inbox.pop() {
                self.queue.push_back(runnable);
            }
        }
        self.queue.pop_front()
    }

    /// Whether nothing is queued; valid after a fence.
    ///
    /// # Safety
    /// The caller is on the owner's thread.
    #[inline]
    pub unsafe fn is_empty(&self) -> bool {
        self.queue.is_empty()
            && (cfg!(terrace_weaken = "local-is-empty-inbox") || self.inbox.is_empty())
    }

    /// A driver goes to sleep: keeps its waker and returns its key, or takes a runnable if there is one after all. No
    /// user code runs between the announcement and the last look.
    ///
    /// The last look takes, since [`is_empty`](Self::is_empty) is a hint that is raised before the item can be taken: a
    /// driver that neither gets an item nor sleeps would have nobody to wake it.
    ///
    /// # Safety
    /// The caller is on the owner's thread.
    pub unsafe fn sleep(&self, waker: Waker) -> Sleep<R> {
        let key = {
            let mut drivers = self.drivers.lock();
            let key = drivers.next_key;
            drivers.next_key += 1;
            drivers.sleeping.push_back((key, waker));
            // Ordering: Relaxed, ordered by the fence below.
            self.asleep.fetch_add(1, Ordering::Relaxed);
            key
        };
        if !cfg!(terrace_weaken = "local-sleep-fence") {
            // Pairs with the fence in `finish_push`: the pusher sees this driver asleep, or its item is found here.
            heavy();
        }
        if cfg!(terrace_weaken = "local-sleep-look") {
            return Sleep::Asleep(key);
        }
        if cfg!(terrace_weaken = "local-sleep-look-at-hint") {
            // SAFETY: forwarded to the caller.
            if unsafe { self.is_empty() } {
                return Sleep::Asleep(key);
            }
            self.end_sleep(key);
            // SAFETY: forwarded to the caller.
            return match unsafe { self.pop() } {
                Some(runnable) => Sleep::Found(runnable),
                None => Sleep::Asleep(key),
            };
        }
        // SAFETY: forwarded to the caller.
        match unsafe { self.pop() } {
            Some(runnable) => {
                self.end_sleep(key);
                Sleep::Found(runnable)
            }
            None => Sleep::Asleep(key),
        }
    }

    /// A driver is awake or gone: forgets its waker. False if it had been woken, so that one that does not go on
    /// to look at the queues must wake the next.
    pub fn end_sleep(&self, key: u64) -> bool {
        let waker = {
            let mut drivers = self.drivers.lock();
            let position = drivers.sleeping.iter().position(|(other, _)| *other == key);
            let waker = position.and_then(|position| drivers.sleeping.remove(position));
            if waker.is_some() {
                // Ordering: Relaxed, under the lock; readers that see the old value look in vain.
                self.asleep.fetch_sub(1, Ordering::Relaxed);
            }
            waker
        };
        waker.is_some()
    }

    /// Wakes the driver that has slept longest.
    pub fn wake_driver(&self) {
        let waker = {
            let mut drivers = self.drivers.lock();
            let waker = drivers.sleeping.pop_front();
            if waker.is_some() {
                // Ordering: Relaxed, as in `end_sleep`.
                self.asleep.fetch_sub(1, Ordering::Relaxed);
            }
            waker
        };
        if let Some((_, waker)) = waker {
            // A panic in it must not unwind into whoever woke a task, nor out of a driver's destructor.
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
                crate::drop_payload(payload);
            }
        }
    }

    /// Takes in nothing new from now on; `drain` gets the rest.
    pub fn close(&self) {
        // Ordering: Relaxed, ordered by the fence, see `spawn_foreign`.
        self.closed.store(true, Ordering::Relaxed);
        if !cfg!(terrace_weaken = "local-close-fence") {
            heavy();
        }
    }

    /// Whether it was closed; exact on the owner's thread.
    #[inline]
    #[must_use]
    pub fn is_closed(&self) -> bool {
        // Ordering: Relaxed, the owner closes.
        self.closed.load(Ordering::Relaxed)
    }

    /// Hands everything that is queued to `each`. True if there was anything, or if a push is still in flight: in that
    /// case it gives the pusher time to end.
    ///
    /// # Safety
    /// The caller is on the owner's thread.
    pub unsafe fn drain(&self, mut each: impl FnMut(R)) -> bool {
        let acquire = if cfg!(terrace_weaken = "local-in-flight-acquire") {
            Ordering::Relaxed
        } else {
            Ordering::Acquire
        };
        // Ordering: Acquire, pairs with the Release in `finish_push`. Read before the queues: a push that ended
        // before is found there.
        let in_flight = self.in_flight.load(acquire) != 0;
        let mut found = false;
        // SAFETY: forwarded to the caller. The runnable is out of the queue before `each` runs.
        while let Some(runnable) = unsafe { self.pop() } {
            found = true;
            each(runnable);
        }
        if !found && in_flight {
            yield_now();
        }
        found || in_flight && !cfg!(terrace_weaken = "local-drain-in-flight")
    }
}

impl<R> Default for Mailbox<R> {
    fn default() -> Self {
        Self::new()
    }
}
