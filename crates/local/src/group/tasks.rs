//! [`Tasks`]: the children of a group, or the tasks of a set, in the order of their spawns.
//!
//! | slot      | the task                                                                      |
//! |-----------|-------------------------------------------------------------------------------|
//! | `Running` | has not ended, or the list has not seen it                                    |
//! | `Done`    | has ended, and the group keeps its value here                                 |
//! | `Gone`    | has ended, and left nothing here, or its value was handed out                 |
//!
//! Slots come and go in blocks of [`CHILDREN`]. A block whose tasks are all gone is forgotten wherever it lies, so that a task that goes on
//! for long keeps no slots of others. Where one was forgotten between others, `starts` has the numbers that tasks keep all the same.
//!
//! Tasks wake the list's owner through [`Block`]s, and their fronts name those in which one has done so. A poll looks at no others. Where
//! the list sees the end of a task, it asks the [`Owner`] what stays in the slot.

use alloc::collections::VecDeque;
use core::task::{Context, Poll, Waker};

use terrace_sync::Arc;

use super::block::{BLOCKS, Block, CHILDREN};
use crate::task::FallibleTask;
use crate::task::either::End;
use crate::unwind::contain;

/// Whether a failure, or a cancellation, of its group cancels a child.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Shield {
    /// It is cancelled.
    No,
    /// It runs to its end.
    Yes,
}

pub(super) enum Slot<T, D> {
    Running(FallibleTask<T>, Shield),
    Done(D),
    Gone,
}

/// The owner of a list of tasks with output `T`. Slots keep a `D` of tasks that have ended.
pub(super) trait Owner<T, D> {
    /// A task has ended. Returns what its slot keeps.
    fn ended(&mut self, number: usize, end: End<T>) -> Option<D>;
}

/// See the [module](self).
pub(super) struct Tasks<T, D, O> {
    pub(super) owner: O,
    pub(super) slots: VecDeque<Slot<T, D>>,
    /// The number of the first slot.
    first: usize,
    /// That of the first task since the list was empty: blocks are counted from there.
    origin: usize,
    /// The number of the next task.
    pub(super) next: usize,
    /// The number of the first slot of each block. Empty while the numbers of all slots are in a row.
    starts: VecDeque<usize>,
    /// Running slots.
    pub(super) running: usize,
    /// Whether the owner's task waits: the last poll was pending.
    pub(super) waits: bool,
    /// Tasks in slots before this one have been polled with the wakers of the blocks.
    armed: usize,
    /// One for each `CHILDREN` slots, up to the last task that a poll has found running.
    blocks: VecDeque<Arc<Block>>,
    /// The fronts of these blocks, each with its place among all ranges of [`BLOCKS`] blocks since the list was empty.
    fronts: VecDeque<(usize, Arc<Block>)>,
}

impl<T, D, O: Owner<T, D>> Tasks<T, D, O> {
    pub(super) const fn new(owner: O) -> Self {
        Self {
            owner,
            slots: VecDeque::new(),
            first: 0,
            origin: 0,
            next: 0,
            starts: VecDeque::new(),
            running: 0,
            waits: false,
            armed: 0,
            blocks: VecDeque::new(),
            fronts: VecDeque::new(),
        }
    }

    /// The number of the task in a slot.
    #[inline]
    fn number(&self, slot: usize) -> usize {
        match self.starts.get(slot / CHILDREN) {
            Some(start) => start + slot % CHILDREN,
            None => self.first + slot,
        }
    }

    /// The slot of a task; `None` if the list has forgotten it.
    pub(super) fn slot(&self, number: usize) -> Option<usize> {
        if self.starts.is_empty() {
            return number.checked_sub(self.first);
        }
        let behind = self.starts.partition_point(|start| *start <= number);
        let block = behind.checked_sub(1)?;
        let child = number - self.starts[block];
        (child < CHILDREN).then_some(block * CHILDREN + child)
    }

    /// Makes room for a task that the caller is about to spawn. The owner's task that waits has not polled the new one.
    #[inline]
    pub(super) fn make_room(&mut self) {
        self.slots.reserve(1);
        if !self.starts.is_empty() {
            self.starts.reserve(1);
        }
        self.wake();
    }

