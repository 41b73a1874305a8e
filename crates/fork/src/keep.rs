//! Values that live until the last child of a scope has ended.

use std::ptr::NonNull;

use terrace_sync::Mutex;

/// One kept value: where it is and how it is dropped.
struct Kept {
    value: NonNull<()>,
    drop: unsafe fn(NonNull<()>),
}

/// A scope's kept values, dropped in the reverse order of their keeping.
#[derive(Default)]
pub(crate) struct Keep {
    /// Plain data under the lock: values are boxed before and dropped outside.
    values: Mutex<Vec<Kept>>,
}

// SAFETY: only `Send` values are kept, and they are dropped by the thread that drops the `Keep`.
unsafe impl Send for Keep {}
// SAFETY: shared access only adds values.
unsafe impl Sync for Keep {}

/// # Safety
/// `value` came from `Box::<T>::into_raw` and is not used any more.
unsafe fn drop_box<T>(value: NonNull<()>) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(value.cast::<T>().as_ptr()) });
}

impl Keep {
    /// Stores a value. It stays in place until `self` is dropped.
    pub(crate) fn keep<T: Send>(&self, value: T) -> NonNull<T> {
        let value = NonNull::from(Box::leak(Box::new(value)));
        self.values.lock().push(Kept {
            value: value.cast(),
            drop: drop_box::<T>,
        });
        value
    }
}

impl Drop for Keep {
    fn drop(&mut self) {
        // Popped one by one, so that a panicking destructor leaves the others to the unwinding
        // drop of the rest.
        struct Rest(Vec<Kept>);
        impl Drop for Rest {
            fn drop(&mut self) {
                if let Some(kept) = self.0.pop() {
                    let rest = Rest(std::mem::take(&mut self.0));
                    // SAFETY: the value was kept by `keep` as the type that `drop` was made for,
                    // and whoever borrowed it has ended with the scope.
                    unsafe { (kept.drop)(kept.value) };
                    drop(rest);
                }
            }
        }
        drop(Rest(std::mem::take(self.values.get_mut())));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    struct Note<'a>(&'a Mutex<Vec<u32>>, u32);
    impl Drop for Note<'_> {
        fn drop(&mut self) {
            self.0.lock().push(self.1);
            assert_ne!(self.1, 2, "the second one panics");
        }
    }

    #[test]
    fn values_are_dropped_in_reverse_even_if_one_panics() {
        let seen = Mutex::new(Vec::new());
        let keep = Keep::default();
        for number in 1..=3 {
            keep.keep(Note(&seen, number));
        }
        let count = Cell::new(0);
        let result = catch_unwind(AssertUnwindSafe(|| {
            count.set(1);
            drop(keep);
        }));
        assert!(result.is_err());
        assert_eq!(*seen.lock(), [3, 2, 1]);
    }
}
