//! The memory of eager tasks' cells. A thread keeps one free cell of each size class, so that a chain of eager children that
//! are done at once allocates nothing.
//!
//! A class is a power of two. A thread gives its cells back when an executor of it has nothing to do, when one is dropped, and at
//! its end. Without feature `std` there is no place that belongs to a thread, so each cell goes back to the allocator.

use alloc::alloc::{alloc, dealloc, handle_alloc_error};
use core::alloc::Layout;
use core::ptr::NonNull;

/// The size of the smallest class in bytes.
const SMALLEST: usize = 128;
/// The alignment of all cells.
const ALIGN: usize = 16;

/// A size class, named by the size of its cells. An enum, so that the compiler knows that it is an index of a table of all.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Class {
    Bytes128,
    Bytes256,
    Bytes512,
    Bytes1024,
    Bytes2048,
}

impl Class {
    const ALL: [Self; 5] = [
        Self::Bytes128,
        Self::Bytes256,
        Self::Bytes512,
        Self::Bytes1024,
        Self::Bytes2048,
    ];

    /// The smallest one.
    pub(crate) const SMALLEST: Self = Self::ALL[0];

    /// The class with room for a `T`, if there is one.
    pub(crate) const fn of<T>() -> Option<Self> {
        if align_of::<T>() > ALIGN {
            return None;
        }
        match size_of::<T>() {
            0..=128 => Some(Self::Bytes128),
            129..=256 => Some(Self::Bytes256),
            257..=512 => Some(Self::Bytes512),
            513..=1024 => Some(Self::Bytes1024),
            1025..=2048 => Some(Self::Bytes2048),
            _ => None,
        }
    }

    const fn layout(self) -> Layout {
        match Layout::from_size_align(SMALLEST << self as usize, ALIGN) {
            Ok(layout) => layout,
            Err(_) => unreachable!(),
        }
    }

    /// Memory of this class: the thread's free cell, or new memory.
    #[inline]
    pub(crate) fn allocate(self) -> NonNull<u8> {
        #[cfg(feature = "std")]
        if let Some(cell) = kept::take(self) {
            return cell;
        }
        self.allocate_new()
    }

    #[cold]
    fn allocate_new(self) -> NonNull<u8> {
        // SAFETY: a class is not of size 0.
        let cell = unsafe { alloc(self.layout()) };
        NonNull::new(cell).unwrap_or_else(|| handle_alloc_error(self.layout()))
    }

    /// Takes memory of this class back, for the next eager child of this thread.
    ///
    /// # Safety
    /// The memory came out of [`allocate`](Self::allocate) of this class, on any thread, and nothing uses it.
    #[inline]
    pub(crate) unsafe fn keep(self, cell: NonNull<u8>) {
        #[cfg(feature = "std")]
        let Err(cell) = kept::put(self, cell) else {
            return;
        };
        // SAFETY: the caller's promise, and the thread does not keep it.
        unsafe { self.free(cell) };
    }

    /// Gives memory of this class to the allocator.
    ///
    /// # Safety
    /// As [`keep`](Self::keep).
    #[cold]
    pub(crate) unsafe fn free(self, cell: NonNull<u8>) {
        // SAFETY: `allocate_new` made it with this layout, and the caller says that nothing uses it.
        unsafe { dealloc(cell.as_ptr(), self.layout()) };
    }
}

#[cfg(feature = "std")]
pub use self::kept::give_back;

#[cfg(feature = "std")]
mod kept {
    //! The cells that a thread keeps.

    use core::cell::Cell;
    use core::ptr::{NonNull, null_mut, without_provenance_mut};

    use super::Class;

    /// Stands in a slot that keeps no cell before [`put_first`] has run.
    const UNARMED: *mut u8 = without_provenance_mut(1);

    /// One slot for each class.
    struct Kept {
        /// A free cell, null, or `UNARMED`.
        slots: [Cell<*mut u8>; Class::ALL.len()],
        /// Whether a slot may have a cell.
        armed: Cell<bool>,
    }

