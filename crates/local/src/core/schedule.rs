//! How a woken task gets into the queues, and wakes a driver or an event loop.

use core::ptr::NonNull;

use super::CoreOf;
use crate::mailbox::{Mailbox, Queueable};
use crate::on_owner::OnOwner;
use crate::unwind::{Contained, contain};

impl<R: Queueable> CoreOf<R> {
    /// Calls the hook, if there is one.
    #[inline]
    pub(crate) fn call_hook(&self) {
        if let Some(Contained(Some(hook))) = self.hook.get() {
            contain(hook);
        }
    }

    /// Queues a task that another thread woke.
    ///
    /// # Safety
    /// `this` is in place until a close has seen this push leave.
    #[cold]
    pub(crate) unsafe fn schedule_remote(this: NonNull<Self>, task: R) {
        // SAFETY: in place, as the caller promises.
        let mailbox = unsafe { &raw const (*this.as_ptr()).mailbox };
        // SAFETY: a field of something in place is not null.
        let mailbox = unsafe { NonNull::new_unchecked(mailbox.cast_mut()) };
        let last = || {
            // SAFETY: in place: the push calls this before it leaves.
            let this = unsafe { this.as_ref() };
            let wakes = this.mailbox.has_sleeper() || this.hook.get().is_some();
            // None of a core that is never dropped.
            wakes.then(|| this.this.upgrade())
        };
        // SAFETY: the mailbox is in place until a close, which drains it, has seen this push leave.
        let kept = unsafe { Mailbox::push_and_leave(mailbox, task, last) };
        if let Some(_counted) = kept {
            // SAFETY: the counted reference keeps the core in place; without one the core is never freed.
            let this = unsafe { this.as_ref() };
            this.mailbox.wake_sleeper();
            this.call_hook();
        }
    }
}

impl<R: Queueable> OnOwner<'_, CoreOf<R>> {
    /// Queues a task that the owner's thread woke or spawned.
    #[inline]
    pub(crate) fn schedule_local(self, task: R) {
        if self.mailbox.has_sleeper() || self.depth.has_on_ready() {
            self.push_and_announce(task);
        } else {
            self.mailbox().push_quietly(task);
        }
    }

    /// [`schedule_local`](Self::schedule_local) where a driver sleeps, or the core has an on-ready hook.
    #[cold]
    fn push_and_announce(self, task: R) {
        let was_empty = self.mailbox().is_empty();
        self.mailbox().push_quietly(task);
        self.announce(was_empty);
    }

    /// Wakes a sleeping driver, and calls an on-ready hook if the queues `were_empty` before the push.
    #[cold]
    fn announce(self, were_empty: bool) {
        // The code of users that runs here may drop the executor. A close does nothing while this call is entered.
        let _entered = self.enter();
        self.mailbox.wake_sleeper();
        if were_empty && self.depth.has_on_ready() {
            self.call_hook();
        }
    }

    /// Wakes a driver or an event loop of this thread, if something is queued: after a batch that was queued quietly.
    pub(crate) fn notify(self) {
        if !self.mailbox().is_empty() {
            self.announce(true);
        }
    }

    /// Calls an on-ready hook if something is queued: a driver stops now.
    #[inline]
    pub(crate) fn notify_of_rest(self) {
        if self.depth.has_on_ready() && self.has_queued() {
            // The hook is users' code. A close does nothing while this call is entered.
            let _entered = self.enter();
            self.call_hook();
        }
    }
}
