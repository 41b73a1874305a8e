//! The shared queues of a pool: the injector, and the lanes beside it.
//!
//! The injector has the tasks that lie at no seat: threads without a seat queued them, or they did not fit into a ring. They come one by
//! one or many at once: a remote batch, or the older half of a full ring. Many travel as *parcels*:
//! one entry of a queue for up to [`PARCEL`] tasks. A pool with neither workers nor `run` futures gets a remote batch task by
//! task, in its order. So there are two queues, which take turns:
//!
//! ```text
//! push:           single;  F at the caller's publish
//! spill:          parcels, and a single if one is left over;  F likewise
//! take, to ring:  the parcel's first; the others into the ring (full: singles)      -> the caller publishes
//! take, no ring:  the parcel's first; the others become singles                     -> the caller publishes
//! ```
//!
//! While a taker unpacks a parcel, no other thread sees its tasks. So the taker publishes afterwards, or holds a search
//! token, as for every move of shared work (`Idle::moved`, and its model).
//!
//! The memory of a parcel comes back: a taker that has unpacked a parcel gives it to the next thread that fills one. Else the one
//! thread would allocate what the other one frees, and both would wait for the allocator's lock.
//!
//! Every shared queue of a pool consists of [`Queue`]s, which report to `terrace-trace` each task that comes and goes.
//!
//! Two lanes have a queue of their own: tasks that run before others, and tasks that may never occupy all workers. The background lane
//! has *permits*: one fewer than there are workers, or seats of `run` futures where these are more, and at least one. A worker holds one
//! while it polls a background task:
//!
//! ```text
//! push:      item; F; a permit is free -> publish
//! take:      a permit by CAS, then pop; nothing there -> give it back
//! give back: taken - 1; F; something queued -> publish
//! park:      bit; F; something queued and a permit free -> takeable
//! ```
//!
//! Of a push that finds no permit and a worker that gives one back, the later to fence sees the other. A worker that waits (`run::wait`)
//! in a background task gives its permit back until the wait ends. It takes the permit again without waiting, so more permits than exist
//! may be taken for a while.

use concurrent_queue::ConcurrentQueue;
use terrace_local::task::Runnable;
use terrace_queue::{self as queue, Overflow, Owner, Ring, Spill};
use terrace_sync::atomic::{AtomicBool, AtomicU32, Ordering};
use terrace_sync::{CachePadded, OnceLock};

use super::gather::Gather;
use crate::protocol::publish::Permits;
use crate::tuned::{BATCH, KEPT_PARCELS, PARCEL};

/// Whether a taker has moved other tasks as well: out of a place where every thread could take them, into another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "no thread saw these tasks while they were on the way: a looker without a token publishes them"]
pub(crate) enum Refilled {
    /// The taker has moved other tasks into its ring, or back into the injector.
    Yes,
    /// The taker has moved no other task.
    No,
}

/// A shared queue of single tasks.
#[derive(Default)]
pub(crate) struct Queue(queue::Injector<Runnable>);

impl Queue {
    /// Appends a task.
    #[inline]
    pub(crate) fn push(&self, task: Runnable) {
        // The hook comes before the push, so that no taker makes the traced depth negative.
        terrace_trace::inject(1);
        self.0.push(task);
    }

    /// Takes the first task.
    #[inline]
    pub(crate) fn pop(&self) -> Option<Runnable> {
        let task = self.0.pop()?;
        terrace_trace::take(1);
        Some(task)
    }

    /// Takes the first task, and others into `ring`: up to `max` in all.
    #[inline]
    fn pop_into(&self, ring: &Owner<'_, Runnable>, max: usize) -> Option<Runnable> {
        let (task, others) = self.0.pop_counted_into(ring, max)?;
        terrace_trace::take(1 + others);
        Some(task)
    }

    /// As [`queue::Injector::is_empty`].
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As [`queue::Injector::len_hint`].
    #[inline]
    pub(crate) fn len_hint(&self) -> usize {
        self.0.len_hint()
    }
}

