//! The two words of a [`State`], the steps that every side has in common, and those of every thread but the owner's.

use core::task::Waker;

use terrace_sync::atomic::{AtomicUsize, Ordering};
use terrace_sync::cell::UnsafeCell;
use terrace_sync::{ordering, weakened};

use crate::on_owner::OnOwner;
use crate::unwind::Contained;

/// Flags of the local word. Only the owner reads and writes them.
pub(super) mod local {
    /// The task has an item in the run queue.
    pub(crate) const QUEUED: u8 = 1;
    /// The owner polls the task, or drops its future.
    pub(crate) const RUNNING: u8 = 1 << 1;
    /// A waker woke the task while the owner polled it.
    pub(crate) const WOKEN: u8 = 1 << 2;
    /// The owner drops the future instead of polling it.
    pub(crate) const CANCELLED: u8 = 1 << 3;
    /// The handle is gone, and went on the owner's thread.
    pub(crate) const DETACHED: u8 = 1 << 4;
    /// The task has ended: the remote word counts all references.
    pub(crate) const ENDED: u8 = 1 << 5;
}

/// Flags of the remote word. Every thread may change them.
pub(super) mod remote {
    /// The task has an item in the inbox, or a thread is about to push one.
    pub(crate) const NOTIFIED: usize = 1;
    /// That item asks the owner for a poll.
    pub(crate) const WOKEN: usize = 1 << 1;
    /// That item asks the owner to drop the future.
    pub(crate) const CANCELLED: usize = 1 << 2;
    /// The handle is gone, and went on another thread.
    pub(crate) const DETACHED: usize = 1 << 3;
    /// The task has ended: its future has been dropped, and this word counts all references.
    pub(crate) const ENDED: usize = 1 << 4;
    /// The ended task has an outcome, which its handle takes.
    pub(crate) const OUTCOME: usize = 1 << 5;
    /// The awaiter belongs to the owner; while the bit is clear, it belongs to the handle.
    pub(crate) const JOIN: usize = 1 << 6;
    /// The task ended in the call that spawned it, its memory is of a class, and it has no awaiter.
    pub(crate) const FRESH: usize = 1 << 7;
    /// Above it is the number of references, with a sign.
    pub(super) const SHIFT: u32 = 8;
    /// One reference.
    pub(crate) const ONE: usize = 1 << SHIFT;
    /// The word of a fresh task: the handle has the only reference.
    pub(crate) const FRESH_END: usize = ENDED | OUTCOME | FRESH | ONE;
}

/// A count beyond this ends the process. It is far below the capacity of either count, so that a thread notices in
/// time. Unit tests have a small one, which they reach.
pub(super) const LIMIT: isize = {
    let fits = isize::MAX >> (remote::SHIFT + 1);
    let limit = if cfg!(test) { 1_000 } else { 1 << 30 };
    if fits < limit { fits } else { limit }
};

/// The references that the remote word counts. Negative if other threads gave back more than they counted.
#[inline]
pub(super) const fn count(word: usize) -> isize {
    0_isize.wrapping_add_unsigned(word) >> remote::SHIFT
}

/// Ends the process. So many references exist only if a loop leaks wakers, and a count that wraps around would free a cell
/// in use.
#[cold]
pub(super) extern "C" fn too_many_references() -> ! {
    panic!("too many references to a task: wakers are leaked in a loop");
}

/// The word of the owner.
pub(super) struct LocalWord {
    pub(super) references: u32,
    /// See [`local`].
    pub(super) flags: u8,
}

/// The thread that takes a step.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Side {
    /// The owner's.
    Local,
    /// Any other one.
    Remote,
}

/// What a step does with its caller's reference.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reference {
    /// The caller keeps it.
    Kept,
    /// The step uses it up.
    UsedUp,
}

/// How a handle goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HandleEnd {
    /// It cancels the task.
    Cancel,
    /// It lets the task run on.
    Detach,
}

/// What a step asks of its caller.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use = "the caller has to take the step"]
pub enum Step {
    /// Nothing.
    Nothing,
    /// The task has an item, with a reference of its own. The owner pushes it to the run queue, another thread to the inbox.
    Queue,
    /// The task has ended, and the step gave back its last reference: the caller frees the cell.
    Free,
    /// The task has ended before. The caller, its handle, keeps its reference and takes the outcome.
    Ended,
}

impl Step {
    /// [`Step::Free`] if the reference was the `last` one.
    pub(super) fn free_if(last: bool) -> Self {
        if last { Self::Free } else { Self::Nothing }
    }
}

/// The result of a handle's poll.
#[derive(Debug)]
#[must_use = "the caller has to go by the answer"]
pub enum Joined {
    /// The task has not ended, and wakes the waker when it does. The caller drops the waker that this one replaced.
    Pending(Option<Waker>),
    /// The task has ended. The caller drops the wakers.
    Ended([Option<Waker>; 2]),
}

