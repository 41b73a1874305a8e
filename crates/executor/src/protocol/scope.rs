//! The shared state of one fork-join scope: its count of children, its list of runnable children
//! and its waiter.
//!
//! Generic over the runnable `R` and the waiter's handle `N`, so that the loom models run it with
//! tokens. It decides nothing about workers: `parts::pacing`, `parts::scopes` and `terrace-park`
//! do.
//!
//! | state                     | `pending`          | `asleep` | threads that may run children   |
//! |---------------------------|--------------------|----------|---------------------------------|
//! | closed (free slot)        | 0                  | false    | none, the lists are empty       |
//! | body runs, with a child   | 1 + children alive | false    | workers                         |
//! | waiting, driving          | children alive     | false    | the waiter, workers             |
//! | waiting, asleep           | children alive     | true     | workers; a push wakes (below)   |
//! | ended                     | 0                  | any      | none; the waiter returns        |
//!
//! A push to a sleeping waiter wakes it, unless a worker pushes a single child and a sentinel watches: `scope/waiting.rs` decides.
//! In each of these states a panic may have cancelled the children.
//!
//! # Cancelled children
//!
//! Which children of a scope no thread polls any more, because a panic cancelled them.
//!
//! A panic raises the mark, then wakes every child that is registered as pending. A child looks at the mark before each
//! poll, and once more when it has registered, which it does at its first `Pending`:
//!
//! ```text
//! panic:  mark; read the registry under its lock; wake all in it
//! child:  first Pending; into the registry under its lock; mark raised -> ends itself
//! ```
//!
//! The second of the two to take the lock sees what the first did before. So a child is queued and sees the mark at its
//! next poll, or is registered and woken, or ends itself.
//!
//! | the child             | mark is down | mark at or before its number | mark behind its number              |
//! |-----------------------|--------------|------------------------------|-------------------------------------|
//! | was never polled      | is polled    | ends unpolled                | is polled; ends if that is `Pending` |
//! | returned `Pending`    | is polled    | ends unpolled                | ends unpolled                       |
//!
//! The mark is the number of the child that panicked, the lowest of several; that of the body is 0. A child that was
//! spawned before the marked one still has its first poll. It may panic, too, on any thread, and then its panic is the
//! one that counts.

use std::task::Waker;

use terrace_local::Payload;
use terrace_local::registry::{Register, Registry};
use terrace_queue::{Injector, Ring};
use terrace_sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use terrace_sync::cell::UnsafeCell;
use terrace_sync::{Mutex, heavy, light, weakened};

/// In `counts`: one more child that is alive.
const ALIVE: u64 = 1;
/// In `counts`: one more child that was spawned.
const SPAWNED: u64 = 1 << 32;
/// More children than this at once end the process, as an overflow of the count would free what children borrow.
const MOST: u32 = 1 << 31;

/// The `pending` of the table above.
#[inline]
fn pending(counts: u64) -> u32 {
    counts as u32
}

/// One scope. Lives in a slot of the pool's table and is used by one scope after another.
pub struct ScopeCore<R, N> {
    /// Lower half: children that have not ended, plus one while the body runs. Only the body or a living child raises
    /// it, and each holds one of these counts, so zero is final. Upper half: children spawned so far, modulo 2^32: the
    /// next one's number.
    counts: AtomicU64,
    /// Raised by the waiter before it sleeps, lowered by the thread that wakes it for an item.
    asleep: AtomicBool,
    /// Children that the waiter took from the lists, modulo 2^32.
    popped: AtomicU32,
    /// Children that other threads took, modulo 2^32 and roughly.
    stolen: AtomicU32,
    /// The waiter's thread id.
    owner: AtomicU64,
    /// Runnable children pushed by the waiter's own thread; stealable one by one.
    ring: Ring<R>,
    /// Runnable children pushed by any other thread, and the ring's overflow.
    injector: Injector<R>,
    /// `open` writes it while no child exists. Children read it after the push that publishes them.
    waiter: UnsafeCell<Option<N>>,
    /// Which children are not polled any more.
    cancel: Cancel,
    /// The panic of the child with the lowest number, and that number. No user code runs under the lock: payloads are moved
    /// only.
    panic: Mutex<Option<(u32, Payload)>>,
}

