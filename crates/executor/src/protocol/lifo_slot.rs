//! The slot of the task that a worker has just woken. The worker runs it next. Its data are mostly still in the cache,
//! and a chain of tasks that wake each other needs no other thread.
//!
//! | operation      | by               | what it does                                                                |
//! |----------------|------------------|------------------------------------------------------------------------------|
//! | [`LifoSlot::put`]  | its worker   | empty: a store; occupied: a swap, and what was there goes to the ring, published |
//! | [`LifoSlot::take`] | any thread   | a load, and a swap if there was something                                    |
//!
//! A worker does not publish a full slot while a sentinel watches (`Idle::park_as_sentinel`): mostly the worker itself
//! takes the task a moment later. This handshake covers the task, by the fences of `Idle::publish_paced` and of the
//! sentinel's end:
//!
//! ```text
//! put:           slot; F; a sentinel watches -> done; else publish
//! sentinel:      time's up and the same task lies there as at its last look -> takes it
//! busy workers:  in some of its turns, likewise
//! sentinel end:  flag down; F; scan (stop_search, park): a slot is full and no sentinel watches -> takeable
//! wait, end:     its worker empties the slot into its ring, and publishes
//! ```
//!
//! Of a `put` and a sentinel's end, the later one sees the other. A worker that finds nothing but full slots becomes
//! the sentinel. A worker empties its slot before it waits inside a poll, waits for the end of the others, or leaves.
//! Not an API; public for its models.

use std::marker::PhantomData;
use std::ptr::NonNull;

use terrace_sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use terrace_sync::{ordering, weakened};

use super::sight::Sight;

/// So many tasks out of the slot run in a row before other tasks have a turn.
pub const IN_A_ROW: u32 = 3;

/// A task that fits into one word.
///
/// # Safety
/// [`into_raw`](Self::into_raw) gives words that [`from_raw`](Self::from_raw) turns into the same task. Neither runs users' code.
pub unsafe trait Word {
    /// The task as a word that owns it.
    fn into_raw(self) -> NonNull<()>;

    /// The task again.
    ///
    /// # Safety
    /// `raw` comes out of [`into_raw`](Self::into_raw), and the task is taken out of it once.
    unsafe fn from_raw(raw: NonNull<()>) -> Self;
}

/// Room for one task.
pub struct LifoSlot<T: Word> {
    /// Null, or a word out of [`Word::into_raw`]. The thread that replaces it owns the task.
    task: AtomicPtr<()>,
    /// How many were ever put, wrapping; written by the worker alone.
    puts: AtomicU32,
    _tasks: PhantomData<fn(T) -> T>,
}

impl<T: Word> Default for LifoSlot<T> {
    fn default() -> Self {
        Self {
            task: AtomicPtr::new(std::ptr::null_mut()),
            puts: AtomicU32::new(0),
            _tasks: PhantomData,
        }
    }
}

impl<T: Word + Send> LifoSlot<T> {
    /// Puts a task in, and returns the one that was there. Only the slot's worker calls this: if two threads put into
    /// an empty slot at once, one task is lost.
    #[inline]
    #[must_use = "the task that was displaced has to be queued"]
    pub fn put(&self, task: T) -> Option<T> {
        let task = T::into_raw(task).as_ptr();
        // Ordering: Relaxed, the worker alone writes. Readers compare two looks; a stale value only delays them.
        let puts = self.puts.load(Ordering::Relaxed);
        self.puts.store(puts.wrapping_add(1), Ordering::Relaxed);
        // Ordering: Release in both, pairs with the Acquire in `take`: the taker sees what was written before the task
        // was woken.
        if self.is_empty() || weakened!("executor-slot-put-blind") {
            self.task
                .store(task, ordering!("executor-slot-put-relaxed", Release));
            return None;
        }
        // A thief may empty it before the swap.
        self.replace(task)
    }

    /// Takes the task out.
    #[inline]
    pub fn take(&self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        self.replace(std::ptr::null_mut())
    }

    /// Gives the task to `queue`, which makes it visible to all and publishes it. The worker calls this before it waits
    /// or ends.
    #[inline]
    pub fn empty(&self, queue: impl FnOnce(T)) {
        if weakened!("executor-slot-kept") {
            return;
        }
        if let Some(task) = self.take() {
            queue(task);
        }
    }

    #[inline]
    fn replace(&self, task: *mut ()) -> Option<T> {
        // Ordering: Release as in `put`. The Acquire pairs with the Release of the `put` that stored the taken task.
        let order = match weakened!("executor-slot-swap-release") {
            true => Ordering::Release,
            false => Ordering::AcqRel,
        };
        let old = if weakened!("executor-slot-swap-split") {
            let old = self.task.load(Ordering::Acquire);
            self.task.store(task, Ordering::Release);
            old
        } else {
            self.task.swap(task, order)
        };
        // SAFETY: a pointer in the slot came out of `into_raw`. This thread's swap took it out, so
        // no other thread gets it.
        NonNull::new(old).map(|old| unsafe { T::from_raw(old) })
    }

    /// Whether there is no task. A hint for all but the worker; valid after a fence.
    #[inline]
    pub fn is_empty(&self) -> bool {
        // Ordering: Relaxed; `replace` acquires, and a thread that must not miss a task has fenced.
        self.task.load(Ordering::Relaxed).is_null()
    }

    /// The number of the task that is there: if it is the same at two looks, so is the task.
    pub fn look(&self) -> Option<u32> {
        // Ordering: Relaxed. A number that does not match its task only makes a looker late or early.
        (!self.is_empty()).then(|| self.puts.load(Ordering::Relaxed))
    }

    /// What the slot shows to a thread that takes only a task that has stood still. Valid after a fence.
    #[inline]
    pub fn sight(&self) -> Sight {
        Sight::covered_if(!weakened!("executor-slot-never-takeable") && !self.is_empty())
    }
}

impl<T: Word> Drop for LifoSlot<T> {
    fn drop(&mut self) {
        // Ordering: Relaxed, `&mut self` excludes all other threads.
        if let Some(task) = NonNull::new(self.task.load(Ordering::Relaxed)) {
            // SAFETY: it came out of `into_raw`, and `&mut self` keeps all other threads from taking it.
            drop(unsafe { T::from_raw(task) });
        }
    }
}
