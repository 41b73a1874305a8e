//! Where a thread's runnables wait: its own queue, the inbox for other threads, and who is to be woken.
//!
//! Generic over the runnable `R`, so that loom runs it with tokens.
//!
//! | who                | does                                                                          |
//! |--------------------|-------------------------------------------------------------------------------|
//! | owner pushes       | run queue; wakes a sleeping driver if there is one                             |
//! | another pushes     | in-flight + 1; inbox; `light()`; looks at the sleepers; in-flight - 1; wakes    |
//! | driver sleeps      | takes its seat, asleep + 1, `heavy()`, takes from both queues if there is something  |
//! | owner closes       | closed; `heavy()`; drains until nothing is queued, in flight or registered     |
//! | another spawns     | in-flight + 1; `light()`; closed: in-flight - 1, gives the task back; else as a push |
//!
//! Another thread may be an interrupt: it takes no lock, waits for nobody, and allocates and frees nothing.
//!
//! A push does not touch the mailbox after it has counted itself out, unless somebody has to be woken, for which it took a
//! counted reference before. `close` waits for the count, so that the mailbox may be freed then, and tasks need no counted
//! reference to it. The wake, whose code is the user's, is outside: a close does not wait for it.

use alloc::boxed::Box;
use core::cell::Cell;
use core::ptr::NonNull;
use core::task::Waker;

use terrace_queue::{Boxed, Inbox, Links, Node, RunQueue};
use terrace_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use terrace_sync::thread::yield_now;
use terrace_sync::{const_fn, heavy, light};

use crate::sleepers::{SeatRef, Sleepers};

/// What a mailbox holds: it has room for the link of the inbox.
pub trait Queueable: Sized {
    /// Finds that link.
    type Links: Links<Item = Self>;

    /// Called for each item that comes out of the inbox; `None` if it needs no turn. Runs no code of users.
    ///
    /// # Safety
    /// This is the owner's thread.
    #[inline]
    unsafe fn arrive(self) -> Option<Self> {
        Some(self)
    }
}

/// Tokens of models and tests.
impl<T> Queueable for Box<Node<T>> {
    type Links = Boxed<T>;
}

/// The queues of one thread's executor.
pub struct Mailbox<R: Queueable> {
    /// Owner only.
    queue: RunQueue<R>,
    inbox: Inbox<R::Links>,
    /// Foreign pushes that have begun and not ended.
    in_flight: AtomicUsize,
    /// Items that are to come from elsewhere for tasks that have ended already. Owner only.
    awaited: Cell<usize>,
    /// Raised once, when nothing new is taken in any more.
    closed: AtomicBool,
    /// Drivers, as far as they have slept yet.
    sleepers: Sleepers,
}

// SAFETY: the run queue and `awaited` are touched only by the owner's thread, which the unsafe methods require; runnables that
// other threads push are moved (`R: Send`).
unsafe impl<R: Queueable + Send> Send for Mailbox<R> {}
// SAFETY: as above.
unsafe impl<R: Queueable + Send> Sync for Mailbox<R> {}

