//! [`Mailbox`]: where the runnables of one thread wait, and how a push wakes the thread. [`Driver`]: one `run` or `tick` in progress,
//! between its polls.
//!
//! A mailbox has two queues. The *run queue* belongs to the owner's thread. Other threads push to the *inbox*.
//! It is generic over the runnable `R`, so that loom runs it with tokens.
//!
//! | step                    | what happens                                                                    |
//! |-------------------------|---------------------------------------------------------------------------------|
//! | the owner pushes        | run queue; wakes a sleeping driver if there is one                              |
//! | another thread pushes   | in-flight + 1; inbox; `light()`; looks for a sleeping driver; in-flight - 1; wakes it |
//! | a driver sleeps         | joins the wait list, asleep + 1; `heavy()`; looks at both queues once more      |
//! | the owner closes        | closed; `heavy()`; drains until nothing is queued, in flight or registered      |
//! | another thread spawns   | in-flight + 1; `light()`; if closed: in-flight - 1, gives the task back; else as a push |
//!
//! The other thread may be an interrupt. So a push takes no lock, waits for no thread, and allocates and frees nothing.
//!
//! A push does not touch the mailbox after it has counted itself out. If it has to wake a driver, it takes a counted reference
//! before. `drain` waits for the count, and its caller may free the mailbox then: tasks need no counted reference to it. The
//! wake runs users' code, so it comes after the count, and a close does not wait for it.

use alloc::boxed::Box;
use core::cell::Cell;
use core::ptr::NonNull;
use core::task::Waker;

use terrace_queue::{Boxed, Inbox, Links, Node, RunQueue};
use terrace_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use terrace_sync::thread::yield_now;
use terrace_sync::{heavy, light, ordering, weakened};

use crate::on_owner::OnOwner;
use crate::wait_list::{WaitList, Waiter};

/// What becomes of a runnable that came out of the inbox.
#[derive(Debug)]
#[must_use = "what arrived has to be queued"]
pub enum Arrived<R> {
    /// It joins the run queue.
    Queue(R),
    /// It is used up: its task needs no turn.
    UsedUp,
    /// It is used up. Its task had ended before, and [`OnOwner::await_item`] announced it then.
    Awaited,
}

/// What a mailbox holds: it has room for the link of the inbox.
pub trait Queueable: Sized {
    /// Finds that link.
    type Links: Links<Item = Self>;

    /// Called for each runnable that comes out of the inbox. Runs no users' code.
    ///
    /// # Safety
    /// The current thread is the owner of the mailbox that the runnable was in, or no other thread knows of the runnable's task.
    #[inline]
    unsafe fn arrive(self) -> Arrived<Self> {
        Arrived::Queue(self)
    }
}

/// Tokens of models and tests.
impl<T> Queueable for Box<Node<T>> {
    type Links = Boxed<T>;
}

/// The queues of one thread's executor.
pub struct Mailbox<R: Queueable> {
    /// Invariant: only the owner touches it.
    queue: RunQueue<R>,
    inbox: Inbox<R::Links>,
    /// Remote pushes that have begun and not ended.
    in_flight: AtomicUsize,
    /// Items that remote threads still push for tasks that have ended. Invariant: only the owner touches it.
    awaited: Cell<usize>,
    /// Raised once, when the mailbox takes in nothing new any more.
    closed: AtomicBool,
    /// The drivers that have slept.
    waiters: WaitList,
}

// SAFETY: methods of `OnOwner` alone touch the run queue and `awaited`, on the owner's thread. Other threads move the runnables
// that they push (`R: Send`).
unsafe impl<R: Queueable + Send> Send for Mailbox<R> {}
// SAFETY: a shared mailbox gives other threads the inbox, the atomics and the wait list, which are Sync.
unsafe impl<R: Queueable + Send> Sync for Mailbox<R> {}

