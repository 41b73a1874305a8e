//! Pools without workers, and the threads that drive them while they wait.
//!
//! A waiting thread keeps a list of them ([`ThreadlessPools`]). [`register`] adds a pool that has lost its last worker.
//! [`announce`] then wakes every thread that has ever waited ([`Broadcast`]), so that threads that already wait drive
//! the pool, too. A push to a pool without workers wakes a thread that listens to it.

use std::cell::Cell;

use terrace_sync::atomic::{AtomicUsize, Ordering};
use terrace_sync::unmodelled::Weak;
use terrace_sync::{Arc, Mutex, heavy, weakened};
use terrace_thread::Notify;
use terrace_thread::internal::thread_waker;

use crate::parts::waiters::Listener;
use crate::pool::{Shared, frames, runner};
use crate::protocol::publish::Broadcast;
use crate::tuned::SCOPES_INTERVAL;
use crate::work::{bystander_has_work, bystander_take};

terrace_sync::global! {
    /// The number of living pools without workers. Readers look at it first, so that programs
    /// without such pools pay one relaxed load.
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    static POOLS: Mutex<Vec<Weak<Shared>>> = Mutex::new(Vec::new());
    /// Tells waiting threads that there is one more such pool.
    static NEWS: Broadcast<Weak<dyn Notify>> = Broadcast::new();
}

terrace_sync::thread_local! {
    /// The notifier of this thread that has subscribed to `NEWS`.
    static SUBSCRIBED: Cell<Option<Weak<dyn Notify>>> = const { Cell::new(None) };
}

/// Adds a pool without workers to the pools that waiting threads drive. The caller then calls [`announce`], without a
/// lock.
pub(crate) fn register(pool: &Arc<Shared>) {
    let mut pools = POOLS.lock();
    if !pool.may_drive.get() {
        pools.push(Arc::downgrade(pool));
        pool.may_drive.set(true);
        pool.was_driven.set(true);
        // Ordering: Relaxed, a hint. A thread that has to see the pool's tasks got the pool from another thread after
        // this, or sees the announcement (`Broadcast`).
        COUNT.store(pools.len(), Ordering::Relaxed);
    }
}

/// Wakes the threads that wait, to look at the pools without workers.
pub(crate) fn announce() {
    NEWS.announce(Weak::upgrade, |thread| thread.notify());
}

/// Takes a pool out again.
pub(crate) fn unregister(pool: &Shared) {
    // Ordering: Relaxed, the caller knows whether it has registered the pool.
    if COUNT.load(Ordering::Relaxed) == 0 {
        return;
    }
    let mut pools = POOLS.lock();
    pool.may_drive.set(false);
    pools.retain(|other| !std::ptr::eq(other.as_ptr(), pool));
    // Ordering: Relaxed, a hint; the caller registered the pool itself, under the lock.
    COUNT.store(pools.len(), Ordering::Relaxed);
}

/// Whether there is a pool without workers; a hint.
pub(super) fn any() -> bool {
    // Ordering: Relaxed, as in `register`.
    COUNT.load(Ordering::Relaxed) != 0
}

/// The pools without workers.
fn all() -> Vec<Arc<Shared>> {
    if !any() {
        return Vec::new();
    }
    POOLS.lock().iter().filter_map(Weak::upgrade).collect()
}

/// From now on [`announce`] notifies the current thread when a pool loses its last worker. Called before each sleep: a
/// thread-local access, and a lock the first time.
pub(crate) fn subscribe() {
    let notifier = terrace_thread::notifier();
    let weak = Arc::downgrade(&notifier);
    let before = SUBSCRIBED.try_with(Cell::take).ok().flatten();
    if !before.is_some_and(|before| before.ptr_eq(&weak)) {
        NEWS.subscribe(weak.clone(), |thread| thread.strong_count() == 0);
    }
    // If the thread's locals are gone already, it subscribes anew each time.
    let _kept = SUBSCRIBED.try_with(|subscribed| subscribed.set(Some(weak)));
}

/// Which pools a wait drives while they have no workers.
#[derive(Clone, Copy)]
pub(crate) enum Drives<'a> {
    /// Every one.
    All,
    /// This one.
    Only(&'a Shared),
    /// None: the waiter may hold a lock, and another thread runs what it waits for.
    Nothing,
}

/// The pools without workers whose tasks the current thread runs in one wait.
pub(super) struct ThreadlessPools<'a> {
    drives: Drives<'a>,
    /// The number of the news at which `pools` was made.
    number: usize,
    pools: Vec<Arc<Shared>>,
    /// Pieces of own work since the last turn of these pools.
    passed_over: u32,
}

