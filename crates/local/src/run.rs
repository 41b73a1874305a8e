//! Runs of tasks, on the owner's thread.

use crate::cells;
use crate::on_owner::OnOwner;
use crate::task::local::cell::Item;
use crate::task::local::cell::LocalCore;

impl LocalCore {
    /// Polls one task if the current thread is the owner and one is queued. Panics of tasks stay in their handles.
    pub fn try_tick(&self) -> bool {
        self.on_owner().is_some_and(OnOwner::tick)
    }
}

impl OnOwner<'_, LocalCore> {
    /// Polls one task; false if none is queued.
    #[inline]
    pub(crate) fn tick(self) -> bool {
        match self.mailbox().pop() {
            Some(task) => {
                if self.has_on_ready() {
                    self.run_and_notify(task);
                } else {
                    self.run(task);
                }
                true
            }
            None => {
                self.begin_turn();
                cells::give_back();
                false
            }
        }
    }

    /// Runs one task, which came out of this core's mailbox.
    #[inline]
    pub(crate) fn run(self, task: Item) {
        // No close frees the core while this call is entered.
        let _entered = self.enter();
        self.begin_turn();
        // SAFETY: callers are the two methods here that pop, and drivers of this core's mailbox.
        unsafe { task.run(self) };
    }

    /// Runs one task. Calls the on-ready hook if another task was queued before and one is queued afterwards. So an
    /// event loop that ticks a limited number of times learns of the rest. (A push to empty queues calls the hook by
    /// itself.)
    #[cold]
    fn run_and_notify(self, task: Item) {
        let _entered = self.enter();
        let were_more = self.has_queued();
        self.run(task);
        if were_more {
            self.notify_of_rest();
        }
    }

    /// Polls up to `polls` tasks; whether one is left in the queue. Then it has called the on-ready hook.
    pub(crate) fn run_for(self, polls: usize) -> bool {
        for _ in 0..polls {
            let Some(task) = self.mailbox().pop() else {
                cells::give_back();
                return false;
            };
            self.run(task);
        }
        self.notify_of_rest();
        self.has_queued()
    }

    /// Polls tasks until none is queued; how many polls that took.
    pub(crate) fn run_until_stalled(self) -> usize {
        let mut polls = 0;
        while let Some(task) = self.mailbox().pop() {
            self.run(task);
            polls += 1;
        }
        polls
    }
}