impl<R: Queueable> Mailbox<R> {
    /// Queues a runnable from any other thread, or from an interrupt, where nothing but the runnable may keep the mailbox in place. A
    /// thread may free the mailbox as soon as a [`drain`](OnOwner::drain) has seen this push leave, which it does after `last`. There
    /// the caller sees whether a driver sleeps, and takes what it needs to [wake](Self::wake_sleeper) it. `last` runs no users' code.
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
            // SAFETY: in place until the count goes down again, behind this block.
            let this = unsafe { this.as_ref() };
            // Ordering: AcqRel, pairs with the Acquire load in `drain`. A drain that sees this push ended sees the item; one
            // that sees it begun goes on.
            this.in_flight.fetch_add(1, Ordering::AcqRel);
            this.inbox.push(runnable);
            if weakened!("local-leave-early") {
                // SAFETY: counted in above.
                unsafe { Self::leave_flight(in_flight) };
                return last();
            }
            Self::push_fence();
            last()
        };
        // SAFETY: in place until this call, the last use, counts the push out.
        unsafe { Self::leave_flight(in_flight) };
        kept
    }

    /// Counts a push out. It takes a pointer, because a thread may free the mailbox before this returns.
    ///
    /// # Safety
    /// The counter is in place at the call, and the caller has counted itself in.
    unsafe fn leave_flight(in_flight: *const AtomicUsize) {
        // Ordering: Release, pairs with the Acquire load in `drain`: the owner sees there what this thread did before.
        // SAFETY: in place: `drain` returns true until this very decrement.
        unsafe { &*in_flight }.fetch_sub(1, ordering!("local-in-flight-release", Release));
    }

    /// Queues a new task from any other thread, and wakes a driver; gives it back if the mailbox is closed.
    ///
    /// # Errors
    /// The runnable, which will not run.
    pub fn spawn_remote(&self, runnable: R) -> Result<(), R> {
        self.in_flight.fetch_add(1, Ordering::AcqRel);
        if !weakened!("local-spawn-fence") {
            light();
        }
        // Ordering: Relaxed. The fence pairs with the one in `close`: this thread sees the flag, or the close sees the count
        // and waits for the item.
        if self.closed.load(Ordering::Relaxed) {
            // SAFETY: the borrow keeps the mailbox in place, and this thread is counted in.
            unsafe { Self::leave_flight(&raw const self.in_flight) };
            return Err(runnable);
        }
        self.inbox.push(runnable);
        Self::push_fence();
        // SAFETY: the borrow keeps the mailbox in place, and this thread is counted in.
        unsafe { Self::leave_flight(&raw const self.in_flight) };
        self.wake_sleeper();
        Ok(())
    }

    /// Between a remote push and its look for a sleeping driver.
    fn push_fence() {
        // Pairs with the fence in `Driver::sleep`, and in the sleep of a thread that waits by other means.
        if !weakened!("local-push-fence") {
            light();
        }
    }

    /// Whether a driver sleeps; valid on the owner's thread, or after a fence.
    #[inline]
    pub fn has_sleeper(&self) -> bool {
        self.waiters.any()
    }

    /// Wakes the sleeping driver that joined the list last, if there is one; valid as [`has_sleeper`](Self::has_sleeper) is.
    pub fn wake_sleeper(&self) {
        if self.has_sleeper() {
            self.waiters.wake_one();
        }
    }

    /// Takes in nothing new from now on; `drain` gets the rest.
    pub fn close(&self) {
        // Ordering: Relaxed. The fence orders it, see `spawn_remote`.
        self.closed.store(true, Ordering::Relaxed);
        if !weakened!("local-close-fence") {
            heavy();
        }
    }

    /// Whether it was closed; exact on the owner's thread.
    #[inline]
    pub fn is_closed(&self) -> bool {
        // Ordering: Relaxed. The owner closes.
        self.closed.load(Ordering::Relaxed)
    }
}

