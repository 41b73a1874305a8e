//! Where a runnable goes: to the seat of the thread's runner, or into a shared queue. By the methods that `terrace-local`'s task cell asks
//! of its executor, and by spawns. Also which of the runnables at hand a runner takes next.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};

use terrace_local::task::{Core, PanicHandler, Register, Runnable, Schedule};
use terrace_sync::Arc;

use super::Shared;
use super::runner::{self, Runner, with_runner_of, with_worker_of};
use crate::parts::injector::Lane;
use crate::protocol::publish::Publish;
use crate::tuned::IN_A_ROW;

/// Why a runnable is queued.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// It was spawned.
    Spawned,
    /// Another task, or none, has woken it.
    Woken,
    /// It has woken itself in its poll.
    Yielded,
}

/// What a thread that has queued a runnable owes the sleepers.
#[derive(Clone, Copy, PartialEq, Eq)]
#[must_use = "what was queued has to be published"]
pub(crate) enum Owed {
    /// A publish.
    Publish,
    /// A publish unless a sentinel watches: the task lies in the slot.
    PublishUnlessWatched,
    /// Nothing: the runner next takes the head of its ring, or publishes the task before it does anything else.
    Nothing,
}

/// Queues a runnable at the seat of this thread's runner. Gives it back if the thread is neither worker nor driver of
/// `pool`; the caller then queues it into the injector.
// Into each caller, which knows the cause.
#[inline(always)]
pub(crate) fn place(pool: &Shared, task: Runnable, cause: Cause) -> Result<Owed, Runnable> {
    // The match stands outside of the closures, so that each caller gets the code of its cause alone.
    match cause {
        Cause::Spawned => with_runner_of(pool, |runner| match runner {
            Some(runner) => Ok(runner.queue_spawned(task)),
            None => Err(task),
        }),
        Cause::Woken => with_runner_of(pool, |runner| match runner {
            Some(runner) => Ok(runner.queue_woken(task)),
            None => Err(task),
        }),
        Cause::Yielded => with_runner_of(pool, |runner| match runner {
            Some(runner) => Ok(runner.queue_yielded(task)),
            None => Err(task),
        }),
    }
}

/// A worker of `pool` calls this before it waits for the others to end: no sentinel will be left to look at its slot.
pub(crate) fn empty_slot_in(pool: &Shared) {
    with_worker_of(pool, |worker| worker.map(Runner::empty_slot));
}

impl Runner<'_> {
    /// Takes the task in its slot, unless [`IN_A_ROW`] such tasks ran in a row: then other tasks have a turn.
    #[inline]
    pub(crate) fn pop_slot(&self) -> Option<Runnable> {
        let row = self.slot_runs.get();
        if row == IN_A_ROW {
            self.slot_runs.set(0);
            return None;
        }
        let task = self.seat.lifo.take();
        self.slot_runs.set(if task.is_some() { row + 1 } else { 0 });
        task
    }

    /// Takes the next task out of its slot or ring, if no other source has a turn before. It finds what a search would
    /// find, at less cost. It publishes a deferred task unless it takes the head of the ring.
    #[inline]
    pub(crate) fn next_at_hand(&self) -> Option<Runnable> {
        if self.seat.lifo.is_empty() {
            if !self.may_run_local() {
                return None;
            }
            let task = self.ring().pop()?;
            self.fairness.ring_ran();
            return Some(task);
        }
        let row = self.slot_runs.get();
        if row == IN_A_ROW || !self.may_run_local() {
            return None;
        }
        self.flush();
        let task = self.seat.lifo.take()?;
        self.slot_runs.set(row + 1);
        self.fairness.slot_ran();
        Some(task)
    }

    /// Whether it may take from its own slot or ring now.
    #[inline]
    fn may_run_local(&self) -> bool {
        self.fairness.may_run_local() && self.pool.lanes.high.is_empty()
    }

    /// Moves the task in its slot to the ring or the injector, and publishes it. The worker calls this before it waits in a poll, or ends.
    pub(crate) fn empty_slot(&self) {
        self.seat.lifo.empty(|task| {
            self.ring().push_or_overflow(task, &self.pool.injector);
            self.pool.publish();
        });
    }

    /// Moves all tasks at its seat into the injector, and returns their number. The caller publishes them.
    pub(crate) fn hand_over(&self) -> usize {
        let mut moved = 0;
        let mut inject = |task| {
            self.pool.injector.push(task);
            moved += 1;
        };
        self.seat.lifo.empty(&mut inject);
        let ring = self.ring();
        while let Some(task) = ring.pop() {
            inject(task);
        }
        moved
    }

    /// A task that was spawned goes to the back of the ring.
    #[inline]
    fn queue_spawned(&self, task: Runnable) -> Owed {
        self.push(task);
        Owed::Publish
    }

    /// A task that yielded goes to the back of the ring, behind published tasks.
    #[inline]
    fn queue_yielded(&self, task: Runnable) -> Owed {
        let word = task.word();
        // On an overflow the tasks before it, which were published, have moved out of the ring.
        if self.push(task) {
            return Owed::Publish;
        }
        match self.deferred.pushed(word) {
            Publish::Now => Owed::Publish,
            Publish::Later => Owed::Nothing,
        }
    }

    /// A worker with an empty ring puts a woken task into its slot. Else the task goes to the back of the ring and
    /// waits its turn. If it did not, the worker would run each of many chains of wakes to its end. The memory that one
    /// chain leaves would be cold for the next.
    #[inline]
    fn queue_woken(&self, task: Runnable) -> Owed {
        if self.is_driver() || self.polled.get() || !self.seat.ring.is_empty() {
            self.push(task);
        } else if let Some(displaced) = self.seat.lifo.put(task) {
            self.push(displaced);
        } else {
            terrace_trace::local_schedule();
            return Owed::PublishUnlessWatched;
        }
        Owed::Publish
    }

    /// Queues `task` into its ring. Returns whether the ring was full: then it has moved tasks into the injector.
    #[inline]
    fn push(&self, task: Runnable) -> bool {
        terrace_trace::local_schedule();
        let overflowed = self.ring().push_or_overflow(task, &self.pool.injector);
        if self.parked.get() {
            // Its own reactor has woken the task: the worker looks first, and wakes others if there is more.
            self.pool.idle.wake_worker(self.index);
        }
        if overflowed {
            self.seat.counts.overflows.add(1);
        }
        overflowed
    }
}