// SAFETY: runnables move between threads (`R: Send`). Only `open`, which requires exclusive use,
// writes `waiter`, and children clone it afterwards (`N: Sync`). The thread that closes, reopens or
// drops the slot takes its last value (`N: Send`).
unsafe impl<R: Send, N: Send + Sync> Send for ScopeCore<R, N> {}
// SAFETY: shared use needs the same: threads take each other's runnables (`R: Send`), and clone and
// take the waiter's handle (`N: Send + Sync`).
unsafe impl<R: Send, N: Send + Sync> Sync for ScopeCore<R, N> {}

impl<R: Send, N: Clone> Default for ScopeCore<R, N> {
    /// A closed scope.
    fn default() -> Self {
        Self {
            counts: AtomicU64::new(0),
            asleep: AtomicBool::new(false),
            popped: AtomicU32::new(0),
            stolen: AtomicU32::new(0),
            owner: AtomicU64::new(0),
            ring: Ring::new(),
            injector: Injector::new(),
            waiter: UnsafeCell::new(None),
            cancel: Cancel::new(),
            panic: Mutex::new(None),
        }
    }
}

impl<R: Send, N: Clone> ScopeCore<R, N> {
    /// Opens it for the thread with the id `owner`; the body counts as pending.
    ///
    /// # Safety
    /// The scope is closed and no other thread opens it: the caller got its slot from the table.
    pub unsafe fn open(&self, owner: u64, waiter: N) {
        self.waiter.with_mut(|cell| {
            // SAFETY: the scope is closed, so no child exists that could read the cell, and the
            // caller promises to be the only opener.
            let cell = unsafe { &mut *cell };
            *cell = Some(waiter);
        });
        // Ordering: Relaxed, children learn of these values through the push that publishes them.
        self.owner.store(owner, Ordering::Relaxed);
        self.asleep.store(false, Ordering::Relaxed);
        self.counts.store(ALIVE, Ordering::Relaxed);
        self.cancel.reset();
    }

    /// Whether `thread` is the one that opened the scope.
    #[inline]
    pub fn is_owner(&self, thread: u64) -> bool {
        // Ordering: Relaxed, written before any child existed.
        self.owner.load(Ordering::Relaxed) == thread
    }

    /// The number of the thread that opened the scope, or the last one in this place; a hint.
    pub fn owner(&self) -> u64 {
        // Ordering: Relaxed, a hint.
        self.owner.load(Ordering::Relaxed)
    }

    /// Counts one more child in and returns its number: children are numbered as they are spawned. The caller is the body
    /// or a living child.
    #[inline]
    pub fn add_child(&self) -> u32 {
        // Ordering: Relaxed, as a reference count: the caller's own count keeps it above zero, and
        // the child itself is published by a push.
        let before = self.counts.fetch_add(SPAWNED + ALIVE, Ordering::Relaxed);
        if pending(before) >= MOST {
            too_many();
        }
        (before >> 32) as u32
    }