impl<R: Queueable> OnOwner<'_, Mailbox<R>> {
    /// Queues a runnable. The caller wakes a driver later, by [`wake_sleeper`](Mailbox::wake_sleeper).
    #[inline]
    pub fn push_quietly(self, runnable: R) {
        self.queue.push_back(runnable);
    }

    /// The next runnable, first come first served. Each call moves the inbox to the run queue.
    #[inline]
    #[must_use = "what was popped has to be run"]
    pub fn pop(self) -> Option<R> {
        self.admit();
        self.queue.pop_front()
    }

    /// Moves the inbox to the run queue. True if anything was there, also if it needs no turn.
    #[inline]
    pub fn admit(self) -> bool {
        if self.inbox.is_empty() {
            return false;
        }
        self.take_inbox();
        true
    }

    /// Out of line: on the owner's hot paths the inbox is empty.
    #[inline(never)]
    fn take_inbox(self) {
        for runnable in self.inbox.take() {
            // SAFETY: this is the owner's thread, and the runnable was in this mailbox.
            match unsafe { runnable.arrive() } {
                Arrived::Queue(runnable) => self.queue.push_back(runnable),
                Arrived::UsedUp => {}
                Arrived::Awaited => self.awaited.set(self.awaited.get() - 1),
            }
        }
    }

    /// A task has ended while another thread pushes an item of it, or has pushed one: `drain` waits for the item.
    #[cold]
    pub fn await_item(self) {
        self.awaited.set(self.awaited.get() + 1);
    }

    /// Whether nothing is queued; valid after a fence.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.queue.is_empty() && (weakened!("local-is-empty-inbox") || self.inbox.is_empty())
    }

    /// The number of runnables in the run queue.
    pub fn queued(self) -> usize {
        self.queue.len()
    }

    /// Hands everything that is queued to `each`. True if anything was there or came, if a push is still in flight, or an item
    /// awaited. In the last two cases, if nothing was there, it gives the pusher time to end.
    pub fn drain(self, mut each: impl FnMut(R)) -> bool {
        let acquire = ordering!("local-in-flight-acquire", Acquire);
        // Ordering: Acquire, pairs with the Release in `leave_flight`. This load comes before the look at the queues: it finds
        // there what a push that ended before has left.
        let in_flight = self.in_flight.load(acquire) != 0;
        let mut found = false;
        loop {
            // An item that needed no turn counts as found, too: its pusher may not have left yet.
            found |= self.admit();
            // The runnable is out of the queue before `each` runs.
            let next = self.queue.pop_front();
            let Some(runnable) = next else { break };
            found = true;
            each(runnable);
        }
        let awaited = self.awaited.get() != 0 && !weakened!("local-task-await-item");
        if !found && (in_flight || awaited) {
            yield_now();
        }
        found || awaited || in_flight && !weakened!("local-drain-in-flight")
    }
}

impl<R: Queueable> Default for Mailbox<R> {
    /// Empty and open.
    fn default() -> Self {
        Self {
            queue: RunQueue::new(),
            inbox: Inbox::new(),
            in_flight: AtomicUsize::new(0),
            awaited: Cell::new(0),
            closed: AtomicBool::new(false),
            waiters: WaitList::default(),
        }
    }
}

/// A driver of a mailbox, on the owner's thread. Awake when it is made.
///
/// Its drop, in any state, leaves no work unseen. It passes on to the next driver a wake that it does not follow, and
/// work that it leaves.
pub struct Driver<'a, R: Queueable> {
    mailbox: OnOwner<'a, Mailbox<R>>,
    /// Leaves the list after the destructor below has passed the wake on.
    waiter: Waiter<'a>,
}

impl<'a, R: Queueable> Driver<'a, R> {
    /// A driver of `mailbox`.
    #[inline]
    #[must_use = "a driver runs nothing until it is driven"]
    pub fn new(mailbox: OnOwner<'a, Mailbox<R>>) -> Self {
        // SAFETY: the list belongs to the thread that owns the mailbox.
        let waiter = Waiter::new(unsafe { mailbox.part(|mailbox| &mailbox.waiters) });
        Self { mailbox, waiter }
    }

    /// The driver was polled, so it is awake and looks at the queues before it sleeps again.
    #[inline]
    pub fn wake_up(&mut self) {
        self.waiter.wake_up();
    }

    /// The next runnable. If there is none, the driver sleeps until a push wakes `waker`.
    #[inline]
    pub fn take_or_sleep(&mut self, waker: &Waker) -> Option<R> {
        self.mailbox.pop().or_else(|| self.sleep(waker))
    }

    /// Announces the sleep and looks once more. No users' code runs in between.
    fn sleep(&mut self, waker: &Waker) -> Option<R> {
        let mailbox = self.mailbox;
        let mut found = None;
        self.waiter.sleep_unless(waker, || {
            if !weakened!("local-sleep-look") {
                found = mailbox.pop();
            }
            found.is_some()
        });
        found
    }
}

impl<R: Queueable> Drop for Driver<'_, R> {
    #[inline]
    fn drop(&mut self) {
        self.waiter.wake_up();
        // A thread that woke this driver pushed before, and this look sees what it pushed: see `WaitList::wake_one`.
        let left = !self.mailbox.is_empty();
        if left && !weakened!("local-pass-on") {
            self.mailbox.wake_sleeper();
        }
    }
}