impl Shared {
    /// A counted reference to itself, for a caller that is going to give away the reference that keeps the pool alive.
    /// Cheaper than [`arc`](Self::arc), which first checks that a reference exists.
    ///
    /// # Safety
    /// `this` came out of `Arc::into_raw`, and the reference that it stands for still exists.
    #[inline]
    unsafe fn another_reference(this: NonNull<Self>) -> Arc<Self> {
        // SAFETY: `this` came out of `Arc::into_raw` (the caller's promise), and this reference is not dropped.
        let known = ManuallyDrop::new(unsafe { Arc::from_raw(this.as_ptr()) });
        Arc::clone(&known)
    }

    /// Queues a task that was spawned, from any thread that keeps the pool alive.
    #[inline]
    pub(crate) fn push_spawned(&self, task: Runnable) {
        if let Err(task) = self.push_here(task, Cause::Spawned) {
            self.inject(task);
        }
    }

    /// Queues a task if the thread is a worker or driver of the pool; else gives it back.
    // Into each caller, which knows the cause.
    #[inline(always)]
    fn push_here(&self, task: Runnable, cause: Cause) -> Result<(), Runnable> {
        match place(self, task, cause)? {
            Owed::Publish => self.publish(),
            Owed::PublishUnlessWatched => self.publish_unless_watched(),
            Owed::Nothing => {}
        }
        Ok(())
    }

    /// Queues a task from a thread that is neither worker nor driver of the pool, and that keeps the pool alive.
    fn inject(&self, task: Runnable) {
        self.injector.push(task);
        self.publish();
    }

    /// Queues a runnable of a foreign cell, from any thread that keeps the pool alive.
    #[inline(always)]
    pub(crate) fn push_foreign(&self, task: Runnable, cause: Cause) {
        if let Err(task) = self.push_here(task, cause) {
            self.inject(task);
            // A thread with a seat keeps the pool open.
            self.drop_if_closed();
        }
    }

    /// Queues a task of a lane that is not the normal one, from any thread that keeps the pool alive.
    fn push_on(&self, lane: Lane, task: Runnable) {
        task.mark().queued_on_lane(lane == Lane::High);
        self.injector.note_rival();
        if lane == Lane::High {
            self.lanes.high.push(task);
            return self.publish();
        }
        self.lanes.background.push(task);
        match self.lanes.permits.after_push(self.permits()) {
            Publish::Now => self.publish(),
            Publish::Later => {}
        }
    }
}