    /// Wakes the owner's task if it waits: the list has changed behind its last poll.
    #[inline]
    pub(super) fn wake(&mut self) {
        if core::mem::take(&mut self.waits) {
            self.wake_front();
        }
    }

    #[cold]
    fn wake_front(&self) {
        if let Some((_, front)) = self.fronts.front() {
            front.waker().wake_by_ref();
        }
    }

    /// Adds a task; its number. The caller has made room for it before it spawned it, so that this cannot fail.
    pub(super) fn push(&mut self, task: FallibleTask<T>, shield: Shield) -> usize {
        self.running += 1;
        self.push_slot(Slot::Running(task, shield))
    }

    /// Adds a slot; the number of its task. The caller has made room for it.
    #[inline]
    pub(super) fn push_slot(&mut self, slot: Slot<T, D>) -> usize {
        let number = self.next;
        if !self.starts.is_empty() && self.slots.len() % CHILDREN == 0 {
            self.starts.push_back(number);
        }
        self.slots.push_back(slot);
        self.next += 1;
        number
    }

    /// Whether a task that has not been polled has not ended.
    pub(super) fn new_one_runs(&self) -> bool {
        let mut new = self.slots.iter().skip(self.armed);
        new.any(|slot| matches!(slot, Slot::Running(task, _) if !task.is_finished()))
    }

    /// Polls the tasks that have woken the list's owner, and new ones. From now on the tasks wake `waker`.
    pub(super) fn look(&mut self, waker: &Waker) {
        self.waits = false;
        let is_other = |(_, front): &(_, Arc<Block>)| !front.waker().will_wake(waker);
        if self.fronts.front().is_some_and(is_other) {
            self.armed = 0;
            self.blocks.clear();
            self.fronts.clear();
        }
        self.arm(waker);
        self.poll_woken();
    }

    /// As [`look`](Self::look), beside the owner's task: the tasks go on to wake that one, if it has ever waited.
    pub(super) fn look_beside(&mut self) {
        self.arm(Waker::noop());
        self.poll_woken();
    }

    /// Polls each new task with the waker of the blocks, or with this one if there are no blocks so far.
    fn arm(&mut self, waker: &Waker) {
        while self.armed < self.slots.len() {
            let slot = self.armed;
            // Leaves no waker but that of the last look.
            self.poll_slot(slot, |task, context| {
                let end = task.take_finished(context);
                end.map_or(Poll::Pending, Poll::Ready)
            });
            // What has ended needs no block.
            if matches!(self.slots[slot], Slot::Running(..)) {
                while self.blocks.len() <= slot / CHILDREN {
                    self.push_block(waker);
                }
                self.poll_slot(slot, FallibleTask::poll_end);
            }
            self.armed += 1;
            if self.armed % CHILDREN == 0 {
                self.forget_if_gone(slot / CHILDREN);
            }
        }
    }

    /// Adds a block, whose waker is that of the other blocks, or this one.
    fn push_block(&mut self, waker: &Waker) {
        let number = (self.number(self.blocks.len() * CHILDREN) - self.origin) / CHILDREN;
        let (range, number) = (number / BLOCKS, number % BLOCKS);
        let block = match self.fronts.back() {
            Some((last, front)) if *last == range => Block::behind(front, number),
            last => {
                let waker = last.map_or(waker, |(_, front)| front.waker());
                let front = Block::front(number, waker.clone());
                self.fronts.push_back((range, Arc::clone(&front)));
                front
            }
        };
        self.blocks.push_back(block);
    }

    /// Polls the tasks that have woken the list's owner.
    fn poll_woken(&mut self) {
        let mut at = 0;
        while let Some((range, front)) = self.fronts.get(at) {
            let first = range * BLOCKS;
            let mut woken = front.take_blocks();
            while woken != 0 {
                let block = first + woken.trailing_zeros() as usize;
                woken &= woken - 1;
                self.poll_woken_in(block);
            }
            if Arc::strong_count(&self.fronts[at].1) == 1 {
                // None of its blocks is left.
                self.fronts.remove(at);
            } else {
                at += 1;
            }
        }
    }

