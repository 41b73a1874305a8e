//! Who is pending: executors that can be dropped keep the wakers of their pending tasks, so that the drop can
//! reach every one of them.
//!
//! A task that never returned `Pending` is in a queue or being polled, so the registry and the queues together
//! name every task. The drop of an executor repeats, until nothing is left: wake all registered tasks, which
//! queues those that nobody has queued yet; drop what is queued, which deregisters it. A task of many threads that another
//! thread is just queueing stays registered until its runnable has arrived and has been dropped; one of a single thread is
//! dropped at once, and the mailbox waits for its item.

use alloc::vec::Vec;
#[cfg(not(terrace_loom))]
use core::cell::Cell;
use core::task::Waker;

use slab::Slab;
#[cfg(not(terrace_loom))]
use terrace_sync::cell::UnsafeCell;
use terrace_sync::thread::yield_now;
#[cfg(feature = "std")]
use terrace_sync::{CachePadded, Mutex};

#[cfg(all(feature = "std", not(terrace_loom)))]
use crate::thread_id::thread_id;

/// A set of wakers of pending tasks.
pub trait Register {
    /// Adds the task that `waker` wakes and returns its key, which is below `u32::MAX - 1`.
    ///
    /// # Panics
    /// If there are more pending tasks than keys.
    ///
    /// # Safety
    /// Called from a poll of a task of the executor that the registry belongs to.
    unsafe fn insert(&self, waker: &Waker) -> u32;

    /// Takes a task out. The waker is handed over rather than dropped, so that no lock or borrow is held when
    /// the caller drops it.
    ///
    /// # Safety
    /// Called where that executor polls or drops the future of the task with this key.
    unsafe fn remove(&self, key: u32) -> Option<Waker>;
}

/// The shard of the calling thread. The threads of a pool are started one after the other, so that their numbers are mostly
/// in a row.
#[cfg(all(feature = "std", not(terrace_loom)))]
fn shard() -> usize {
    thread_id() as usize % SHARDS
}

/// Threads have no numbers in a model.
#[cfg(all(feature = "std", terrace_loom))]
fn shard() -> usize {
    0
}

/// Parts of a [`Registry`], so that workers seldom meet at a lock. A power of two.
#[cfg(feature = "std")]
const SHARDS: usize = if cfg!(any(terrace_loom, terrace_shuttle)) {
    2
} else {
    8
};

/// The registry of an executor whose tasks run on many threads. One lock to register and one to deregister, uncontended
/// unless tasks end on other threads than they first waited on: there is a shard for each of a few threads. Tasks that are
/// done at their first poll never do.
///
/// A key is the shard's number in its lowest bits, and the entry in the shard above.
#[cfg(feature = "std")]
#[derive(Default)]
pub struct Registry {
    /// Only plain operations of a slab happen under its lock.
    shards: [CachePadded<Mutex<Slab<Waker>>>; SHARDS],
}

#[cfg(feature = "std")]
impl Register for Registry {
    unsafe fn insert(&self, waker: &Waker) -> u32 {
        let waker = waker.clone();
        let shard = shard();
        let entry = self.shards[shard].lock().insert(waker);
        key(entry * SHARDS + shard)
    }

    unsafe fn remove(&self, key: u32) -> Option<Waker> {
        let key = key as usize;
        self.shards[key % SHARDS].lock().try_remove(key / SHARDS)
    }
}

#[cfg(feature = "std")]
impl Registry {
    /// An empty registry.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Wakes every registered task and lets `drain` drop what is queued (true if it dropped any), until no task
    /// is left. The caller makes sure that nobody polls tasks any more. Waits for threads that are just
    /// queueing a task.
    pub fn close(&self, drain: impl FnMut() -> bool) {
        close(
            || {
                let mut pending = Vec::new();
                for shard in &self.shards {
                    let wakers = shard.lock();
                    pending.extend(wakers.iter().map(|(_, waker)| waker.clone()));
                }
                pending
            },
            drain,
        );
    }
}

/// The key of a task without an entry.
pub(crate) const UNCOUNTED: u32 = u32::MAX - 2;

/// The key of an entry: half a word, to keep cells small.
#[inline]
fn key(entry: usize) -> u32 {
    match u32::try_from(entry) {
        Ok(key) if key < UNCOUNTED => key,
        _ => too_many(),
    }
}

#[cold]
fn too_many() -> ! {
    panic!("too many tasks are pending")
}

/// The registry of an executor whose tasks live on one thread: no lock. One that is never dropped need not find its
/// pending tasks: it only counts them.
///
/// The waker that is kept is a counted one, of two plain counts.
#[cfg(not(terrace_loom))]
pub(crate) struct LocalRegistry {
    /// Whether wakers are kept. Owner only, as are the others.
    keeps: Cell<bool>,
    /// Pending tasks without an entry.
    uncounted: Cell<usize>,
    /// Touched only on the owner's thread, for one operation of the slab at a time: no user code and no drop
    /// of a waker runs while the borrow is live.
    wakers: UnsafeCell<Slab<Waker>>,
}

