//! Values that stay in place until the last child of a scope has ended.

use std::mem::{ManuallyDrop, needs_drop};
use std::ptr::NonNull;

use terrace_sync::Mutex;

/// One kept value: where it is and how its memory is freed.
struct Kept {
    value: NonNull<()>,
    free: unsafe fn(NonNull<()>),
}

/// A scope's kept values: memory that is freed after the scope, without running any code of theirs.
#[derive(Default)]
pub(crate) struct Keep {
    /// Plain data under the lock: values are boxed before and freed outside.
    values: Mutex<Vec<Kept>>,
}

// SAFETY: the drop of a `Keep` frees memory and runs no code of the values; any thread may do that.
unsafe impl Send for Keep {}
// SAFETY: shared access only adds values.
unsafe impl Sync for Keep {}

/// # Safety
/// `value` came from `Box::<ManuallyDrop<T>>::into_raw` and is not used any more.
unsafe fn free_box<T>(value: NonNull<()>) {
    let value = value.cast::<ManuallyDrop<T>>().as_ptr();
    // SAFETY: the caller's promise. `ManuallyDrop` has no drop glue: only memory is freed.
    drop(unsafe { Box::from_raw(value) });
}

impl Keep {
    /// Stores a value. It stays in place until `self` is dropped, and is forgotten then.
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
        let value = NonNull::from(Box::leak(Box::new(ManuallyDrop::new(value))));
        self.values.lock().push(Kept {
            value: value.cast(),
            free: free_box::<T>,
        });
        value.cast()
    }

    /// The values that are kept so far: they are kept by the result from now on.
    pub(crate) fn take(&self) -> Self {
        Self {
            values: Mutex::new(std::mem::take(&mut *self.values.lock())),
        }
    }
}

impl Drop for Keep {
    fn drop(&mut self) {
        for kept in self.values.get_mut().drain(..) {
            // SAFETY: `keep` boxed the value as the type that `free` was made for. Its borrows have ended with the scope.
            unsafe { (kept.free)(kept.value) };
        }
    }
}