    /// Polls the tasks of the block with this number that have woken the list's owner.
    fn poll_woken_in(&mut self, block: usize) {
        let Some(slot) = self.slot(self.origin + block * CHILDREN) else {
            return;
        };
        let block = slot / CHILDREN;
        let mut woken = self.blocks.get(block).map_or(0, |block| block.take());
        while woken != 0 {
            let child = woken.trailing_zeros() as usize;
            woken &= woken - 1;
            self.poll_slot(slot + child, FallibleTask::poll_end);
        }
        self.forget_if_gone(block);
    }

    /// Polls a running task by `poll`, with the waker of its block if it has one: a poll replaces the waker that the last one left.
    /// False if no task runs in the slot.
    fn poll_slot(
        &mut self,
        slot: usize,
        poll: impl FnOnce(&mut FallibleTask<T>, &mut Context<'_>) -> Poll<End<T>>,
    ) -> bool {
        let Some(Slot::Running(task, _)) = self.slots.get_mut(slot) else {
            return false;
        };
        let block = self.blocks.get(slot / CHILDREN);
        let lent = block.map(|block| Block::lend(block, slot % CHILDREN));
        let waker = lent.as_deref().unwrap_or(Waker::noop());
        if let Poll::Ready(end) = poll(task, &mut Context::from_waker(waker)) {
            self.settle(slot, end);
        }
        true
    }

    /// A running task has ended. Where the list sees that beside a poll, it has taken the wake of the owner's task that waits.
    pub(super) fn settle(&mut self, slot: usize, end: End<T>) {
        self.wake();
        self.running -= 1;
        let kept = self.owner.ended(self.number(slot), end);
        self.slots[slot] = kept.map_or(Slot::Gone, Slot::Done);
    }

    /// Cancels a running task. False if there is none in the slot.
    pub(super) fn cancel(&mut self, slot: usize) -> bool {
        self.poll_slot(slot, FallibleTask::begin_cancel)
    }

    /// Forgets a whole block if all its tasks are gone. So a list to which its owner adds tasks without end stays small, whatever
    /// other tasks go on. The blocks behind it move up by one.
    pub(super) fn forget_if_gone(&mut self, block: usize) {
        let (begin, end) = (block * CHILDREN, (block + 1) * CHILDREN);
        if self.slots.len() < end || !self.slots.range(begin..end).all(Slot::is_gone) {
            return;
        }
        if block > 0 && self.starts.is_empty() {
            self.starts
                .extend((self.first..self.next).step_by(CHILDREN));
        }
        if self.starts.remove(block).is_some() {
            self.first = self.starts.front().copied().unwrap_or(self.next);
        } else {
            self.first += CHILDREN;
        }
        self.slots.drain(begin..end);
        self.blocks.remove(block);
        if self.armed > begin {
            self.armed = begin.max(self.armed.saturating_sub(CHILDREN));
        }
    }

    /// Forgets all blocks whose tasks are gone: some have ended beside a poll.
    pub(super) fn forget_gone(&mut self) {
        for block in (0..self.slots.len() / CHILDREN).rev() {
            self.forget_if_gone(block);
        }
    }

    /// How many slots, blocks and fronts there are.
    #[cfg(test)]
    pub(super) fn lengths(&self) -> [usize; 3] {
        [self.slots.len(), self.blocks.len(), self.fronts.len()]
    }

    /// Takes all slots out. Numbers go on with `first`.
    pub(super) fn clear(&mut self, first: usize) -> VecDeque<Slot<T, D>> {
        (self.first, self.origin, self.next) = (first, first, first);
        self.starts.clear();
        self.armed = 0;
        self.running = 0;
        self.blocks.clear();
        self.fronts.clear();
        core::mem::take(&mut self.slots)
    }
}

impl<T, D> Slot<T, D> {
    pub(super) fn is_gone(&self) -> bool {
        matches!(self, Self::Gone)
    }

    /// The value of a task that has ended, if it is here.
    pub(super) fn take_value(&mut self) -> Option<D> {
        match core::mem::replace(self, Self::Gone) {
            Self::Done(value) => Some(value),
            other => {
                *self = other;
                None
            }
        }
    }
}

/// Drops what no caller gets. The panic of a destructor, which is users' code, stops here and meets no other one.
pub(super) fn discard_all<V>(values: impl IntoIterator<Item = V>) {
    for value in values {
        contain(|| drop(value));
    }
}
