//! How tasks get onto a [`LocalCore`].

use core::future::Future;
use core::ptr::NonNull;

use crate::biased::Side;
use crate::on_owner::OnOwner;
use crate::task::Task;
use crate::task::local::build::{build, poll_at_spawn};
use crate::task::local::cell::Item;
use crate::task::local::cell::LocalCore;

impl LocalCore {
    /// Makes a task, for a thread of this `side`.
    ///
    /// # Safety
    /// - If the future or its output is not `Send`, the output is taken on the owner's thread only.
    /// - What the future and its output borrow lives until they have been dropped.
    #[inline]
    #[cfg_attr(feature = "timeline", track_caller)]
    unsafe fn build<T>(&self, future: impl Future<Output = T>, side: Side) -> (Item, Task<T>) {
        // SAFETY: `OwnedCore` makes every core, and frees it after a close only. The close drops every future and waits for items
        // of ended tasks; while a task runs it does nothing, and the core is leaked. The caller promises the rest.
        let (item, task) = unsafe { build(NonNull::from(self), future, side) };
        (item, Task::local(task))
    }

    /// Spawns, from any thread, a future that becomes `!Send`, if at all, in its first poll. If the executor is closed, the
    /// future is dropped here and the task counts as cancelled.
    ///
    /// # Safety
    /// Before its first poll the future may be moved to, and dropped on, any thread.
    #[cfg_attr(feature = "timeline", track_caller)]
    pub(crate) unsafe fn spawn_remote<T>(
        &self,
        future: impl Future<Output = T> + 'static,
    ) -> Task<T>
    where
        T: Send + 'static,
    {
        // SAFETY: the output is Send, and everything is 'static.
        let (item, task) = unsafe { self.build(future, Side::Remote) };
        if let Err(item) = self.spawn_queued(item) {
            // SAFETY: the mailbox gave the item back, so no other thread knows of it. The caller lets the future be dropped
            // here.
            unsafe { item.reject() };
        }
        task
    }
}

/// Which call wakes a driver after a spawn.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Wake {
    /// The spawn.
    Now,
    /// The caller, by [`OnOwner::notify`], after a batch.
    Later,
}

impl OnOwner<'_, LocalCore> {
    /// Spawns a task. If the executor is closed, the future is dropped here and the task counts as cancelled.
    #[inline]
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn<T: 'static>(self, future: impl Future<Output = T> + 'static) -> Task<T> {
        // SAFETY: everything is 'static.
        unsafe { self.spawn_scoped(future, Wake::Now) }
    }

    /// Spawns a task and polls it once, if the limits of `polls_at_spawn` allow it. Else as
    /// [`spawn_scoped`](Self::spawn_scoped).
    ///
    /// # Safety
    /// As [`spawn_scoped`](Self::spawn_scoped).
    #[inline]
    #[cfg_attr(feature = "timeline", track_caller)]
    pub(crate) unsafe fn spawn_eager<T>(self, future: impl Future<Output = T>) -> Task<T> {
        if !self.polls_at_spawn() {
            // SAFETY: the caller promises the same.
            return unsafe { self.queue_eager(future) };
        }
        // No close frees the core while this call is entered.
        let _entered = self.enter();
        // SAFETY: `OwnedCore` makes every core, and frees it after a close only, as in `build`. The close does nothing while
        // this call is entered. The handle of an output that is not Send stays on this thread, as it is not Send. The caller
        // promises that what is borrowed lives.
        Task::local(unsafe { poll_at_spawn(self, future) })
    }

    /// # Safety
    /// As [`spawn_scoped`](Self::spawn_scoped).
    #[cold]
    #[cfg_attr(feature = "timeline", track_caller)]
    unsafe fn queue_eager<T>(self, future: impl Future<Output = T>) -> Task<T> {
        // SAFETY: the caller promises the same.
        unsafe { self.spawn_scoped(future, Wake::Now) }
    }

    /// As [`spawn`](Self::spawn), for a future that borrows.
    ///
    /// # Safety
    /// What the future and its output borrow lives until [`close`](LocalCore::close), or until the task ends and its output is
    /// dropped.
    #[inline]
    #[cfg_attr(feature = "timeline", track_caller)]
    pub(crate) unsafe fn spawn_scoped<T>(
        self,
        future: impl Future<Output = T>,
        wake: Wake,
    ) -> Task<T> {
        // SAFETY: the handle of an output that is not Send stays on this thread, as it is not Send. The caller promises that what
        // is borrowed lives.
        let (item, task) = unsafe { self.get().build(future, Side::Local) };
        self.count_spawn();
        if self.mailbox().is_closed() {
            // SAFETY: this thread has just made the task and has its handle. The future's destructor runs on the owner's thread.
            unsafe { item.reject() };
        } else if wake == Wake::Later {
            self.mailbox().push_quietly(item);
        } else {
            // SAFETY: this is the owner's thread, and the core is borrowed.
            unsafe { LocalCore::schedule_local(NonNull::from(self.get()), item) };
        }
        task
    }
}
