//! [`Tasks`]: the children of a group, or the tasks of a set, that have not ended.
//!
//! Each has a slot of a slab, and each [`CHILDREN`] slots have a [`Block`], through which their tasks wake the owner of the list. So a slot is
//! used again where its task has ended. A late wake of the task before costs the next one in its slot a poll. Where most tasks have
//! ended, those that are left move together: tasks that go on for long keep no slots of others.
//!
//! Blocks are in groups of [`BLOCKS`]: the first one of each is the front of the others. It names those in which a task has woken the
//! owner, and a look polls no tasks of others.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::task::{Context, Poll, Waker};

use slab::Slab;
use terrace_sync::Arc;

use super::block::{BLOCKS, Block, CHILDREN};
use crate::task::FallibleTask;
use crate::task::fallible::End;
use crate::unwind::contain;

/// Whether a failure, or a cancellation, of its group cancels a child.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Shield {
    /// It is cancelled.
    No,
    /// It runs to its end.
    Yes,
}

/// A task that has not ended, for all that the list knows.
pub(super) struct Running<T> {
    pub(super) task: FallibleTask<T>,
    pub(super) shield: Shield,
    /// Its number, in the order of the spawns.
    pub(super) number: usize,
}

/// See the [module](self).
pub(super) struct Tasks<T> {
    pub(super) running: Slab<Running<T>>,
    /// Slots whose tasks no look has polled so far.
    new: Vec<usize>,
    /// The number of the next task.
    next: usize,
    /// Ends that the owner has not taken, with the numbers of the tasks, in the order in which the list has found them.
    pub(super) ended: VecDeque<(usize, End<T>)>,
    /// Whether the owner's task waits: the last poll was pending.
    pub(super) waits: bool,
    /// One for each `CHILDREN` slots, up to the last task that a look has found running.
    blocks: Vec<Arc<Block>>,
}

impl<T> Tasks<T> {
    pub(super) const fn new() -> Self {
        Self {
            running: Slab::new(),
            new: Vec::new(),
            next: 0,
            ended: VecDeque::new(),
            waits: false,
            blocks: Vec::new(),
        }
    }

    /// The number of a task that the caller is about to spawn. The owner's task that waits has not polled that one, so it is woken.
    #[inline]
    pub(super) fn number(&mut self) -> usize {
        self.wake();
        let number = self.next;
        self.next += 1;
        number
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
        if let Some(front) = self.blocks.first() {
            front.waker().wake_by_ref();
        }
    }

    /// Adds a task with this number.
    pub(super) fn push(&mut self, number: usize, task: FallibleTask<T>, shield: Shield) {
        self.new.push(self.running.insert(Running {
            task,
            shield,
            number,
        }));
    }

    /// Whether a task that has not been polled has not ended.
    pub(super) fn new_one_runs(&self) -> bool {
        let mut new = self.new.iter().filter_map(|slot| self.running.get(*slot));
        new.any(|new| !new.task.is_finished())
    }

    /// Polls the tasks that have woken the list's owner, and new ones. From now on the tasks wake `waker`.
    pub(super) fn look(&mut self, waker: &Waker) {
        self.waits = false;
        let front = self.blocks.first();
        if front.is_some_and(|front| !front.waker().will_wake(waker)) {
            self.blocks.clear();
            self.new.clear();
            self.new.extend(self.running.iter().map(|(slot, _)| slot));
        }
        self.look_beside(waker);
    }

    /// As [`look`](Self::look), beside the owner's task: the tasks go on to wake that one, or `waker` if none has ever waited.
    pub(super) fn look_beside(&mut self, waker: &Waker) {
        match self.blocks.first() {
            Some(front) if self.blocks.len() > self.running.len() + 2 => {
                let waker = front.waker().clone();
                self.move_together();
                self.poll_new(&waker);
            }
            _ => self.poll_new(waker),
        }
        self.poll_woken();
    }

    /// Most tasks have ended: those that are left take the first slots, and are polled as new ones.
    #[cold]
    fn move_together(&mut self) {
        // The owner's task that waits does not learn of an end by the blocks that go.
        self.wake();
        self.blocks.clear();
        self.new.clear();
        for (_, task) in core::mem::take(&mut self.running) {
            self.new.push(self.running.insert(task));
        }
    }