/// Which tasks go first.
///
/// # Examples
///
/// ```
/// use terrace_executor::{Executor, Lane, block_on};
///
/// let executor = Executor::new();
/// let (sender, order) = std::sync::mpsc::channel();
/// for lane in [Lane::Background, Lane::Normal, Lane::High] {
///     let sender = sender.clone();
///     executor.spawn_on(lane, async move { sender.send(lane).unwrap() }).detach();
/// }
/// while executor.try_tick() {}
/// assert!(order.try_iter().eq([Lane::High, Lane::Normal, Lane::Background]));
/// ```
#[doc(alias = "priority")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// Before all others.
    High,
    /// The lane of [`spawn`](crate::Executor::spawn). Only its tasks stay on the worker that spawns or wakes them.
    #[default]
    Normal,
    /// After all others. Its tasks leave one worker free, if there is more than one.
    Background,
}

/// The queues of the lanes that are not the normal one.
#[derive(Default)]
pub(crate) struct Lanes {
    pub(crate) high: Queue,
    pub(crate) background: Queue,
    /// Permits to poll background tasks.
    pub(crate) permits: Permits,
}

impl Lanes {
    /// Takes a task of the high lane.
    #[inline]
    pub(crate) fn take_high(&self) -> Option<Runnable> {
        if self.high.is_empty() {
            return None;
        }
        self.high.pop()
    }

    /// A task of any lane, to be dropped.
    pub(crate) fn drain_one(&self) -> Option<Runnable> {
        self.high.pop().or_else(|| self.background.pop())
    }
}

/// Tasks that travel as one entry of a queue.
pub(crate) struct Parcel(Vec<Runnable>);

