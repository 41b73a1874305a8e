//! Values that stay in place until the last child of a scope has ended.

use std::mem::{ManuallyDrop, MaybeUninit, needs_drop};
use std::ptr::NonNull;

use terrace_sync::Mutex;
use terrace_sync::atomic::{AtomicBool, Ordering};
use terrace_sync::cell::UnsafeCell;

/// One kept value: where it is and how its memory is freed.
struct Kept {
    value: NonNull<()>,
    free: unsafe fn(NonNull<()>),
}

/// The room for the first value: enough for a facade's own scope type.
type Room = MaybeUninit<[usize; 8]>;

/// A scope's kept values: memory that is freed after the scope, without running any code of theirs. The first value lies in
/// the `Keep` itself if there is room for it.
pub(crate) struct Keep {
    room: UnsafeCell<Room>,
    /// Whether the room is taken.
    full: AtomicBool,
    /// Plain data under the lock: values are boxed before and freed outside.
    values: Mutex<Vec<Kept>>,
}

// SAFETY: the drop of a `Keep` frees memory and runs no code of the values; any thread may do that.
unsafe impl Send for Keep {}
// SAFETY: shared access only adds values, and only the thread that sets `full` writes the room.
unsafe impl Sync for Keep {}

/// # Safety
/// `value` came from `Box::<ManuallyDrop<T>>::into_raw` and is not used any more.
unsafe fn free_box<T>(value: NonNull<()>) {
    let value = value.cast::<ManuallyDrop<T>>().as_ptr();
    // SAFETY: the caller's promise. `ManuallyDrop` has no drop glue: only memory is freed.
    drop(unsafe { Box::from_raw(value) });
}

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
        let value = NonNull::from(Box::leak(Box::new(ManuallyDrop::new(value))));
        self.values.lock().push(Kept {
            value: value.cast(),
            free: free_box::<T>,
        });
        value.cast()
    }
}

impl Drop for Keep {
    fn drop(&mut self) {
        for kept in self.values.lock().drain(..) {
            // SAFETY: `keep` boxed the value as the type that `free` was made for, and the borrows of it have ended with the scope.
            unsafe { (kept.free)(kept.value) };
        }
    }
}
