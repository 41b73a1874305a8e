//! [`Children`]: the children of a group, in the order of their spawns, and their results.
//!
//! | slot      | the child                                                                     |
//! |-----------|-------------------------------------------------------------------------------|
//! | `Running` | has not ended, or the group has not seen it                                   |
//! | `Done`    | has ended, and the group has its value                                        |
//! | `Gone`    | has failed or was cancelled, or its value was handed out                      |
//!
//! The first failure begins the end of the group: all others but shielded ones are cancelled. Each of them stays `Running`
//! until its future has been dropped.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::task::{Context, Poll, Waker};

use terrace_sync::Arc;

use super::block::{Block, CHILDREN};
use crate::task::FallibleTask;
use crate::task::outcome::Gone;
use crate::unwind::{Payload, contain, drop_payload, resume_unwind};

/// So many queued children are worth a yield of the group's task.
const WORTH_A_YIELD: usize = 2;

/// Whether a failure, or a cancellation, of its group cancels a child.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Shield {
    /// It is cancelled.
    No,
    /// It runs to its end.
    Yes,
}

enum Slot<T, E> {
    Running(FallibleTask<Result<T, E>>, Shield),
    Done(T),
    Gone,
}

/// The first failure of a group.
enum Failure<E> {
    Error(E),
    Panic(Payload),
    /// The executor dropped a child that the group has not cancelled.
    Dropped,
}

/// The end of a child: its result or panic, or `None` if its future was dropped before it was done.
type End<T, E> = Option<Result<Result<T, E>, Payload>>;

/// See the [module](self).
pub(super) struct Children<T, E> {
    slots: VecDeque<Slot<T, E>>,
    /// The number of the first slot. A multiple of `CHILDREN`.
    first: usize,
    /// Running slots.
    running: usize,
    /// Children below this number have been polled with the wakers of the blocks.
    armed: usize,
    /// Children that were queued since the last poll, and have not had a turn for all that the group knows.
    queued: usize,
    /// One for each `CHILDREN` slots, up to the last child that a poll has found running.
    blocks: VecDeque<Arc<Block>>,
    /// [`next_done`](Self::next_done) has passed the children below this number. Those that are done later are in `late`.
    passed: usize,
    late: VecDeque<usize>,
    /// Whether the group ends: it has cancelled its children.
    ends: bool,
    failure: Option<Failure<E>>,
}

impl<T, E> Children<T, E> {
    pub(super) const fn new() -> Self {
        Self {
            slots: VecDeque::new(),
            first: 0,
            running: 0,
            armed: 0,
            queued: 0,
            blocks: VecDeque::new(),
            passed: 0,
            late: VecDeque::new(),
            ends: false,
            failure: None,
        }
    }

    /// Makes room for another child, so that [`push`](Self::push) cannot fail.
    #[inline]
    pub(super) fn reserve(&mut self, children: usize) {
        self.slots.reserve(children);
    }

    /// Whether the group ends, so that it takes no further child.
    #[inline]
    pub(super) fn ends(&self) -> bool {
        self.ends
    }

    /// Whether there is neither a child nor a result.
    pub(super) fn is_empty(&self) -> bool {
        self.running == 0 && self.failure.is_none() && self.slots.iter().all(Slot::is_gone)
    }

    /// The number of the next child.
    #[inline]
    fn end(&self) -> usize {
        self.first + self.slots.len()
    }

    /// A child that is not spawned, because the group ends. Returns its number.
    pub(super) fn push_gone(&mut self) -> usize {
        let number = self.end();
        self.slots.push_back(Slot::Gone);
        number
    }

    /// The child that comes next is queued.
    #[inline]
    pub(super) fn note_queued(&mut self) {
        self.queued += 1;
    }

