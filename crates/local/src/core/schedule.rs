//! How a task that was woken gets into the queues, and whoever drives them out of sleep.

use core::ptr::NonNull;

use super::{LocalCore, Running};
use crate::mailbox::Mailbox;
use crate::task::{Core, Item, PanicHandler, Register};

impl Core for LocalCore {
    fn panic_handler(&self) -> Option<PanicHandler> {
        self.panic_handler.get().cloned()
    }

    #[inline]
    fn registry(&self) -> Option<&dyn Register> {
        Some(self)
    }
}

impl LocalCore {
    /// A wake, or a spawn, on the owner's thread.
    ///
    /// # Safety
    /// This is the owner's thread, and `this` is in place at the call.
    #[inline]
    pub(crate) unsafe fn schedule_here(this: NonNull<Self>, task: Item) {
        let (wakes, was_empty) = {
            // SAFETY: in place: no code of users runs in this block.
            let this = unsafe { this.as_ref() };
            let wakes = this.mailbox.has_sleeper() || this.tells_owner();
            // SAFETY: this is the owner's thread.
            let was_empty = wakes && unsafe { this.mailbox.is_empty() };
            // SAFETY: this is the owner's thread.
            unsafe { this.mailbox.push_quietly(task) };
            (wakes, was_empty)
        };
        if wakes {
            // SAFETY: as above.
            unsafe { Self::announce_here(this, was_empty) };
        }
    }

    /// Wakes a sleeping driver, and calls an on-ready hook if the queues were empty.
    ///
    /// # Safety
    /// This is the owner's thread, and `this` is in place at the call.
    #[cold]
    pub(super) unsafe fn announce_here(this: NonNull<Self>, was_empty: bool) {
        // SAFETY: in place at the call; and until its end, since a close does nothing while this counts as a run. What is
        // called is the user's, and may drop the executor.
        let this = unsafe { this.as_ref() };
        let _running = Running::new(&this.running);
        if this.mailbox.has_sleeper() {
            this.mailbox.wake_driver();
        }
        if was_empty && this.tells_owner() {
            this.call_hook();
        }
    }

    /// Whether pushes of the owner call the hook.
    #[inline]
    fn tells_owner(&self) -> bool {
        self.hook.get().is_some_and(|hook| hook.for_owner)
    }

    /// Wakes whoever does not sleep as a driver.
    #[inline]
    pub(super) fn call_hook(&self) {
        if let Some(hook) = self.hook.get() {
            hook.call();
        }
    }

    /// # Safety
    /// `this` is in place until a close has seen this push leave.
    #[cold]
    pub(crate) unsafe fn schedule_from_elsewhere(this: NonNull<Self>, task: Item) {
        // SAFETY: in place, as the caller promises.
        let mailbox = unsafe { &raw const (*this.as_ptr()).mailbox };
        // SAFETY: a field of something in place is not null.
        let mailbox = unsafe { NonNull::new_unchecked(mailbox.cast_mut()) };
        let last = || {
            // SAFETY: in place: called before the push leaves.
            let this = unsafe { this.as_ref() };
            let wakes = this.mailbox.has_sleeper() || this.hook.get().is_some();
            // None of a core that is never dropped.
            wakes.then(|| this.this.upgrade())
        };
        // SAFETY: as above.
        let kept = unsafe { Mailbox::push_and_leave(mailbox, task, last) };
        if let Some(_counted) = kept {
            // SAFETY: in place while the counted reference is there, or for ever.
            let this = unsafe { this.as_ref() };
            if this.mailbox.has_sleeper() {
                this.mailbox.wake_driver();
            }
            this.call_hook();
        }
    }
}
