//! [`Runnable`]: what executors of many threads queue, a task that is to be polled once.

use core::fmt;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use core::task::Waker;

use crate::unwind::contain;

/// What each of the cells of [`build`](super::build) holds beside its future: the core, of the type that the cell's schedule
/// function knows. The reference to it is the future's, so this is good as long as the task can be scheduled.
pub struct Meta(NonNull<()>);

// SAFETY: it stands for a reference to a core, and cores are Send and Sync.
unsafe impl Send for Meta {}
// SAFETY: shared, it gives out a pointer to a core, which is Sync.
unsafe impl Sync for Meta {}

impl Meta {
    #[inline]
    pub(super) fn new<C>(core: NonNull<C>) -> Self {
        Self(core.cast())
    }

    /// The core of a task that was built with a `CoreRef<C>`.
    #[inline]
    pub(super) fn core<C>(&self) -> NonNull<C> {
        self.0.cast()
    }
}

/// A runnable of a cell that [`build`](super::build) made.
pub(super) type Own = async_task::Runnable<Meta>;

/// A runnable of any other cell of async-task.
type Foreign = async_task::Runnable;

/// Set in the address of a foreign cell. async-task's cells begin with a word, so their addresses are even.
const FOREIGN: usize = 1;

/// A task on async-task's cell that is to be polled once. Dropping it cancels the task.
///
/// One word, the address of the cell. Its lowest bit tells the executor's own cells from *foreign* ones, which the executor did
/// not make. The two have different headers, so a call asks for the bit first.
pub struct Runnable(NonNull<()>);

// SAFETY: it is one of two runnables, which async-task sends to any thread. The maker of the cell answers for its future.
unsafe impl Send for Runnable {}
// SAFETY: a shared one only tells its bit.
unsafe impl Sync for Runnable {}

/// A [`Runnable`], taken apart.
enum Kind {
    Own(Own),
    Foreign(Foreign),
}

impl Runnable {
    /// Of the executor's own cell.
    #[inline]
    pub(super) fn own(task: Own) -> Self {
        let address = task.into_raw();
        debug_assert!(address.addr().get() & FOREIGN == 0);
        Self(address)
    }

    /// Of a cell that the executor did not make.
    ///
    /// # Panics
    /// If async-task lays its cells on odd addresses. No version 4 does.
    #[inline]
    #[must_use]
    pub fn foreign(task: Foreign) -> Self {
        let address = task.into_raw();
        assert!(
            address.addr().get() & FOREIGN == 0,
            "async-task lays its cells out otherwise than this version of terrace-local knows"
        );
        Self(address.map_addr(|address| address | FOREIGN))
    }

    /// The word of this runnable. [`from_raw`](Self::from_raw) makes the runnable again.
    #[inline]
    #[must_use]
    pub fn into_raw(self) -> NonNull<()> {
        ManuallyDrop::new(self).0
    }

    /// The runnable again.
    ///
    /// # Safety
    /// `raw` came out of [`into_raw`](Self::into_raw), and is given back once.
    #[inline]
    #[must_use]
    pub unsafe fn from_raw(raw: NonNull<()>) -> Self {
        Self(raw)
    }

    #[inline]
    fn into_kind(self) -> Kind {
        let word = self.into_raw();
        if word.addr().get() & FOREIGN == 0 {
            // SAFETY: without the bit the word is that of `own`, and the runnable that it was has just been taken apart.
            return Kind::Own(unsafe { Own::from_raw(word) });
        }
        // SAFETY: the address of a cell is not null.
        let address =
            unsafe { NonNull::new_unchecked(word.as_ptr().map_addr(|word| word & !FOREIGN)) };
        // SAFETY: with the bit the word is that of `foreign`, and the runnable that it was has just been taken apart.
        Kind::Foreign(unsafe { Foreign::from_raw(address) })
    }

    /// Polls the task, or drops its future if it was cancelled. No panic comes out: the cell keeps that of its own task. A foreign
    /// cell that does not keep it lets it out to this call, which drops it. The panic hook has reported it before.
    #[inline]
    pub fn run(self) {
        match self.into_kind() {
            Kind::Own(task) => {
                task.run();
            }
            Kind::Foreign(task) => run_foreign(task),
        }
    }

    /// The waker of the task.
    #[must_use]
    pub fn waker(&self) -> Waker {
        // The copy is not dropped, so it gives no reference back.
        match Self(self.0).into_kind() {
            Kind::Own(task) => ManuallyDrop::new(task).waker(),
            Kind::Foreign(task) => ManuallyDrop::new(task).waker(),
        }
    }

    /// Passes the runnable to the schedule function of its cell.
    #[inline]
    pub fn schedule(self) {
        match self.into_kind() {
            Kind::Own(task) => task.schedule(),
            Kind::Foreign(task) => task.schedule(),
        }
    }
}

/// Out of line, to keep the turns of own tasks short.
#[inline(never)]
fn run_foreign(task: Foreign) {
    contain(|| {
        task.run();
    });
}

impl Drop for Runnable {
    #[inline]
    fn drop(&mut self) {
        // The copy is the only one that is used from here on.
        drop(Self(self.0).into_kind());
    }
}

impl fmt::Debug for Runnable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runnable").finish_non_exhaustive()
    }
}