    terrace_sync::thread_local! {
        /// Without a destructor, so that later destructors of the thread may use it. Where thread-locals are keyed it has one, and they
        /// may find a new, empty one.
        static KEPT: Kept = const { Kept {
            slots: [const { Cell::new(UNARMED) }; Class::ALL.len()],
            armed: Cell::new(false),
        } };
        /// Touched before the thread keeps a cell. Once it is gone, no destructor would give one back.
        static GUARD: Guard = const { Guard };
    }

    terrace_sync::where_locals_are_keyed! {
        impl Drop for Kept {
            /// It may go before `GUARD`.
            fn drop(&mut self) {
                give_back_all(self);
            }
        }
    }

    /// Gives the cells back at the thread's end.
    struct Guard;

    impl Drop for Guard {
        fn drop(&mut self) {
            give_back();
        }
    }

    #[inline]
    pub(super) fn take(class: Class) -> Option<NonNull<u8>> {
        KEPT.with(|kept| {
            let slot = &kept.slots[class as usize];
            let cell = slot.get();
            if cell.addr() <= UNARMED.addr() {
                return None;
            }
            slot.set(null_mut());
            NonNull::new(cell)
        })
    }

    /// Keeps a cell, or returns it.
    #[inline]
    pub(super) fn put(class: Class, cell: NonNull<u8>) -> Result<(), NonNull<u8>> {
        KEPT.with(|kept| {
            let slot = &kept.slots[class as usize];
            if slot.get().is_null() {
                slot.set(cell.as_ptr());
                return Ok(());
            }
            put_first(kept, class, cell)
        })
    }

    /// As `put`, where the slot has no room so far: it has from now on, if a destructor gives its cell back.
    #[cold]
    fn put_first(kept: &Kept, class: Class, cell: NonNull<u8>) -> Result<(), NonNull<u8>> {
        let slot = &kept.slots[class as usize];
        if slot.get() != UNARMED || GUARD.try_with(|_| ()).is_err() {
            return Err(cell);
        }
        kept.armed.set(true);
        slot.set(cell.as_ptr());
        Ok(())
    }

    /// Gives the thread's free cells back: it has nothing to do.
    #[inline]
    pub fn give_back() {
        KEPT.with(|kept| {
            if kept.armed.replace(false) {
                give_back_all(kept);
            }
        });
    }

    #[cold]
    fn give_back_all(kept: &Kept) {
        for class in Class::ALL {
            let cell = kept.slots[class as usize].replace(UNARMED);
            if cell.addr() <= UNARMED.addr() {
                continue;
            }
            if let Some(cell) = NonNull::new(cell) {
                // SAFETY: `keep` put it there, as one of this class that nothing uses.
                unsafe { class.free(cell) };
            }
        }
    }
}

/// There is nothing to give back: no memory belongs to a thread.
#[cfg(not(feature = "std"))]
#[inline]
pub fn give_back() {}

#[cfg(all(test, not(any(terrace_loom, terrace_shuttle))))]
mod tests {
    use super::{ALIGN, Class};

    #[repr(align(32))]
    struct Aligned;

    #[test]
    fn classes_have_room() {
        assert_eq!(Class::of::<()>(), Some(Class::SMALLEST));
        assert_eq!(Class::of::<[u8; 128]>(), Some(Class::Bytes128));
        assert_eq!(Class::of::<[u8; 129]>(), Some(Class::Bytes256));
        assert_eq!(Class::of::<[u8; 1024]>(), Some(Class::Bytes1024));
        assert_eq!(Class::of::<[u8; 2048]>(), Some(Class::Bytes2048));
        assert_eq!(Class::of::<[u8; 2049]>(), None);
        const { assert!(align_of::<Aligned>() > ALIGN) };
        assert_eq!(Class::of::<Aligned>(), None);
    }
}
