//! Tasks that no worker has: spawned or woken elsewhere, or more than fit into a ring.
//!
//! They come one by one, or many at once: a batch from outside (where there are workers; without any it is taken task by
//! task anyway, in its order), the older half of a full ring. Many travel as *parcels*, one entry of a queue for up to [`PARCEL`] tasks. Two queues, then, which take turns:
//!
//! ```text
//! push:           single;  F at the caller's publish
//! spill:          parcels, and a single if one is left over;  F likewise
//! take, to ring:  the parcel's first; the others into the ring (full: singles)      -> the caller publishes
//! take, no ring:  the parcel's first; the others become singles                     -> the caller publishes
//! ```
//!
//! While a parcel is being unpacked its tasks are nowhere to be seen; so who takes one publishes afterwards, or holds a search
//! token, as for every move of shared work (`Idle::moved`, and its model).

use terrace_local::task::Runnable;
use terrace_queue::{Injector, Overflow, Owner, Spill};
use terrace_sync::atomic::{AtomicU32, Ordering};

/// Tasks in a parcel, at most; at least two.
const PARCEL: usize = if cfg!(terrace_shuttle) { 2 } else { 32 };

/// The shared queue of a pool.
#[derive(Default)]
pub(crate) struct Injected {
    singles: Injector<Runnable>,
    parcels: Injector<Box<[Runnable]>>,
    /// Even: singles are looked at first.
    turn: AtomicU32,
}

impl Injected {
    /// Appends a task.
    #[inline]
    pub(crate) fn push(&self, task: Runnable) {
        self.singles.push(task);
    }

    /// Whether there is nothing: four loads. Valid after a fence.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.singles.is_empty() && self.parcels.is_empty()
    }

    /// The number of tasks, as a hint: each parcel counts as a full one.
    pub(crate) fn len_hint(&self) -> usize {
        self.singles.len_hint() + PARCEL * self.parcels.len_hint()
    }

    /// Takes a task, and more into `ring`: up to `max` singles, or a parcel. If `ring` is not empty then, the caller publishes.
    pub(crate) fn take_into(&self, ring: &Owner<'_, Runnable>, max: usize) -> Option<Runnable> {
        let singles = || self.singles.pop_batch_into(ring, max);
        if self.parcels.is_empty() {
            return singles();
        }
        let parcel = || self.unpack(|task| ring.push(task));
        if self.singles_first() {
            singles().or_else(parcel)
        } else {
            parcel().or_else(singles)
        }
    }

    /// Takes a task, for a thread without a ring. The second value: whether others became visible again, which the caller
    /// then publishes.
    #[inline]
    pub(crate) fn take(&self) -> Option<(Runnable, bool)> {
        let single = || self.singles.pop().map(|task| (task, false));
        if self.parcels.is_empty() {
            return single();
        }
        let parcel = || {
            self.unpack(|task| Err(Overflow(task)))
                .map(|task| (task, true))
        };
        if self.singles_first() {
            single().or_else(parcel)
        } else {
            parcel().or_else(single)
        }
    }

    /// Takes a parcel: its first task. The others are given to `push`, and what that gives back becomes single.
    fn unpack(
        &self,
        push: impl Fn(Runnable) -> Result<(), Overflow<Runnable>>,
    ) -> Option<Runnable> {
        let mut tasks = self.parcels.pop()?.into_iter();
        let first = tasks.next();
        for task in tasks {
            if let Err(Overflow(task)) = push(task) {
                self.singles.push(task);
            }
        }
        first
    }

    fn singles_first(&self) -> bool {
        // Ordering: Relaxed, and no read-modify-write: if two threads count one turn, no more happens than that.
        let turn = self.turn.load(Ordering::Relaxed);
        self.turn.store(turn.wrapping_add(1), Ordering::Relaxed);
        turn % 2 == 0
    }
}

impl Spill<Runnable> for Injected {
    fn spill(&self, mut tasks: impl Iterator<Item = Runnable>) {
        while let Some(first) = tasks.next() {
            let Some(second) = tasks.next() else {
                self.singles.push(first);
                return;
            };
            let mut parcel = Vec::with_capacity(PARCEL);
            parcel.extend([first, second]);
            parcel.extend(tasks.by_ref().take(PARCEL - 2));
            self.parcels.push(parcel.into());
        }
    }
}