/// See the [module](super). Each method but [`is_finished`](Self::is_finished) takes a reference to the task for granted.
pub struct State {
    pub(super) remote: AtomicUsize,
    /// Invariant: only the owner touches it, or the one thread that knows of the task. A borrow lasts for one closure,
    /// which calls nothing that borrows again.
    pub(super) local: UnsafeCell<LocalWord>,
    /// Not 0 while a registry has a reference, which is until the task ends. Then no reference that a remote thread
    /// drops is the last one.
    pub(super) registered: AtomicUsize,
    /// Invariant: it belongs to the handle or to the owner, as [`remote::JOIN`] says.
    pub(super) awaiter: UnsafeCell<Option<Waker>>,
}

// SAFETY: methods of `OnOwner` touch `local`, on the owner's thread alone, or while no other thread knows of
// the task. The flag `JOIN` hands the awaiter over, and a waker is Send. The rest is atomic.
unsafe impl Send for State {}
// SAFETY: see `Send`: the same rules keep shared references from meeting in `local` and `awaiter`.
unsafe impl Sync for State {}

impl State {
    /// A new task, which a thread of this `side` spawns: an item for the run queue, or the inbox, and a handle.
    #[must_use = "a state does nothing until a cell has it"]
    #[inline]
    pub fn spawned(side: Side) -> Self {
        let (remote, references, flags) = match side {
            Side::Local => (0, 2, local::QUEUED),
            Side::Remote => (remote::NOTIFIED + remote::WOKEN + 2 * remote::ONE, 0, 0),
        };
        Self::new(remote, references, flags)
    }

    /// A new task that the owner polls as it spawns it: a turn, which has started, and a handle.
    #[must_use = "a state does nothing until a cell has it"]
    #[inline]
    pub fn polled_at_spawn() -> Self {
        Self::new(0, 2, local::RUNNING)
    }

    /// A task that has ended before it had a cell: a handle, which takes the outcome. [`is_fresh`](Self::is_fresh) says so. The
    /// owner is the thread that makes it; it has nothing to do any more.
    #[must_use = "a state does nothing until a cell has it"]
    #[inline]
    pub fn ended_at_spawn() -> Self {
        Self::new(remote::FRESH_END, 0, local::ENDED)
    }

    #[inline]
    fn new(remote: usize, references: u32, flags: u8) -> Self {
        Self {
            remote: AtomicUsize::new(remote),
            local: UnsafeCell::new(LocalWord { references, flags }),
            registered: AtomicUsize::new(0),
            awaiter: UnsafeCell::new(None),
        }
    }

    /// Replaces the remote word by what `next` makes of it; `None` leaves it. Returns what it was.
    #[inline]
    pub(super) fn update(&self, mut next: impl FnMut(usize) -> Option<usize>) -> usize {
        // Ordering: Acquire. A caller that sees `ENDED` uses what the owner wrote to the cell before `finish`.
        let mut word = self.remote.load(Ordering::Acquire);
        while let Some(new) = next(word) {
            // Ordering: AcqRel. Release hands on what this thread did with its reference or before its wake. Acquire takes
            // over what other threads handed on.
            match self
                .remote
                .compare_exchange_weak(word, new, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => break,
                Err(found) => word = found,
            }
        }
        word
    }

    /// Drops a reference of a task that has ended. True if it was the last one: the caller frees the cell.
    #[must_use = "the last holder frees the cell"]
    #[inline]
    pub fn release_ended(&self) -> bool {
        // Ordering: Acquire, pairs with the Release of the other threads' decrements. The only reference need not count
        // down.
        let acquire = ordering!("local-task-last-acquire", Acquire);
        if count(self.remote.load(acquire)) == 1 {
            return true;
        }
        // Ordering: AcqRel, so that all uses of the cell come before the last decrement's caller frees it.
        count(self.remote.fetch_sub(remote::ONE, Ordering::AcqRel)) == 1
    }

    /// From now to the end of the task a registry has a reference: a remote thread never drops the last one.
    #[inline]
    pub fn set_registered(&self) {
        // Ordering: Relaxed. A thread that reads the old value asks the owner in vain, which does no harm.
        self.registered.store(1, Ordering::Relaxed);
    }

    /// Whether the task has ended: the owner has dropped the future, and written the outcome if there is one.
    #[inline]
    pub fn is_finished(&self) -> bool {
        // Ordering: Acquire, pairs with the Release in `finish`.
        self.remote.load(Ordering::Acquire) & remote::ENDED != 0
    }

    /// Whether [`finish_at_spawn`](crate::OnOwner::finish_at_spawn) ended the task, in memory of a class. Then the caller, its
    /// handle, has the only reference. The outcome is there, and no awaiter.
    #[inline]
    pub fn is_fresh(&self) -> bool {
        // Ordering: Relaxed. The handle came from the thread that stored it, and brought all that came before. There is no
        // other reference by which a thread could have changed the word since.
        self.remote.load(Ordering::Relaxed) == remote::FRESH_END
    }