impl<R: Queueable> Mailbox<R> {
    const_fn! {
        /// Empty and open.
        #[must_use]
        pub const fn new() -> Self {
            Self {
                queue: RunQueue::new(),
                inbox: Inbox::new(),
                in_flight: AtomicUsize::new(0),
                awaited: Cell::new(0),
                closed: AtomicBool::new(false),
                sleepers: Sleepers::new(),
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
        // Drivers sleep and wake on this very thread.
        if self.sleepers.any() {
            self.wake_driver();
        }
    }

    /// Queues a runnable from the owner's thread, for a batch: [`wake_driver`](Self::wake_driver) follows.
    ///
    /// # Safety
    /// The caller is on the owner's thread.
    #[inline]
    pub unsafe fn push_quietly(&self, runnable: R) {
        self.queue.push_back(runnable);
    }

    /// Queues a runnable from any other thread, or from an interrupt. The caller keeps the mailbox alive, and wakes the
    /// owner's thread where it sleeps otherwise than as a driver.
    pub fn push_foreign(&self, runnable: R) {
        // SAFETY: a borrowed mailbox is in place.
        unsafe { Self::push_and_leave(NonNull::from(self), runnable, || ()) };
        if self.has_sleeper() {
            self.wake_driver();
        }
    }

    /// As `push_foreign`, where nothing but the runnable keeps the mailbox in place: it may be freed as soon as a
    /// [`drain`](Self::drain) has seen this push leave, which it does after `last`. There the caller sees whether a
    /// driver sleeps, and what it needs to wake it. `last` runs no code of users.
    ///
    /// # Safety
    /// The mailbox is in place at the call, and stays until a `drain` that took the runnable, or began later, returns
    /// false.
    pub unsafe fn push_and_leave<K>(
        this: NonNull<Self>,
        runnable: R,
        last: impl FnOnce() -> K,
    ) -> K {
        // SAFETY: in place at the call.
        let in_flight = unsafe { &raw const (*this.as_ptr()).in_flight };
        let kept = {
            // SAFETY: in place until the count goes down again.
            let this = unsafe { this.as_ref() };
            // Ordering: AcqRel, pairs with the Acquire load in `drain`: a drain that sees this push ended sees the
            // item, and one that sees it begun goes on.
            this.in_flight.fetch_add(1, Ordering::AcqRel);
            this.inbox.push(runnable);
            if cfg!(terrace_weaken = "local-leave-early") {
                // SAFETY: counted in above.
                unsafe { Self::leave_flight(in_flight) };
                return last();
            }
            Self::push_fence();
            last()
        };
        // SAFETY: in place up to this, the last use.
        unsafe { Self::leave_flight(in_flight) };
        kept
    }

    /// Counts a push out. Through a pointer: the mailbox may be freed before this returns.
    ///
    /// # Safety
    /// The counter is in place at the call.
    unsafe fn leave_flight(in_flight: *const AtomicUsize) {
        // Ordering: Release, pairs with the Acquire load in `drain`: what was done before is seen there.
        let release = if cfg!(terrace_weaken = "local-in-flight-release") {
            Ordering::Relaxed
        } else {
            Ordering::Release
        };
        // SAFETY: forwarded to the caller.
        unsafe { &*in_flight }.fetch_sub(1, release);
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
            // SAFETY: a borrowed mailbox is in place.
            unsafe { Self::leave_flight(&raw const self.in_flight) };
            return Err(runnable);
        }
        self.inbox.push(runnable);
        Self::push_fence();
        // SAFETY: as above.
        unsafe { Self::leave_flight(&raw const self.in_flight) };
        if self.has_sleeper() {
            self.wake_driver();
        }
        Ok(())
    }

    /// After a push from elsewhere, before a look at the sleepers.
    fn push_fence() {
        // Pairs with the fence in `sleep`, and in the sleep of whoever waits on this thread.
        if !cfg!(terrace_weaken = "local-push-fence") {
            light();
        }
    }

    /// The next runnable, first come first served; foreign ones join the queue at each call.
    ///
    /// # Safety
    /// The caller is on the owner's thread.
    #[inline]
    pub unsafe fn pop(&self) -> Option<R> {
        // SAFETY: forwarded to the caller.
        unsafe { self.admit() };
        self.queue.pop_front()
    }

    /// Lets what is in the inbox join the run queue. True if there was anything, also if it needs no turn.
    ///
    /// # Safety
    /// The caller is on the owner's thread.
    #[inline]
    pub unsafe fn admit(&self) -> bool {
        if self.inbox.is_empty() {
            return false;
        }
        for runnable in self.inbox.take() {
            // SAFETY: forwarded to the caller.
            if let Some(runnable) = unsafe { runnable.arrive() } {
                self.queue.push_back(runnable);
            }
        }
        true
    }

    /// A task has ended while an item of it is under way from elsewhere, or in the inbox: what drains this waits for it.
    ///
    /// # Safety
    /// The caller is on the owner's thread.
    #[cold]
    pub unsafe fn await_item(&self) {
        if !cfg!(terrace_weaken = "local-task-await-item") {
            self.awaited.set(self.awaited.get() + 1);
        }
    }

    /// It has arrived.
    ///
    /// # Safety
    /// As for [`await_item`](Self::await_item), which was called for it.
    #[cold]
    pub unsafe fn item_arrived(&self) {
        if !cfg!(terrace_weaken = "local-task-await-item") {
            self.awaited.set(self.awaited.get() - 1);
        }
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

    /// A driver goes to sleep, in the seat it has if that will do: returns its seat, or a runnable if there is one after
    /// all, when it is awake. No user code runs between the announcement and the last look.
    ///
    /// # Safety
    /// The caller is on the owner's thread; the seat is one of this mailbox's.
    pub(crate) unsafe fn sleep(&self, seat: &mut Option<SeatRef>, waker: &Waker) -> Option<R> {
        // SAFETY: forwarded to the caller.
        let taken = unsafe { self.sleepers.sleep(seat, waker) };
        if !cfg!(terrace_weaken = "local-sleep-fence") {
            // Pairs with the fence in `push_fence`: the pusher sees this driver asleep, or its item is found here.
            heavy();
        }
        if cfg!(terrace_weaken = "local-sleep-look") {
            return None;
        }
        // SAFETY: forwarded to the caller.
        let found = unsafe { self.pop() };
        if found.is_some() {
            // SAFETY: forwarded to the caller.
            unsafe { self.end_sleep(taken) };
        }
        found
    }

    /// A driver is awake. False if it had been woken, so that one that does not go on to look at the queues must wake
    /// the next.
    ///
    /// # Safety
    /// As for `sleep`.
    pub(crate) unsafe fn end_sleep(&self, seat: SeatRef) -> bool {
        // SAFETY: forwarded to the caller.
        unsafe { self.sleepers.wake_up(seat) }
    }

    /// A driver is gone, and was awake.
    ///
    /// # Safety
    /// As for `sleep`; the seat is not used afterwards.
    pub(crate) unsafe fn leave(&self, seat: SeatRef) {
        // SAFETY: forwarded to the caller.
        unsafe { self.sleepers.leave(seat) };
    }

    /// Whether a driver sleeps; on the owner's thread, or after a fence.
    #[inline]
    pub fn has_sleeper(&self) -> bool {
        self.sleepers.any()
    }

    /// The number of runnables in the owner's own queue.
    ///
    /// # Safety
    /// The caller is on the owner's thread.
    pub unsafe fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Wakes the driver with the oldest seat of those that sleep.
    pub fn wake_driver(&self) {
        self.sleepers.wake_one();
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

    /// Hands everything that is queued to `each`. True if anything was there or came, if a push is
    /// still in flight, or an item awaited; in the last two cases, if nothing was there, it gives the pusher time to end.
    ///
    /// # Safety
    /// The caller is on the owner's thread.
    pub unsafe fn drain(&self, mut each: impl FnMut(R)) -> bool {
        let acquire = if cfg!(terrace_weaken = "local-in-flight-acquire") {
            Ordering::Relaxed
        } else {
            Ordering::Acquire
        };
        // Ordering: Acquire, pairs with the Release in `leave_flight`. Read before the queues: a push that ended
        // before is found there.
        let in_flight = self.in_flight.load(acquire) != 0;
        let mut found = false;
        loop {
            // SAFETY: forwarded to the caller. What arrived and needed no turn was found, too: its pusher may not have left yet.
            found |= unsafe { self.admit() };
            // The runnable is out of the queue before `each` runs.
            let Some(runnable) = self.queue.pop_front() else {
                break;
            };
            found = true;
            each(runnable);
        }
        let awaited = self.awaited.get() != 0;
        if !found && (in_flight || awaited) {
            yield_now();
        }
        found || awaited || in_flight && !cfg!(terrace_weaken = "local-drain-in-flight")
    }
}

impl<R: Queueable> Default for Mailbox<R> {
    fn default() -> Self {
        Self::new()
    }
}
