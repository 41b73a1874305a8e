//! The registries of pending tasks. An executor that can be dropped keeps the wakers of its pending tasks, so that its drop
//! reaches each of them.
//!
//! A task that never returned `Pending` is in a queue, or a thread polls it. So the registry and the queues together name
//! every task. The drop of an executor wakes all registered tasks, which queues those that are not queued yet. Then it drops
//! what is queued, which deregisters it. It repeats both until nothing is left. A task of many threads that another thread is
//! just queueing stays registered until its runnable has arrived and has been dropped. A task of a single thread is dropped at
//! once, and the mailbox waits for its item.

use alloc::vec::Vec;
use core::task::Waker;

#[cfg(feature = "std")]
use slab::Slab;
use terrace_sync::thread::yield_now;
use terrace_sync::weakened;
#[cfg(feature = "std")]
use terrace_sync::{CachePadded, Mutex};

#[cfg(feature = "std")]
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

    /// Takes a task out. Hands the waker over rather than dropping it: the caller drops it under no lock and no borrow.
    ///
    /// # Safety
    /// Called where that executor polls or drops the future of the task with this key.
    unsafe fn remove(&self, key: u32) -> Option<Waker>;
}

/// The shard of the calling thread. The threads of a pool are started one after the other, so that their numbers are mostly
/// in a row. A model asks for no number: that would be a step of its own.
#[cfg(feature = "std")]
fn shard() -> usize {
    if cfg!(terrace_loom) {
        0
    } else {
        thread_id() as usize % SHARDS
    }
}

/// Parts of a [`Registry`], so that workers seldom meet at a lock. A power of two.
#[cfg(feature = "std")]
const SHARDS: usize = if cfg!(any(terrace_loom, terrace_shuttle)) {
    2
} else {
    8
};

/// The registry of an executor whose tasks run on many threads. A task takes one lock to register and one to deregister. The
/// locks are uncontended unless tasks end on other threads than they first waited on, because each of a few threads has a shard.
/// A task that is done at its first poll never registers.
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
    #[inline]
    unsafe fn insert(&self, waker: &Waker) -> u32 {
        self.add(waker)
    }

    #[inline]
    unsafe fn remove(&self, key: u32) -> Option<Waker> {
        self.take(key)
    }
}

#[cfg(feature = "std")]
impl Registry {
    /// As [`Register::insert`], from any place: its locks make it safe. A [`close`](Self::close) waits without end for an entry
    /// that is neither a task of the executor nor taken out.
    ///
    /// # Panics
    /// If there are more pending tasks than keys.
    pub fn add(&self, waker: &Waker) -> u32 {
        let waker = waker.clone();
        let shard = shard();
        let entry = self.shards[shard].lock().insert(waker);
        key(entry * SHARDS + shard)
    }

    /// As [`Register::remove`], from any place.
    pub fn take(&self, key: u32) -> Option<Waker> {
        let key = key as usize;
        self.shards[key % SHARDS].lock().try_remove(key / SHARDS)
    }

    /// How many tasks are registered; a hint. One lock for each shard.
    pub fn registered(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().len()).sum()
    }

    /// As [`registered`](Self::registered), for a report on a process that hangs: `None` where it would have to wait for a lock.
    pub fn try_registered(&self) -> Option<usize> {
        let lengths = self
            .shards
            .iter()
            .map(|shard| Some(shard.try_lock()?.len()));
        lengths.sum()
    }

    /// Wakes every registered task. No lock is held while it does.
    pub fn wake_all(&self) {
        self.pending().into_iter().for_each(Waker::wake);
    }

    /// The wakers of all registered tasks.
    fn pending(&self) -> Vec<Waker> {
        let mut pending = Vec::new();
        for shard in &self.shards {
            let wakers = shard.lock();
            pending.extend(wakers.iter().map(|(_, waker)| waker.clone()));
        }
        pending
    }

    /// Wakes every registered task and lets `drain` drop queued tasks (true if it dropped any), until no task is left.
    /// The caller makes sure that no thread polls tasks any more. Waits for threads that are just queueing a task.
    pub fn close(&self, drain: impl FnMut() -> bool) {
        close(|| self.pending(), drain);
    }
}

/// The key of a task without an entry.
pub(crate) const UNKEPT: u32 = u32::MAX - 2;

/// The key of an entry: half a word, to keep cells small.
///
/// # Panics
/// If there are more pending tasks than keys.
#[inline]
pub fn key(entry: usize) -> u32 {
    match u32::try_from(entry) {
        Ok(key) if key < UNKEPT => key,
        _ => too_many(),
    }
}

#[cold]
fn too_many() -> ! {
    panic!("too many tasks are pending")
}

/// Wakes all pending tasks and calls `drain`, until no task is left and `drain` has found nothing.
pub(crate) fn close(pending: impl Fn() -> Vec<Waker>, mut drain: impl FnMut() -> bool) {
    loop {
        let wakers = pending();
        let none = wakers.is_empty() || weakened!("local-close-registry");
        wakers.into_iter().for_each(Waker::wake);
        let drained = drain();
        if none && !drained {
            return;
        }
        if !drained {
            // Another thread has set the scheduled bit of a task, in async-task's cell, and is about to queue it.
            yield_now();
        }
    }
}