    /// Which children are not polled any more.
    #[inline]
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Counts a child out, whose future has been dropped. `thread` gives the id of the calling thread. `self` may be reused
    /// or freed as soon as this returns, unless the caller knows better.
    ///
    /// If it was the last one, the caller wakes the scope's waiter through the handle that this returns. `None` while others are
    /// alive, and on the waiter's own thread, which looks at the count next.
    #[inline]
    #[must_use = "the last child wakes the waiter"]
    pub fn child_ended(&self, thread: impl Fn() -> u64) -> Option<N> {
        // Ordering: Relaxed, a first guess for the exchange below.
        let mut counts = self.counts.load(Ordering::Relaxed);
        loop {
            // This thread must clone the handle before the count falls: afterwards the waiter may
            // return, and the slot may belong to another scope. A count of one is this child's own,
            // so no other thread raises it.
            let wakes = pending(counts) == 1 && !self.is_owner(thread());
            // SAFETY: the child holds a count.
            let waiter = wakes.then(|| unsafe { self.waiter() });
            // Ordering: Release, pairs with the Acquire in `has_ended`: the child's writes to
            // borrowed data happen before the scope returns. AcqRel would only order children among
            // themselves. The release sequence of the exchanges carries the writes of all of them.
            let release = if weakened!("scope-end-relaxed") {
                Ordering::Relaxed
            } else {
                Ordering::Release
            };
            match self.counts.compare_exchange_weak(
                counts,
                counts - ALIVE,
                release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return waiter,
                Err(now) => counts = now,
            }
        }
    }

    /// The waiter's handle.
    ///
    /// # Safety
    /// The scope is open and stays so during the call: the caller is the body, the waiter, or
    /// holds a living child.
    pub unsafe fn waiter(&self) -> N {
        self.waiter.with(|cell| {
            // SAFETY: the scope is open (the caller's promise), so no thread writes the cell.
            let cell = unsafe { &*cell };
            cell.clone().expect("an open scope has a waiter")
        })
    }

    /// Counts the body out; called once, by the waiter.
    pub fn body_ended(&self) {
        // Ordering: Relaxed, the waiter itself looks at the count afterwards.
        self.counts.fetch_sub(ALIVE, Ordering::Relaxed);
    }

    /// Gives back the waiter's handle of a scope that has ended: it may refer to the pool that owns the slot.
    ///
    /// # Safety
    /// [`has_ended`](Self::has_ended) was true, and the slot has not been given back yet.
    pub unsafe fn close(&self) -> Option<N> {
        self.waiter.with_mut(|cell| {
            // SAFETY: the caller has seen every child ended, and a child clones the handle only before its end. No
            // thread opens the scope before the caller gives the slot back.
            let cell = unsafe { &mut *cell };
            cell.take()
        })
    }

    /// Children that have not ended, plus one while the body runs; a hint.
    pub fn pending(&self) -> usize {
        // Ordering: Relaxed, a hint.
        pending(self.counts.load(Ordering::Relaxed)) as usize
    }

    /// Whether the body and all children have ended.
    #[inline]
    pub fn has_ended(&self) -> bool {
        // Ordering: Acquire, pairs with the Release in `child_ended`.
        pending(self.counts.load(Ordering::Acquire)) == 0
    }

    /// Puts a runnable child into the list from the waiter's own thread.
    ///
    /// # Safety
    /// The calling thread is the scope's owner.
    #[inline]
    pub unsafe fn push_owner(&self, child: R) {
        // SAFETY: only the waiter's thread calls this and `pop_owner`, one call at a time.
        let owner = unsafe { self.ring.owner() };
        owner.push_or_overflow(child, &self.injector);
    }

    /// Puts a runnable child into the list from any thread. `self` must not be touched afterwards,
    /// unless the caller knows the slot to live on.
    #[inline]
    pub fn push_remote(&self, child: R) {
        self.injector.push(child);
    }

    /// The next child for the waiter, oldest first. Every 61st call takes children of other threads before children of
    /// this one. A prime, so that no period of the program falls in step with it.
    ///
    /// # Safety
    /// The calling thread is the scope's owner.
    #[inline]
    pub unsafe fn pop_owner(&self, tick: u32) -> Option<R> {
        // SAFETY: the caller promises to be on the scope's owner thread. Only that thread calls
        // this and `push_owner`, one call at a time.
        let owner = unsafe { self.ring.owner() };
        let child = if tick % 61 == 0 {
            self.pop_injector().or_else(|| owner.pop())
        } else {
            owner.pop().or_else(|| self.pop_injector())
        };
        if child.is_some() {
            count(&self.popped);
        }
        child
    }