/// A kind of tasks of a pool.
pub(crate) trait Kind: 'static {
    /// Whether its pending tasks register, so that the drop of the pool finds them.
    const REGISTERS: bool;

    /// Queues a task that was woken, or that has yielded.
    ///
    /// # Safety
    /// As [`Schedule::schedule`], for a task that refers to `pool`.
    unsafe fn queue(pool: NonNull<Shared>, task: Runnable, cause: Cause);
}

/// The pool as the core of tasks of one kind.
#[repr(transparent)]
pub(crate) struct CoreOf<K> {
    pool: Shared,
    kind: PhantomData<fn() -> K>,
}

impl<K> CoreOf<K> {
    pub(crate) fn of(pool: &Shared) -> &Self {
        // SAFETY: this type wraps `Shared` transparently.
        unsafe { &*ptr::from_ref(pool).cast::<Self>() }
    }

    /// A reference that counts.
    pub(crate) fn counted(pool: Arc<Shared>) -> Arc<Self> {
        let pool = Arc::into_raw(pool).cast::<Self>();
        // SAFETY: the pointer comes out of `into_raw` of an `Arc<Shared>`, which this type wraps transparently.
        unsafe { Arc::from_raw(pool) }
    }
}

impl<K: Kind> Core for CoreOf<K> {
    fn panic_handler(&self) -> Option<PanicHandler> {
        self.pool.handler.clone()
    }

    fn registry(&self) -> Option<&dyn Register> {
        K::REGISTERS.then_some(&self.pool.registry)
    }

    #[inline]
    unsafe fn release(this: NonNull<Self>) {
        // SAFETY: `this` is the task's reference, which came out of `Arc::into_raw` in `counted`. The task gives it up by this call.
        let reference = unsafe { Arc::from_raw(this.as_ptr().cast::<Shared>()) };
        runner::keep_reference(reference);
    }

    const COUNTS: bool = true;

    #[inline]
    unsafe fn ended(&self) {
        runner::count_end(&self.pool);
    }

    fn abandoned(&self) {
        runner::count_end(&self.pool);
    }
}

impl<K: Kind> Schedule for CoreOf<K> {
    unsafe fn schedule(this: NonNull<Self>, task: Runnable) {
        // SAFETY: the contract of this method is that of the other. This type wraps `Shared` transparently.
        unsafe { K::queue(this.cast(), task, Cause::Woken) }
    }

    unsafe fn schedule_again(this: NonNull<Self>, task: Runnable) {
        // SAFETY: the contract of this method is that of the other. This type wraps `Shared` transparently.
        unsafe { K::queue(this.cast(), task, Cause::Yielded) }
    }
}

/// The usual tasks.
pub(crate) enum Usual {}

impl Kind for Usual {
    const REGISTERS: bool = true;

    // Into each caller, which knows the cause.
    #[inline(always)]
    unsafe fn queue(pool: NonNull<Shared>, task: Runnable, cause: Cause) {
        // SAFETY: the task's reference keeps the pool alive up to the push. After a push that succeeds, the worker, or
        // the thread that polls the driver, keeps the pool alive.
        if let Err(task) = unsafe { pool.as_ref() }.push_here(task, cause) {
            // SAFETY: the task's reference, which has not been pushed, came out of `Arc::into_raw`.
            let pool = unsafe { Shared::another_reference(pool) };
            pool.inject(task);
        }
    }
}

/// Tasks of a static executor, which is never dropped: they need not register, and count no reference.
pub(crate) enum Unregistered {}

impl Kind for Unregistered {
    const REGISTERS: bool = false;

    #[inline(always)]
    unsafe fn queue(pool: NonNull<Shared>, task: Runnable, cause: Cause) {
        // SAFETY: the pool of these tasks is never dropped.
        let pool = unsafe { pool.as_ref() };
        if let Err(task) = pool.push_here(task, cause) {
            pool.inject(task);
        }
    }
}

/// Tasks of one lane: of the high lane if `HIGH`, else of the background lane.
pub(crate) enum OnLane<const HIGH: bool> {}

impl<const HIGH: bool> Kind for OnLane<HIGH> {
    const REGISTERS: bool = true;

    unsafe fn queue(pool: NonNull<Shared>, task: Runnable, _: Cause) {
        let lane = if HIGH { Lane::High } else { Lane::Background };
        // SAFETY: the task's reference keeps the pool alive up to the push. It goes with the push, so the push needs another one.
        unsafe { pool.as_ref() }.arc().push_on(lane, task);
    }
}