impl Parcel {
    /// Adds a task; false if there is room for no more.
    #[inline]
    pub(crate) fn add(&mut self, task: Runnable) -> bool {
        self.0.push(task);
        self.0.len() < PARCEL
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// The shared queue of a pool.
#[derive(Default)]
pub(crate) struct Injector {
    singles: Queue,
    parcels: queue::Injector<Parcel>,
    /// Parcels that were unpacked, for their memory.
    empty: OnceLock<ConcurrentQueue<Parcel>>,
    /// Even: singles are looked at first. Takers store it, and every thread loads the words above.
    turn: CachePadded<AtomicU32>,
    /// Whether there has ever been a place from which a thread without a seat takes work before the singles, or in turn with them: a
    /// parcel, a lane, or a ring.
    rivals: AtomicBool,
}

impl Injector {
    /// Appends a task.
    #[inline]
    pub(crate) fn push(&self, task: Runnable) {
        self.singles.push(task);
    }

    /// Whether both queues are empty: up to eight loads. Valid after a fence.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.singles.is_empty() && self.parcels.is_empty()
    }

    /// The number of tasks, as a hint: each parcel counts as a full one.
    pub(crate) fn len_hint(&self) -> usize {
        self.singles.len_hint() + PARCEL * self.parcels.len_hint()
    }

    /// Takes the oldest task, and moves a few more into `ring`, behind the tasks that are there. That is an equal share
    /// for each of `seats` workers and drivers, but few enough for the ring; or it is one parcel. Waits before, as `gather` says.
    pub(crate) fn take_batch(
        &self,
        ring: &Owner<'_, Runnable>,
        seats: impl FnOnce() -> usize,
        gather: &Gather,
    ) -> Option<Runnable> {
        if self.is_empty() {
            return None;
        }
        // A runner that has tasks of its own waits for no others.
        let length = if ring.ring().is_empty() {
            gather.before_take(|| self.len_hint())
        } else {
            self.len_hint()
        };
        // A lone task is the whole share: a look for a second one costs more than the first.
        let share = (length / seats().max(1) + 1).min(length.max(1));
        let room = (Ring::<Runnable>::CAPACITY - ring.ring().len()) / 2 + 1;
        self.take_into(ring, share.min(room).min(BATCH))
    }

    /// Takes a task, and more into `ring`: up to `max` singles, or a parcel. If `ring` is not empty then, the caller publishes.
    pub(crate) fn take_into(&self, ring: &Owner<'_, Runnable>, max: usize) -> Option<Runnable> {
        let singles = || self.singles.pop_into(ring, max);
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

    /// Takes a task, for a thread without a ring.
    #[inline]
    pub(crate) fn take(&self) -> Option<(Runnable, Refilled)> {
        let single = || self.singles.pop().map(|task| (task, Refilled::No));
        if self.parcels.is_empty() {
            return single();
        }
        let parcel = || {
            self.unpack(|task| Err(Overflow(task)))
                .map(|task| (task, Refilled::Yes))
        };
        if self.singles_first() {
            single().or_else(parcel)
        } else {
            parcel().or_else(single)
        }
    }

    /// Notes that the caller is going to put work where a thread without a seat looks before it looks at the singles.
    #[inline]
    pub(crate) fn note_rival(&self) {
        // Ordering: Relaxed, both. The caller stores the work afterwards, with Release: a thread that acquires the work also sees
        // the note. A thread that knows nothing of the work may take a single first.
        if !self.rivals.load(Ordering::Relaxed) {
            self.rivals.store(true, Ordering::Relaxed);
        }
    }

    /// Takes the oldest single task, if a thread without a seat takes it before all other work: there never was a rival.
    #[inline]
    pub(crate) fn take_unrivalled(&self) -> Option<Runnable> {
        // Ordering: Relaxed, as in `note_rival`.
        if self.rivals.load(Ordering::Relaxed) {
            return None;
        }
        self.singles.pop()
    }

    /// Takes a parcel and returns its first task. Gives the others to `push`, and queues as singles the tasks that
    /// `push` gives back.
    fn unpack(
        &self,
        push: impl Fn(Runnable) -> Result<(), Overflow<Runnable>>,
    ) -> Option<Runnable> {
        let mut parcel = self.parcels.pop()?;
        terrace_trace::take(parcel.len());
        let mut tasks = parcel.0.drain(..);
        let first = tasks.next();
        for task in tasks {
            if let Err(Overflow(task)) = push(task) {
                self.singles.push(task);
            }
        }
        self.keep(parcel);
        first
    }

    /// An empty parcel, with room for all of its tasks.
    pub(crate) fn parcel(&self) -> Parcel {
        let new = || Parcel(Vec::with_capacity(PARCEL));
        let kept = self.empty.get().and_then(|empty| empty.pop().ok());
        kept.unwrap_or_else(new)
    }

    /// Appends the tasks of a parcel.
    pub(crate) fn push_parcel(&self, mut parcel: Parcel) {
        if parcel.len() > 1 {
            self.note_rival();
            terrace_trace::inject(parcel.len());
            self.parcels.push(parcel);
            return;
        }
        if let Some(task) = parcel.0.pop() {
            self.singles.push(task);
        }
        self.keep(parcel);
    }

    /// Keeps the memory of an empty parcel.
    fn keep(&self, parcel: Parcel) {
        let empty = self
            .empty
            .get_or_init(|| ConcurrentQueue::bounded(KEPT_PARCELS));
        // Enough are kept: this one goes.
        drop(empty.push(parcel));
    }

    fn singles_first(&self) -> bool {
        // Ordering: Relaxed, and no read-modify-write: two takers that read the same turn start at the same queue,
        // which does no harm.
        let turn = self.turn.load(Ordering::Relaxed);
        self.turn.store(turn.wrapping_add(1), Ordering::Relaxed);
        turn % 2 == 0
    }
}

impl Spill<Runnable> for Injector {
    fn spill(&self, mut tasks: impl Iterator<Item = Runnable>) {
        while let Some(first) = tasks.next() {
            let mut parcel = self.parcel();
            parcel.0.push(first);
            parcel.0.extend(tasks.by_ref().take(PARCEL - 1));
            self.push_parcel(parcel);
        }
    }
}