    #[inline]
    fn pop_injector(&self) -> Option<R> {
        if self.injector.is_empty() {
            None
        } else {
            self.injector.pop()
        }
    }

    /// One child for a worker.
    #[inline]
    pub fn steal(&self) -> Option<R> {
        let child = self.ring.steal_one().or_else(|| self.pop_injector());
        if child.is_some() {
            count(&self.stolen);
        }
        child
    }

    /// Children taken so far, modulo 2^32 and roughly: the sentinel's measure of progress.
    pub fn taken(&self) -> u32 {
        // Ordering: Relaxed, a hint.
        self.popped()
            .wrapping_add(self.stolen.load(Ordering::Relaxed))
    }

    /// Children that the waiter has taken so far, modulo 2^32.
    fn popped(&self) -> u32 {
        // Ordering: Relaxed, a hint.
        self.popped.load(Ordering::Relaxed)
    }

    /// Children spawned so far, modulo 2^32; a hint.
    fn spawned(&self) -> u32 {
        // Ordering: Relaxed, a hint.
        (self.counts.load(Ordering::Relaxed) >> 32) as u32
    }

    /// A number that changes whenever a child is spawned, and whenever the waiter takes one. While it stays the same, the
    /// scope's thread is in the middle of something.
    pub fn progress(&self) -> u32 {
        // Ordering: Relaxed, a hint.
        self.popped().wrapping_add(self.spawned())
    }

    /// How many children lie in the list; a hint, exact when no other thread acts.
    #[inline]
    pub fn len(&self) -> usize {
        self.ring.len() + self.injector.len_hint()
    }

    /// Whether the list that workers may take from is empty; valid after a fence as `terrace-park`
    /// requires it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty() && self.injector.is_empty()
    }

    /// Whether the waiter has anything to run, or its scope has ended.
    #[inline]
    pub fn waiter_has_work(&self) -> bool {
        self.has_ended() || !self.is_empty()
    }

    /// The waiter announces that it will sleep. It must look at everything once more afterwards.
    pub fn announce_sleep(&self) {
        // Ordering: Relaxed, ordered by `heavy()` behind it, which pairs with `light()` in
        // `after_push`. Either the pusher's load in `is_asleep` sees the flag, or the waiter's
        // second look sees the push.
        self.asleep.swap(true, Ordering::Relaxed);
        if !weakened!("scope-sleep-fence") {
            heavy();
        }
    }

    /// The waiter is awake again.
    pub fn end_sleep(&self) {
        // Ordering: Relaxed, see `announce_sleep`; a pusher that still sees the flag wakes in vain.
        self.asleep.store(false, Ordering::Relaxed);
    }

    /// Whether the waiter sleeps; valid after the pusher's fence.
    #[inline]
    pub fn is_asleep(&self) -> bool {
        // Ordering: Relaxed, ordered by the caller's fence, see `announce_sleep`.
        self.asleep.load(Ordering::Relaxed)
    }

    /// Claims the duty to wake the waiter for an item: true for only one caller per sleep.
    #[inline]
    pub fn claim_wake(&self) -> bool {
        // Ordering: Relaxed, see `announce_sleep`.
        self.is_asleep() && self.asleep.swap(false, Ordering::Relaxed)
    }

    /// The pusher's half of the handshake with `announce_sleep`: between its push and its look at
    /// the waiter.
    #[inline]
    pub fn after_push() {
        if !weakened!("scope-push-fence") {
            light();
        }
    }

    /// Keeps the panic of the child with this number, unless a child that was spawned before has panicked. Returns the
    /// payload that it does not keep.
    pub fn store_panic(&self, number: u32, payload: Payload) -> Option<Payload> {
        let mut kept = self.panic.lock();
        match &mut *kept {
            Some((first, _)) if *first <= number => Some(payload),
            _ => kept.replace((number, payload)).map(|(_, later)| later),
        }
    }

    /// Takes the panic that the scope is to rethrow.
    pub fn take_panic(&self) -> Option<Payload> {
        self.panic.lock().take().map(|(_, payload)| payload)
    }
}

