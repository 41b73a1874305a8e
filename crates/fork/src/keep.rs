//! Values that stay in place until the last child of a scope has ended.

use std::mem::{MaybeUninit, needs_drop};
use std::ptr::NonNull;

use terrace_sync::Mutex;
use terrace_sync::atomic::{AtomicBool, Ordering};
use terrace_sync::cell::UnsafeCell;

/// The room for the first value: enough for a facade's own scope type.
type Room = MaybeUninit<[usize; 8]>;

/// A scope's kept values: memory that is freed after the scope, which runs no code of theirs. The first value lies in
/// the `Keep` itself if there is room for it.
pub(crate) struct Keep {
    room: UnsafeCell<Room>,
    /// Whether the room is taken.
    full: AtomicBool,
    /// The memory of the others, a value in each.
    values: Mutex<Vec<Vec<MaybeUninit<u8>>>>,
}

// SAFETY: shared access only adds values, and only the thread that sets `full` writes the room.
unsafe impl Sync for Keep {}

impl Keep {
    /// No values.
    pub(crate) fn new() -> Self {
        Self {
            room: UnsafeCell::new(Room::uninit()),
            full: AtomicBool::new(false),
            values: Mutex::new(Vec::new()),
        }
    }

    /// Stores a value. It stays in place until `self` is dropped or moved, and is forgotten then.
    ///
    /// Does not compile for a type with a destructor, which would run when the scope is over. It could reach other kept
    /// values, which may be gone, and the scope, whose slot may belong to another one.
    pub(crate) fn keep<T: Send>(&self, value: T) -> NonNull<T> {
        const {
            assert!(
                !needs_drop::<T>(),
                "a scope keeps values without destructors only: declare this one outside the scope and borrow it"
            );
        }
        let fits = size_of::<T>() <= size_of::<Room>() && align_of::<T>() <= align_of::<Room>();
        // Ordering: Relaxed, the swap alone decides which thread may write. No other thread reads the room but through the
        // pointer that this one gets.
        if fits && !self.full.swap(true, Ordering::Relaxed) {
            return self.room.with_mut(|room| {
                let room = room.cast::<T>();
                // SAFETY: the room is large and aligned enough, and this thread alone has taken it.
                unsafe { room.write(value) };
                // SAFETY: it points into `self`.
                unsafe { NonNull::new_unchecked(room) }
            });
        }
        let mut memory = vec![MaybeUninit::uninit(); size_of::<T>() + align_of::<T>() - 1];
        let padding = memory.as_ptr().align_offset(align_of::<T>());
        let place = memory[padding..].as_mut_ptr().cast::<T>();
        // SAFETY: it is aligned, and as many bytes as the value has lie behind the padding, which is shorter than the alignment.
        unsafe { place.write(value) };
        self.values.lock().push(memory);
        // SAFETY: it points into the memory, which stays in place where its `Vec` moves.
        unsafe { NonNull::new_unchecked(place) }
    }
}