    /// Polls new tasks.
    fn poll_new(&mut self, waker: &Waker) {
        for at in 0..self.new.len() {
            let slot = self.new[at];
            // Leaves no waker but that of the last look.
            self.poll_slot(slot, |task, context| {
                let end = task.take_finished(context);
                end.map_or(Poll::Pending, Poll::Ready)
            });
            // What has ended needs no block.
            if self.running.contains(slot) {
                while self.blocks.len() <= slot / CHILDREN {
                    self.push_block(waker);
                }
                self.poll_slot(slot, FallibleTask::poll_end);
            }
        }
        self.new.clear();
    }

    /// Adds a block, whose waker is that of the other blocks, or this one.
    fn push_block(&mut self, waker: &Waker) {
        let number = self.blocks.len() % BLOCKS;
        let block = if number == 0 {
            let waker = self.blocks.first().map_or(waker, |front| front.waker());
            Block::front(waker.clone())
        } else {
            Block::behind(&self.blocks[self.blocks.len() - number], number)
        };
        self.blocks.push(block);
    }

    /// Polls the tasks that have woken the list's owner.
    fn poll_woken(&mut self) {
        for front in (0..self.blocks.len()).step_by(BLOCKS) {
            let blocks = self
                .blocks
                .get(front)
                .map_or(0, |front| front.take_blocks());
            for block in bits(blocks).map(|number| front + number) {
                let children = self.blocks.get(block).map_or(0, |block| block.take());
                for child in bits(children) {
                    self.poll_slot(block * CHILDREN + child, FallibleTask::poll_end);
                }
            }
        }
    }

    /// Polls a running task by `poll`, with the waker of its block if it has one: a poll replaces the waker that the last one left.
    fn poll_slot(
        &mut self,
        slot: usize,
        poll: impl FnOnce(&mut FallibleTask<T>, &mut Context<'_>) -> Poll<End<T>>,
    ) {
        let Some(Running { task, number, .. }) = self.running.get_mut(slot) else {
            return;
        };
        let block = self.blocks.get(slot / CHILDREN);
        let lent = block.map(|block| Block::lend(block, slot % CHILDREN));
        let waker = lent.as_deref().unwrap_or(Waker::noop());
        if let Poll::Ready(end) = poll(task, &mut Context::from_waker(waker)) {
            self.ended.push_back((*number, end));
            self.running.remove(slot);
            // Where the list sees the end beside a poll, it has taken the wake of the owner's task that waits.
            self.wake();
            if self.running.is_empty() {
                // The next tasks begin with the first slot.
                self.running.clear();
                self.blocks.truncate(1);
            }
        }
    }

    /// Cancels the tasks of which `which` is true. False if there are none.
    pub(super) fn cancel(&mut self, which: impl Fn(&Running<T>) -> bool) -> bool {
        let mut any = false;
        for slot in 0..self.slots() {
            if self.running.get(slot).is_some_and(&which) {
                self.poll_slot(slot, FallibleTask::begin_cancel);
                any = true;
            }
        }
        let running = &self.running;
        self.new.retain(|slot| running.contains(*slot));
        any
    }

    /// How many slots there are, up to the last one with a task.
    fn slots(&self) -> usize {
        let last = self.running.iter().next_back();
        last.map_or(0, |(slot, _)| slot + 1)
    }

    /// How many slots and blocks there are.
    #[cfg(test)]
    pub(super) fn lengths(&self) -> [usize; 2] {
        [self.slots(), self.blocks.len()]
    }

    /// Drops tasks and ends. A panic of one's destructor stops here: the others are dropped, too.
    pub(super) fn discard(&mut self) {
        discard_all(core::mem::take(&mut self.running));
        discard_all(core::mem::take(&mut self.ended));
        self.new.clear();
        self.blocks.clear();
    }

    /// Begins anew, with number 0. All tasks have ended.
    pub(super) fn restart(&mut self) {
        debug_assert!(self.running.is_empty());
        self.next = 0;
        self.new.clear();
        self.blocks.clear();
    }
}

/// The numbers of the bits that are set.
fn bits(mut word: usize) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let bit = (word != 0).then_some(word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(bit)
    })
}

/// Drops what no caller gets. The panic of a destructor, which is users' code, stops here and meets no other one.
pub(super) fn discard_all<V>(values: impl IntoIterator<Item = V>) {
    for value in values {
        contain(|| drop(value));
    }
}
