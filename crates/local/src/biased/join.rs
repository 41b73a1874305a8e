//! How a handle waits for the end of its task.

use core::task::Waker;

use terrace_sync::atomic::Ordering;
use terrace_sync::weakened;

use super::flags::remote;
use super::state::State;
use crate::on_owner::OnOwner;
use crate::unwind::Unneeded;

/// The result of a handle's poll.
#[derive(Debug)]
#[must_use]
pub enum Joined {
    /// The task has not ended, and wakes the waker when it does. The caller drops the waker that this one replaced.
    Pending(Option<Waker>),
    /// The task has ended. The caller drops the wakers.
    Ended([Option<Waker>; 2]),
}

impl State {
    /// Polls the end: makes `waker` the awaiter unless the task has ended.
    ///
    /// On the owner's thread (`local`) the first poll takes a read-modify-write, unless the task is queued and has no waker
    /// yet; later polls take none. On another thread the first poll takes one, each later one two.
    ///
    /// # Safety
    /// The caller is the task's one handle. `local` is the proof of this state if the current thread is the owner, else
    /// `None`.
    #[inline]
    pub unsafe fn join(&self, waker: &Waker, local: Option<OnOwner<'_, Self>>) -> Joined {
        let mut clone = None;
        let mut replaced = None;
        loop {
            let in_place = local.is_some() || weakened!("local-task-join-in-place");
            let before = self.update(|word| {
                (word & (remote::ENDED | remote::JOIN) == remote::JOIN && !in_place)
                    .then_some(word & !remote::JOIN)
            });
            if before & remote::ENDED != 0 {
                return Joined::Ended([replaced, clone]);
            }
            // From here until it sets `JOIN`, the handle may use the awaiter. On another thread `JOIN` is clear. On the
            // owner's thread no other step can come between, and no users' code runs.
            let known = self.awaiter.with(|awaiter| {
                // SAFETY: the awaiter is this handle's. `will_wake` only compares two pointers, so no other access
                // meets this borrow.
                let awaiter = unsafe { &*awaiter };
                awaiter.as_ref().is_some_and(|known| known.will_wake(waker))
            });
            if !known && clone.is_none() {
                // `clone` is users' code, which may panic, or run and end the task. So the old awaiter comes out before,
                // and the loop looks at the word again afterwards.
                // SAFETY: the awaiter is this handle's.
                let known = Unneeded(unsafe { self.take_awaiter() });
                clone = Some(waker.clone());
                replaced = known.keep();
                continue;
            }
            if !known {
                self.awaiter.with_mut(|awaiter| {
                    // SAFETY: the awaiter is this handle's, and a swap runs no users' code.
                    core::mem::swap(unsafe { &mut *awaiter }, &mut clone);
                });
            }
            if before & remote::JOIN != 0 && in_place {
                return Joined::Pending(replaced);
            }
            if local.is_some_and(|local| local.has_all_references(before)) {
                // Ordering: Relaxed. All references are on this thread, so no other thread's step can come between. A thread
                // that reads the word later got a reference from here since, and all that came before with it. What other
                // threads did with theirs before they dropped them was acquired with `before`.
                self.remote.store(before | remote::JOIN, Ordering::Relaxed);
                return Joined::Pending(replaced);
            }
            let before =
                self.update(|word| (word & remote::ENDED == 0).then_some(word | remote::JOIN));
            if before & remote::ENDED == 0 {
                return Joined::Pending(replaced);
            }
            // The owner has ended the task in between, and saw no awaiter.
            // SAFETY: `JOIN` is clear, so the awaiter is this handle's.
            let unused = unsafe { self.take_awaiter() };
            return Joined::Ended([replaced, unused]);
        }
    }

    /// Takes the awaiter out.
    ///
    /// # Safety
    /// The awaiter is the caller's: the caller is the handle in [`join`](Self::join), or has ended the task and got
    /// [`awaited`](super::Finished::awaited).
    pub unsafe fn take_awaiter(&self) -> Option<Waker> {
        self.awaiter.with_mut(|awaiter| {
            // SAFETY: the caller has the awaiter for itself, and `take` runs no users' code.
            unsafe { &mut *awaiter }.take()
        })
    }
}
