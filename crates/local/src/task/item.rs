//! [`Item`]: what waits in the queues of a single-thread executor.

use core::fmt;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

use terrace_queue::{Link, Links};

use super::biased::Cell;
use super::{Runnable, RunnableLinks};
use crate::mailbox::Queueable;

/// A task of the executor itself, or a runnable of another one, such as a scope's child. Dropping it drops the future.
///
/// One word: the cell's address, whose lowest bit tells a runnable.
pub(crate) struct Item(NonNull<()>);

// SAFETY: a task's cell is shared between threads; where it is polled and dropped is the executor's business. A runnable is Send.
unsafe impl Send for Item {}

/// An item, taken apart.
enum Kind {
    Own(Cell),
    Runnable(Runnable),
}

const RUNNABLE: usize = 1;

impl Item {
    /// An item of a task; its reference is the item's.
    #[inline]
    pub(super) fn of(cell: Cell) -> Self {
        Self(cell.as_ptr())
    }

    #[inline]
    pub(crate) fn runnable(runnable: Runnable) -> Self {
        let raw = runnable.into_raw();
        debug_assert!(raw.as_ptr().addr() & RUNNABLE == 0);
        let tagged = raw.as_ptr().map_addr(|address| address | RUNNABLE);
        // SAFETY: a bit more than of a pointer that is not null.
        Self(unsafe { NonNull::new_unchecked(tagged) })
    }

    #[inline]
    fn is_runnable(&self) -> bool {
        self.0.as_ptr().addr() & RUNNABLE != 0
    }

    /// # Safety
    /// It is a runnable, and taken out once.
    #[inline]
    unsafe fn as_runnable(&self) -> Runnable {
        let raw = self.0.as_ptr().map_addr(|address| address & !RUNNABLE);
        // SAFETY: made by `runnable`, of a pointer that is not null.
        let raw = unsafe { NonNull::new_unchecked(raw) };
        // SAFETY: as above; the rest is the caller's promise.
        unsafe { Runnable::from_raw(raw) }
    }

    /// The cell of an item that is no runnable.
    #[inline]
    fn cell(&self) -> Cell {
        debug_assert!(!self.is_runnable());
        // SAFETY: made by `of`; the item's reference keeps it in place.
        unsafe { Cell::from_ptr(self.0) }
    }

    #[inline]
    fn into_kind(self) -> Kind {
        let this = ManuallyDrop::new(self);
        if this.is_runnable() {
            // SAFETY: it is one, and `this` is not dropped.
            Kind::Runnable(unsafe { this.as_runnable() })
        } else {
            Kind::Own(this.cell())
        }
    }

    /// Polls it.
    ///
    /// # Safety
    /// This is the thread of the executor in whose run queue it was, which is in place.
    #[inline]
    pub(crate) unsafe fn run(self) {
        match self.into_kind() {
            // SAFETY: forwarded to the caller.
            Kind::Own(cell) => unsafe { cell.run() },
            Kind::Runnable(runnable) => {
                runnable.run();
            }
        }
    }

    /// Drops a task that could not be queued.
    ///
    /// # Safety
    /// The caller has just made it and has its handle, nobody else knows of it; its future may be dropped here.
    #[cold]
    pub(crate) unsafe fn reject(self) {
        match self.into_kind() {
            // SAFETY: forwarded to the caller.
            Kind::Own(cell) => unsafe { cell.reject() },
            Kind::Runnable(_) => unreachable!("runnables are made elsewhere"),
        }
    }
}

impl Drop for Item {
    fn drop(&mut self) {
        if self.is_runnable() {
            // SAFETY: it is one, and this is the last use.
            drop(unsafe { self.as_runnable() });
        } else {
            // SAFETY: only the executor drops items, when it closes: at home, in place, and from the run queue.
            unsafe { self.cell().cancel() };
        }
    }
}

impl fmt::Debug for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Item").finish_non_exhaustive()
    }
}

/// Finds the link of an [`Item`].
pub(crate) struct ItemLinks(());

// SAFETY: an item is a pointer of its own to its cell, and there is one of a task at a time in an inbox; the link of the
// cell is for that.
unsafe impl Links for ItemLinks {
    type Item = Item;

    #[inline]
    fn into_raw(item: Item) -> NonNull<()> {
        ManuallyDrop::new(item).0
    }

    #[inline]
    unsafe fn from_raw(raw: NonNull<()>) -> Item {
        Item(raw)
    }

    #[inline]
    unsafe fn link(raw: NonNull<()>) -> NonNull<Link> {
        let item = ManuallyDrop::new(Item(raw));
        if item.is_runnable() {
            // SAFETY: forwarded to the caller; it is not dropped, so this one does not count.
            let runnable = ManuallyDrop::new(unsafe { item.as_runnable() });
            NonNull::from(RunnableLinks::link_of(&runnable))
        } else {
            item.cell().link()
        }
    }
}

impl Queueable for Item {
    type Links = ItemLinks;

    #[inline]
    unsafe fn arrive(self) -> Option<Self> {
        if self.is_runnable() {
            return Some(self);
        }
        let cell = ManuallyDrop::new(self).cell();
        // SAFETY: forwarded to the caller; the item hands over its reference.
        unsafe { cell.arrive() }.map(Self::of)
    }
}