    /// A child that was just spawned, and perhaps polled. Returns its number.
    #[inline]
    pub(super) fn push(&mut self, mut task: FallibleTask<Result<T, E>>, shield: Shield) -> usize {
        let number = self.end();
        match task.take_finished() {
            Some(Some(Ok(Ok(value)))) => self.slots.push_back(Slot::Done(value)),
            finished => self.push_other(task, shield, finished),
        }
        number
    }

    #[inline(never)]
    fn push_other(
        &mut self,
        task: FallibleTask<Result<T, E>>,
        shield: Shield,
        finished: Option<End<T, E>>,
    ) {
        let slot = self.slots.len();
        self.slots.push_back(Slot::Running(task, shield));
        self.running += 1;
        if let Some(end) = finished {
            self.settle(slot, end);
        }
    }

    /// Polls the children that have woken the group, and new ones. Ready when all have ended.
    ///
    /// If several children were queued since the last poll, and one has not ended, the group's task lets them have their turn first,
    /// by a yield. Those that end in it are not polled before: that saves each an awaiter, three read-modify-writes and a part of a
    /// block.
    pub(super) fn poll(&mut self, context: &Context<'_>) -> Poll<()> {
        if core::mem::take(&mut self.queued) >= WORTH_A_YIELD && self.new_one_runs() {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        while self.running > 0 {
            self.arm(context.waker());
            for block in 0..self.blocks.len() {
                let mut woken = self.blocks[block].take();
                while woken != 0 {
                    let child = woken.trailing_zeros() as usize;
                    woken &= woken - 1;
                    self.poll_slot(block * CHILDREN + child);
                }
            }
            // A failure that the loop has found cancels children, which are to be polled again.
            if self.armed == self.end() && self.running > 0 {
                return Poll::Pending;
            }
        }
        Poll::Ready(())
    }

    /// Whether a child that has not been polled has not ended.
    fn new_one_runs(&self) -> bool {
        let new = self.slots.iter().skip(self.armed - self.first);
        let mut running = new.filter_map(|slot| match slot {
            Slot::Running(task, _) => Some(task),
            _ => None,
        });
        running.any(|task| !task.is_finished())
    }

    /// Polls each child that has not been polled with this waker.
    fn arm(&mut self, waker: &Waker) {
        let is_other = |block: &Arc<Block>| !block.waker().will_wake(waker);
        if self.blocks.front().is_some_and(is_other) {
            self.armed = self.first;
            self.blocks.clear();
        }
        while self.armed < self.end() {
            let slot = self.armed - self.first;
            self.armed += 1;
            let Some(Slot::Running(task, _)) = self.slots.get_mut(slot) else {
                continue;
            };
            // What has ended needs no block.
            if let Some(end) = task.take_finished() {
                self.settle(slot, end);
                continue;
            }
            while self.blocks.len() <= slot / CHILDREN {
                self.blocks.push_back(Block::new(waker.clone()));
            }
            self.poll_slot(slot);
        }
    }

    fn poll_slot(&mut self, slot: usize) {
        let Some(Slot::Running(task, _)) = self.slots.get_mut(slot) else {
            return;
        };
        let waker = Block::lend(&self.blocks[slot / CHILDREN], slot % CHILDREN);
        if let Poll::Ready(end) = task.poll_result(&mut Context::from_waker(&waker)) {
            self.settle(slot, end);
        }
    }

    /// A running child has ended.
    fn settle(&mut self, slot: usize, end: End<T, E>) {
        self.running -= 1;
        let failure = match end {
            Some(Ok(Ok(value))) => {
                self.slots[slot] = Slot::Done(value);
                let number = self.first + slot;
                if number < self.passed {
                    self.late.push_back(number);
                }
                return;
            }
            Some(Ok(Err(error))) => Failure::Error(error),
            Some(Err(payload)) => Failure::Panic(payload),
            None => Failure::Dropped,
        };
        self.slots[slot] = Slot::Gone;
        if !self.ends {
            self.failure = Some(failure);
            return self.cancel();
        }
        // One came before, or the group has cancelled its children.
        failure.discard();
    }

    /// The group ends: cancels all children but shielded ones.
    pub(super) fn cancel(&mut self) {
        self.ends = true;
        // The cancellation leaves no waker of this group.
        self.armed = self.first;
        for slot in 0..self.slots.len() {
            if let Slot::Running(task, Shield::No) = &mut self.slots[slot] {
                if let Poll::Ready(end) = task.begin_cancel() {
                    self.settle(slot, end);
                }
            }
        }
    }

    /// The next value that [`poll`](Self::poll) has found, with its child's number. None where the group ends: its values are
    /// dropped.
    pub(super) fn next_done(&mut self) -> Option<(usize, T)> {
        if self.ends {
            return None;
        }
        if let Some(number) = self.late.pop_front() {
            return self.take(number);
        }
        while self.passed < self.end() {
            let number = self.passed;
            self.passed += 1;
            if let Some(done) = self.take(number) {
                return Some(done);
            }
        }
        None
    }

    fn take(&mut self, number: usize) -> Option<(usize, T)> {
        let slot = &mut self.slots[number - self.first];
        if !matches!(slot, Slot::Done(_)) {
            return None;
        }
        let Slot::Done(value) = core::mem::replace(slot, Slot::Gone) else {
            unreachable!("looked at above");
        };
        self.forget_gone();
        Some((number, value))
    }

    /// The group's task forgets whole blocks of children that are gone. So a group to which it adds children without end stays small.
    fn forget_gone(&mut self) {
        while self.passed - self.first >= CHILDREN
            && self.slots.iter().take(CHILDREN).all(Slot::is_gone)
        {
            self.slots.drain(..CHILDREN);
            self.blocks.pop_front();
            self.first += CHILDREN;
            self.armed = self.armed.max(self.first);
        }
    }

    /// The values in order, or the first failure. All children have ended; the group begins anew.
    ///
    /// # Panics
    /// With the panic of a child, or if the executor has dropped one.
    pub(super) fn finish(&mut self) -> Result<Vec<T>, E> {
        debug_assert_eq!(self.running, 0);
        self.first = 0;
        self.armed = 0;
        self.passed = 0;
        self.queued = 0;
        self.ends = false;
        self.late.clear();
        self.blocks.clear();
        let Some(failure) = self.failure.take() else {
            let mut values = Vec::with_capacity(self.slots.len());
            values.extend(self.slots.drain(..).filter_map(Slot::into_value));
            return Ok(values);
        };
        self.discard();
        match failure {
            Failure::Error(error) => Err(error),
            Failure::Panic(payload) => resume_unwind(payload),
            Failure::Dropped => Gone::Cancelled.panic(),
        }
    }

    /// Drops the values. A panic of one's destructor stops here: the others are dropped, too.
    pub(super) fn discard(&mut self) {
        for slot in core::mem::take(&mut self.slots) {
            contain(|| drop(slot));
        }
    }

    /// Whether a child has failed.
    pub(super) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Whether no child runs.
    pub(super) fn all_ended(&self) -> bool {
        self.running == 0
    }

    /// Lets shielded children run on, and drops all others.
    pub(super) fn release(&mut self) {
        for slot in core::mem::take(&mut self.slots) {
            match slot {
                Slot::Running(task, Shield::Yes) => task.detach(),
                slot => contain(|| drop(slot)),
            }
        }
        if let Some(failure) = self.failure.take() {
            failure.discard();
        }
    }
}

impl<T, E> Slot<T, E> {
    fn is_gone(&self) -> bool {
        matches!(self, Self::Gone)
    }

    fn into_value(self) -> Option<T> {
        match self {
            Self::Done(value) => Some(value),
            Self::Running(..) | Self::Gone => None,
        }
    }
}

impl<E> Failure<E> {
    fn discard(self) {
        match self {
            Self::Panic(payload) => drop_payload(payload),
            Self::Error(error) => contain(|| drop(error)),
            Self::Dropped => {}
        }
    }
}