impl<'a> ThreadlessPools<'a> {
    pub(super) fn new(drives: Drives<'a>) -> Self {
        let number = NEWS.number();
        let mut pools = match drives {
            Drives::All => all(),
            Drives::Only(pool) if pool.workers() == 0 => vec![pool.arc()],
            Drives::Only(_) | Drives::Nothing => Vec::new(),
        };
        if matches!(drives, Drives::All) {
            // No other thread runs what a poll of a pool waits for that is being dropped.
            for pool in frames::closing_pools() {
                if !pools.iter().any(|other| Arc::ptr_eq(other, &pool)) {
                    pools.push(pool);
                }
            }
        }
        // A worker adopts no task of its own pool, even if it was asked to end: the last resort takes care of these.
        pools.retain(|pool| !runner::is_worker_of(&raw const **pool));
        Self {
            drives,
            number,
            pools,
            passed_over: 0,
        }
    }

    /// Whether a pool may have lost its last worker since.
    #[inline]
    pub(crate) fn is_stale(&self) -> bool {
        NEWS.number() != self.number
    }

    /// Makes the list anew if there is news.
    #[inline]
    pub(crate) fn refresh(&mut self) {
        if self.is_stale() {
            *self = Self::new(self.drives);
        }
    }

    fn pools(&self) -> impl Iterator<Item = &Arc<Shared>> {
        // A pool may have got workers since, and may be losing them again: the workers that a shutdown drains run its
        // tasks. While a pool is being dropped, only a thread inside of a poll of it does.
        let ours = |pool: &&Arc<Shared>| match self.drives {
            _ if pool.holders.is_closing() => frames::is_in(&raw const ***pool),
            Drives::Only(_) => pool.workers() == 0,
            Drives::All | Drives::Nothing => pool.may_drive.get(),
        };
        self.pools.iter().filter(ours)
    }

    /// Runs one job of theirs; false if there is none.
    pub(crate) fn run_one(&self) -> bool {
        self.pools().any(|pool| {
            let taken = bystander_take(pool);
            taken.map(|taken| taken.found.run_as_guest(pool)).is_some()
        })
    }

    /// The waiter calls this after a piece of own work. In `block_on`, the future and these pools have turns in
    /// alternation. In a scope, the children go first, yet not always: they may wake themselves until a job of the pool
    /// has run.
    #[inline]
    pub(crate) fn have_a_turn(&mut self) {
        if self.pools.is_empty() {
            return;
        }
        self.passed_over += 1;
        // A scope should end soon, and seldom has so many children.
        if matches!(self.drives, Drives::All) || self.passed_over >= SCOPES_INTERVAL {
            self.passed_over = 0;
            self.run_one();
        }
    }

    /// Serves what so many pools have told the thread: looks at one of them, unless it `is_busy`, and leaves the others to other threads.
    pub(crate) fn serve(&self, notified: usize, is_busy: bool) {
        if is_busy || notified > 1 {
            self.pass_on();
        }
        if !is_busy {
            self.run_one();
        }
    }

    /// A notified thread that has something else to do first calls this. It wakes another thread, if there is work for
    /// one.
    #[cold]
    pub(crate) fn pass_on(&self) {
        for pool in self.pools().filter(|pool| bystander_has_work(pool)) {
            pool.notify_waiters(1);
        }
    }
}
/// Listeners on pools without workers, for one sleep of the current thread.
pub(crate) struct Listening<'a> {
    pools: &'a ThreadlessPools<'a>,
    /// One for each pool that the thread drives.
    listeners: Vec<(&'a Shared, Listener<'a>)>,
}

impl<'a> Listening<'a> {
    /// Listens to all of them.
    pub(super) fn to(pools: &'a ThreadlessPools<'a>) -> Self {
        let listen = |pool: &'a Arc<Shared>| (&**pool, pool.waiters.listen_by(thread_waker()));
        let listeners: Vec<_> = pools.pools().map(listen).collect();
        if !listeners.is_empty() {
            // Fence pair: `light` in a publish: either it sees the listener, or the caller sees its item.
            heavy();
        }
        Self { pools, listeners }
    }

    /// Whether any of the pools has something to run or has told the thread so, or there may be another pool. Another thread may have taken
    /// what the thread was told of. It does not sleep all the same: the next notification goes to another listener, or to none.
    pub(crate) fn has_work(&self) -> bool {
        let told = |(_, listener): &(_, Listener<'_>)| listener.is_told();
        (self.listeners.iter().any(told) && !weakened!("executor-told-sleeps"))
            || self.pools.is_stale()
            || self.pools.pools().any(|pool| bystander_has_work(pool))
    }

    /// Ends the sleep. How many pools notified the thread in it: it [serves](ThreadlessPools::serve) them.
    #[must_use = "a notification has to be served or passed on"]
    pub(crate) fn end(self) -> usize {
        let mut notified = 0;
        for (pool, listener) in self.listeners {
            if listener.discard() {
                notified += 1;
                if pool.holders.is_closing() && !frames::is_in(pool) {
                    // A thread that waits inside of a poll of the pool may have to run the task. This one listens no more.
                    pool.notify_waiters(1);
                }
            }
        }
        notified
    }
}