#[cfg(not(terrace_loom))]
impl LocalRegistry {
    terrace_sync::const_fn! {
        /// Empty. `keeps` says whether it is to find its tasks again.
        pub(crate) const fn new(keeps: bool) -> Self {
            Self {
                keeps: Cell::new(keeps),
                uncounted: Cell::new(0),
                wakers: UnsafeCell::new(Slab::new()),
            }
        }
    }

    /// Only counts tasks from now on.
    ///
    /// # Safety
    /// The caller is on the owner's thread.
    pub(crate) unsafe fn keep_no_more(&self) {
        self.keeps.set(false);
    }

    /// The number of pending tasks.
    ///
    /// # Safety
    /// The caller is on the owner's thread.
    pub(crate) unsafe fn len(&self) -> usize {
        let kept = self.wakers.with(|wakers| {
            // SAFETY: as in `insert`.
            let wakers = unsafe { &*wakers };
            wakers.len()
        });
        kept + self.uncounted.get()
    }

    /// # Safety
    /// The caller is on the owner's thread.
    pub(crate) unsafe fn insert(&self, waker: &Waker) -> u32 {
        if !self.keeps.get() {
            self.uncounted.set(self.uncounted.get() + 1);
            return UNCOUNTED;
        }
        let waker = waker.clone();
        self.wakers.with_mut(|wakers| {
            // SAFETY: on the owner's thread, and no other borrow is live (the field's invariant).
            let wakers = unsafe { &mut *wakers };
            key(wakers.insert(waker))
        })
    }

    /// # Safety
    /// The caller is on the owner's thread.
    pub(crate) unsafe fn remove(&self, key: u32) -> Option<Waker> {
        if key == UNCOUNTED {
            self.uncounted.set(self.uncounted.get() - 1);
            return None;
        }
        self.wakers.with_mut(|wakers| {
            // SAFETY: as in `insert`.
            let wakers = unsafe { &mut *wakers };
            wakers.try_remove(key as usize)
        })
    }

    /// As [`Registry::close`]; `drain` must report what is still on its way as dropped.
    ///
    /// # Safety
    /// The caller is on the owner's thread.
    pub(crate) unsafe fn close(&self, drain: impl FnMut() -> bool) {
        close(
            || {
                self.wakers.with(|wakers| {
                    // SAFETY: as in `insert`; cloning a task's waker raises its count and nothing else.
                    let wakers = unsafe { &*wakers };
                    wakers.iter().map(|(_, waker)| waker.clone()).collect()
                })
            },
            drain,
        );
    }
}

fn close(pending: impl Fn() -> Vec<Waker>, mut drain: impl FnMut() -> bool) {
    loop {
        let wakers = pending();
        let any = !wakers.is_empty();
        for waker in wakers {
            waker.wake();
        }
        let drained = drain();
        let none = !any || cfg!(terrace_weaken = "local-close-registry");
        if none && !drained {
            return;
        }
        if !drained {
            // Some other thread has set the scheduled bit of a task, in async-task's cell, and is about to queue it.
            yield_now();
        }
    }
}

#[cfg(all(test, feature = "std", not(any(terrace_loom, terrace_shuttle))))]
mod tests {
    use std::collections::BTreeSet;
    use std::task::{Wake, Waker};
    use std::thread;
    use terrace_sync::Arc;
    use terrace_sync::atomic::{AtomicUsize, Ordering};

    use super::{Register, Registry, SHARDS};

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Threads whose shards are all there are, twice: each key is another one and is removed from any thread, once; what
    /// is left is woken at the end.
    #[test]
    fn every_shard_is_reached() {
        let registry = Registry::new();
        let woken = Arc::new(Woken::default());
        let insert = || {
            let waker = Waker::from(Arc::clone(&woken));
            // SAFETY: there are no tasks, this test is all that uses the registry.
            unsafe { registry.insert(&waker) }
        };
        let insert_elsewhere = |_| thread::scope(|scope| scope.spawn(insert).join().unwrap());
        let mut keys: BTreeSet<u32> = (0..2 * SHARDS).map(insert_elsewhere).collect();
        assert_eq!(keys.len(), 2 * SHARDS);
        // SAFETY: as above.
        let remove = |key| unsafe { registry.remove(key) }.is_some();
        let first = keys.pop_first().unwrap();
        assert!(remove(first) && !remove(first));
        let left = keys.len();
        registry.close(|| {
            let some = !keys.is_empty();
            while let Some(key) = keys.pop_last() {
                assert!(remove(key));
            }
            some
        });
        assert_eq!(woken.0.load(Ordering::Relaxed), left);
    }
}