/// Counts one more child.
#[inline]
fn count(taken: &AtomicU32) {
    // Ordering: Relaxed, and deliberately no read-modify-write: a hint of progress, for which a lost count does no harm.
    taken.store(
        taken.load(Ordering::Relaxed).wrapping_add(1),
        Ordering::Relaxed,
    );
}

/// Ends the process: unwinding would end the scope.
#[cold]
fn too_many() -> ! {
    eprintln!("terrace: more than 2^31 children of one scope are alive");
    std::process::abort();
}

/// The mark of a scope without panics.
const DOWN: u32 = u32::MAX;

/// Whether a child was polled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Polled {
    /// It was not.
    Never,
    /// It was, and returned `Pending`.
    Before,
}

/// What a child saw of the mark when it had registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// No panic yet: a later one wakes the child.
    Down,
    /// A panic has cancelled the child, and may not wake it. The child ends itself.
    Raised,
}

/// A child's entry among the pending ones.
#[must_use = "the child deregisters with its key"]
pub struct Registered {
    /// The child deregisters under it.
    pub key: u32,
    /// What the child saw then.
    pub mark: Mark,
}

/// The mark of one scope, and its pending children.
pub struct Cancel {
    mark: AtomicU32,
    pending: Registry,
}

impl Cancel {
    fn new() -> Self {
        Self {
            mark: AtomicU32::new(DOWN),
            pending: Registry::default(),
        }
    }

    /// For the next scope. No child exists.
    fn reset(&self) {
        // Ordering: Relaxed, children learn of it through the push that publishes them.
        self.mark.store(DOWN, Ordering::Relaxed);
    }

    /// Whether no thread is to poll the child with this number (again).
    #[inline]
    pub fn covers(&self, number: u32, polled: Polled) -> bool {
        // Ordering: Relaxed; a child that does not see the mark yet is reached as the module's comment says.
        let mark = self.mark.load(Ordering::Relaxed);
        mark != DOWN && (polled == Polled::Before || number >= mark)
    }

    /// Registers a child at its first `Pending`.
    ///
    /// # Panics
    /// If there are more pending children than keys.
    pub fn register(&self, waker: &Waker) -> Registered {
        // SAFETY: the registry is this scope's and may be used from any thread; its contract is about executors.
        let key = unsafe { self.pending.insert(waker) };
        // Ordering: Relaxed, ordered by the registry's lock, see the module's comment.
        let is_down = self.mark.load(Ordering::Relaxed) == DOWN;
        let mark = if is_down || weakened!("scope-cancel-unasked") {
            Mark::Down
        } else {
            Mark::Raised
        };
        Registered { key, mark }
    }

    /// Takes a child out, before it is counted out.
    pub fn deregister(&self, key: u32) {
        // SAFETY: the registry belongs to this scope and may be used from any thread; its contract
        // is about executors.
        let waker = unsafe { self.pending.remove(key) };
        drop(waker);
    }

    /// Children that have returned `Pending` and have not ended; a hint.
    pub fn waiting(&self) -> usize {
        self.pending.registered()
    }

    /// As [`waiting`](Self::waiting); `None` where it would have to wait for a lock.
    pub fn try_waiting(&self) -> Option<usize> {
        self.pending.try_registered()
    }

    /// Cancels all children but those that were spawned before the one with this `number` and have not been polled yet.
    /// The caller holds a count of the scope.
    #[cold]
    pub fn cancel(&self, number: u32) {
        let number = number.min(DOWN - 1);
        if weakened!("scope-cancel-late") {
            self.pending.wake_all();
        }
        // Ordering: Relaxed, ordered by the registry's lock, see the module's comment.
        let before = self.mark.fetch_min(number, Ordering::Relaxed);
        if before == DOWN && !weakened!("scope-cancel-late") {
            self.pending.wake_all();
        }
    }
}
