//! How a woken task gets into the queues, and wakes a driver or an event loop.

use core::ptr::NonNull;

use super::CoreOf;
use crate::mailbox::{Mailbox, Queueable};
use crate::on_owner::OnOwner;

impl<R: Queueable> CoreOf<R> {
    /// Queues a task that the owner's thread woke or spawned.
    ///
    /// # Safety
    /// The current thread is the owner, and `this` is in place at the call.
    #[inline]
    pub(crate) unsafe fn schedule_local(this: NonNull<Self>, task: R) {
        {
            // SAFETY: in place: no users' code runs in this block.
            let this = unsafe { this.as_ref() };
            // SAFETY: the caller says that this is the owner's thread.
            let this = unsafe { OnOwner::assume(this) };
            if !this.mailbox.has_sleeper() && !this.has_on_ready() {
                this.mailbox().push_quietly(task);
                return;
            }
        }
        // SAFETY: the contract of this function is that of `push_and_announce`.
        unsafe { Self::push_and_announce(this, task) };
    }

    /// [`schedule_local`](Self::schedule_local) where a driver sleeps, or the core has an on-ready hook.
    ///
    /// # Safety
    /// As for `schedule_local`.
    #[cold]
    unsafe fn push_and_announce(this: NonNull<Self>, task: R) {
        let was_empty = {
            // SAFETY: in place: no users' code runs in this block.
            let this = unsafe { this.as_ref() };
            // SAFETY: the caller says that this is the owner's thread.
            let mailbox = unsafe { OnOwner::assume(this) }.mailbox();
            let was_empty = mailbox.is_empty();
            mailbox.push_quietly(task);
            was_empty
        };
        // SAFETY: the owner's thread, and in place: only this thread could have closed the core since.
        unsafe { Self::announce(this, was_empty) };
    }

    /// Wakes a sleeping driver, and calls an on-ready hook if the queues `were_empty` before the push.
    ///
    /// # Safety
    /// The current thread is the owner, and `this` is in place at the call.
    #[cold]
    unsafe fn announce(this: NonNull<Self>, were_empty: bool) {
        // SAFETY: in place at the call, and until its end. A close does nothing while this call is entered, even though the code
        // of users that runs here may drop the executor.
        let this = unsafe { this.as_ref() };
        // SAFETY: the caller says that this is the owner's thread.
        let this = unsafe { OnOwner::assume(this) };
        let _entered = this.enter();
        this.mailbox.wake_sleeper();
        if were_empty && this.depth.has_on_ready() {
            this.call_hook();
        }
    }

    /// Calls the hook, if there is one.
    #[inline]
    pub(crate) fn call_hook(&self) {
        if let Some(hook) = self.hook.get() {
            hook.call(|hook| hook());
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
    /// Wakes a driver or an event loop of this thread, if something is queued: after a batch that was queued quietly.
    pub(crate) fn notify(self) {
        if !self.mailbox().is_empty() {
            // SAFETY: this is the owner's thread, and the core is borrowed.
            unsafe { CoreOf::announce(NonNull::from(self.get()), true) };
        }
    }

    /// Whether the core has an on-ready hook.
    #[inline]
    pub(crate) fn has_on_ready(self) -> bool {
        self.get().depth.has_on_ready()
    }

    /// Calls an on-ready hook if something is queued: a driver stops now.
    #[inline]
    pub(crate) fn notify_of_rest(self) {
        if self.has_on_ready() && self.has_queued() {
            // The hook is users' code. A close does nothing while this call is entered.
            let _entered = self.enter();
            self.call_hook();
        }
    }
}
