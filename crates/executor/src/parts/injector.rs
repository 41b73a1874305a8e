//! The shared queues of a pool: the injector, and the lanes beside it.
//!
//! The injector has the tasks that lie at no seat: threads without a seat queued them, or they did not fit into a ring. A taker with a
//! ring moves a few more into it. Meanwhile no other thread sees these. So the taker publishes afterwards, or holds a search token, as
//! for every move of shared work (`Idle::moved`, and its model).
//!
//! Every shared queue of a pool reports to `terrace-trace` each task that comes and goes.
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
use terrace_queue::{self as queue, Owner, Ring, Spill};
use terrace_sync::atomic::{AtomicBool, Ordering};

use super::processor::Gather;
use crate::protocol::publish::Permits;
use crate::tuned::BATCH;

/// Whether a taker has moved other tasks as well: out of a place where every thread could take them, into another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "no thread saw these tasks while they were on the way: a looker without a token publishes them"]
pub(crate) enum Refilled {
    /// The taker has moved other tasks into its ring.
    Yes,
    /// The taker has moved no other task.
    No,
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

/// The queue of a lane. It costs a read-modify-write more each way than the injector, and an allocation for 31 tasks. Programs spawn most tasks
/// on the normal lane.
pub(crate) struct LaneQueue(ConcurrentQueue<Runnable>);

impl Default for LaneQueue {
    fn default() -> Self {
        Self(ConcurrentQueue::unbounded())
    }
}

impl LaneQueue {
    /// Appends a task.
    #[inline]
    pub(crate) fn push(&self, task: Runnable) {
        // The hook comes before the push, so that no taker makes the traced depth negative.
        terrace_trace::inject(1);
        if self.0.push(task).is_err() {
            unreachable!("a lane is never closed");
        }
    }

    /// Takes the first task.
    #[inline]
    pub(crate) fn pop(&self) -> Option<Runnable> {
        // Mostly it is empty, and this look costs less than a pop.
        if self.is_empty() {
            return None;
        }
        let task = self.0.pop().ok()?;
        terrace_trace::take(1);
        Some(task)
    }

    /// Whether there is no task. Valid after a fence.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of tasks; a hint.
    pub(crate) fn len_hint(&self) -> usize {
        self.0.len()
    }
}

/// The queues of the lanes that are not the normal one.
#[derive(Default)]
pub(crate) struct Lanes {
    pub(crate) high: LaneQueue,
    pub(crate) background: LaneQueue,
    /// Permits to poll background tasks.
    pub(crate) permits: Permits,
}

/// The shared queue of a pool.
#[derive(Default)]
pub(crate) struct Injector {
    tasks: queue::Injector<Runnable>,
    /// Whether there has ever been a place from which a thread without a seat takes work before it looks here, or in turn with it: a
    /// lane, or a ring.
    rivals: AtomicBool,
}

impl Injector {
    /// Appends a task.
    #[inline]
    pub(crate) fn push(&self, task: Runnable) {
        // The hook comes before the push, as in a lane.
        terrace_trace::inject(1);
        self.tasks.push(task);
    }

    /// As [`queue::Injector::is_empty`].
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// As [`queue::Injector::len_hint`].
    pub(crate) fn len_hint(&self) -> usize {
        self.tasks.len_hint()
    }

    /// Takes the oldest task, and moves a few more into `ring`, behind the tasks that are there. That is an equal share
    /// for each of `seats` workers and drivers, but few enough for the ring. Waits before, as `gather` says. If `ring` is not empty then, the
    /// caller publishes.
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
        let max = share.min(room).min(BATCH);
        let (task, others) = self.tasks.pop_counted_into(ring, max)?;
        terrace_trace::take(1 + others);
        Some(task)
    }

    /// Takes the oldest task. Inlined in any case, for the ticks of a thread without a seat, which do little else.
    #[inline(always)]
    pub(crate) fn take(&self) -> Option<Runnable> {
        let task = self.tasks.pop()?;
        terrace_trace::take(1);
        Some(task)
    }

    /// Notes that the caller is going to put work where a thread without a seat looks before it looks here.
    #[inline]
    pub(crate) fn note_rival(&self) {
        // Ordering: Relaxed, both. The caller stores the work afterwards, with Release: a thread that acquires the work also sees
        // the note. A thread that knows nothing of the work may take a task from here first.
        if !self.rivals.load(Ordering::Relaxed) {
            self.rivals.store(true, Ordering::Relaxed);
        }
    }

    /// Takes the oldest task, if a thread without a seat takes it before all other work: there never was a rival.
    #[inline]
    pub(crate) fn take_unrivalled(&self) -> Option<Runnable> {
        // Ordering: Relaxed, as in `note_rival`.
        if self.rivals.load(Ordering::Relaxed) {
            return None;
        }
        self.take()
    }
}

impl Spill<Runnable> for Injector {
    fn spill(&self, tasks: impl Iterator<Item = Runnable>) {
        tasks.for_each(|task| self.push(task));
    }
}