    /// Whether an ended task has an outcome for its handle.
    #[inline]
    pub fn has_outcome(&self) -> bool {
        // Ordering: Relaxed. The caller has seen, with Acquire, that the task has ended.
        self.remote.load(Ordering::Relaxed) & remote::OUTCOME != 0
    }

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
                let known = Contained(unsafe { self.take_awaiter() });
                clone = Some(waker.clone());
                replaced = known.into_inner();
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

impl OnOwner<'_, State> {
    /// Runs one operation on the local word. `f` calls nothing that runs another one.
    #[inline(always)]
    pub(super) fn with_word<R>(self, f: impl FnOnce(&mut LocalWord) -> R) -> R {
        self.get().local.with_mut(|word| {
            // SAFETY: this is the owner's thread, and no other borrow is alive (the field's invariant).
            f(unsafe { &mut *word })
        })
    }

    /// Whether the task has ended. A plain load.
    #[inline]
    pub(super) fn has_ended(self) -> bool {
        self.with_word(|word| word.flags & local::ENDED != 0)
    }
}

/// The steps of every thread but the owner's, and of all threads once the task has ended.
impl State {
    /// Counts another reference.
    #[inline]
    pub fn clone_remote(&self) {
        // Ordering: Relaxed. The caller's own reference keeps the cell.
        let before = self.remote.fetch_add(remote::ONE, Ordering::Relaxed);
        if count(before) > LIMIT {
            too_many_references();
        }
    }

    /// A wake.
    pub fn wake_remote(&self, reference: Reference) -> Step {
        match (self.ask(remote::WOKEN, reference), reference) {
            (Step::Ended, Reference::UsedUp) => self.release_remote(),
            (Step::Ended, Reference::Kept) => Step::Nothing,
            (step, _) => step,
        }
    }

    /// Drops a reference.
    pub fn release_remote(&self) -> Step {
        self.leave(0)
    }

    /// The handle goes.
    pub fn drop_handle_remote(&self, end: HandleEnd) -> Step {
        match end {
            HandleEnd::Detach => self.leave(remote::DETACHED),
            HandleEnd::Cancel => self.ask(remote::CANCELLED | remote::DETACHED, Reference::UsedUp),
        }
    }

    /// The handle cancels the task, and stays.
    pub fn cancel_remote(&self) -> Step {
        self.ask(remote::CANCELLED, Reference::Kept)
    }

    /// Sets `bits`, and makes the owner look at them. If the task has [ended](Step::Ended), the caller keeps its reference in any case.
    fn ask(&self, bits: usize, reference: Reference) -> Step {
        let given = usize::from(reference == Reference::UsedUp);
        let before = self.update(|word| {
            if word & remote::ENDED != 0 {
                return None;
            }
            let is_first = word & remote::NOTIFIED == 0;
            // A new item takes the caller's reference, or a new one; an item that exists has its own.
            let added = usize::from(is_first).wrapping_sub(given);
            let coalesces = bits == remote::WOKEN && !is_first && given == 0;
            if coalesces && weakened!("local-task-wake-coalesced") {
                return None;
            }
            // A step even where no bit changes: the item that exists must bring what this thread wrote before.
            let new = word | bits | remote::NOTIFIED;
            Some(new.wrapping_add(added.wrapping_mul(remote::ONE)))
        });
        if before & remote::ENDED != 0 {
            return Step::Ended;
        }
        if before & remote::NOTIFIED != 0 {
            return Step::Nothing;
        }
        if reference == Reference::Kept && count(before) > LIMIT {
            too_many_references();
        }
        Step::Queue
    }

    /// Sets `bits` and drops a reference. With any bits the reference is the handle's.
    fn leave(&self, bits: usize) -> Step {
        let mut asks = false;
        let before = self.update(|word| {
            if word & remote::ENDED != 0 {
                return None;
            }
            // Only the owner can tell whether this reference is the last one. If it may be, the owner gets it with an item.
            // An item that is on its way makes the owner look, too: when it uses up that item's reference.
            // Ordering: Relaxed, see `set_registered`.
            asks = count(word) <= 1
                && word & remote::NOTIFIED == 0
                && self.registered.load(Ordering::Relaxed) == 0
                && !weakened!("local-task-last-remote");
            Some(if asks {
                word | bits | remote::NOTIFIED
            } else {
                (word | bits).wrapping_sub(remote::ONE)
            })
        });
        if before & remote::ENDED == 0 {
            return if asks { Step::Queue } else { Step::Nothing };
        }
        if bits != 0 {
            return Step::Ended;
        }
        Step::free_if(self.release_ended())
    }
}
