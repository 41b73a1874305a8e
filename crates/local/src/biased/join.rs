//! Waiting for the end, by the handle.

use core::task::Waker;

use terrace_sync::atomic::Ordering;

use super::{JOIN, MERGED, State};

/// What a handle finds.
#[derive(Debug)]
#[must_use]
pub enum Joined {
    /// The task has not ended, and wakes the waker when it does. The caller drops the one that it would have woken before.
    Pending(Option<Waker>),
    /// The task has ended. The caller drops the wakers, which nobody needs.
    Ended([Option<Waker>; 2]),
}

impl State {
    /// Polls the end: makes `waker` the awaiter unless the task has ended. At home a read-modify-write at the first poll,
    /// but for a task that is queued and has no waker yet, and none later; elsewhere one, then two.
    ///
    /// # Safety
    /// The caller is the task's handle, which there is one of; `home` says whether this is the home thread.
    pub unsafe fn join(&self, waker: &Waker, home: bool) -> Joined {
        let mut clone = None;
        let mut replaced = None;
        loop {
            let in_place = home || cfg!(terrace_weaken = "local-task-join-in-place");
            let before = self.update(|state| {
                (state & (MERGED | JOIN) == JOIN && !in_place).then_some(state & !JOIN)
            });
            if before & MERGED != 0 {
                return Joined::Ended([replaced, clone]);
            }
            // From here to the setting of `JOIN` the awaiter is the handle's: `JOIN` is clear; or this is the home thread,
            // which alone may use it otherwise, and no code of users runs.
            let known = self.awaiter.with(|awaiter| {
                // SAFETY: as just said.
                let awaiter = unsafe { &*awaiter };
                awaiter.as_ref().is_some_and(|known| known.will_wake(waker))
            });
            if !known && clone.is_none() {
                // The user's code, which may panic, or run and end the task: the awaiter is out before, and what there is is
                // looked at again.
                // SAFETY: as above.
                replaced = unsafe { self.take_awaiter() };
                clone = Some(waker.clone());
                continue;
            }
            if !known {
                self.awaiter.with_mut(|awaiter| {
                    // SAFETY: as above.
                    core::mem::swap(unsafe { &mut *awaiter }, &mut clone);
                });
            }
            if before & JOIN != 0 && in_place {
                return Joined::Pending(replaced);
            }
            // SAFETY: the handle has a reference.
            if home && unsafe { self.is_all_at_home(before) } {
                // Ordering: Release, as in `update`. Nobody else's step can come between.
                self.abroad.store(before | JOIN, Ordering::Release);
                return Joined::Pending(replaced);
            }
            let before = self.update(|state| (state & MERGED == 0).then_some(state | JOIN));
            if before & MERGED == 0 {
                return Joined::Pending(replaced);
            }
            // It ended meanwhile, elsewhere, and that end saw no awaiter.
            // SAFETY: `JOIN` is clear.
            let unused = unsafe { self.take_awaiter() };
            return Joined::Ended([replaced, unused]);
        }
    }

    /// Takes the awaiter out.
    ///
    /// # Safety
    /// It is the caller's: of the handle as said at `join`, or of whoever has ended the task and was told `awaited`.
    pub unsafe fn take_awaiter(&self) -> Option<Waker> {
        self.awaiter.with_mut(|awaiter| {
            // SAFETY: forwarded to the caller.
            unsafe { &mut *awaiter }.take()
        })
    }
}
