//! Thread-locals of shuttle's threads that can be read for as long as `std`'s can.
//!
//! shuttle destroys all of a thread's locals when it ends, plain data too. `std` never takes plain data away: a
//! destructor of one thread-local may read another that has none.

use std::any::Any;
use std::boxed::Box;
use std::collections::HashMap;
use std::mem::needs_drop;
use std::sync::{Mutex, PoisonError};

use shuttle::thread::{AccessError, ThreadId};

/// The values of all threads of one execution, by key and thread.
#[derive(Default)]
struct Values(Mutex<HashMap<(usize, ThreadId), Box<dyn Any>>>);

// SAFETY: each value is reached by its own thread only, and a checker runs all threads of an execution on one thread
// of the system.
unsafe impl Send for Values {}
// SAFETY: the mutex guards the table, and each value in it is reached by its own thread only.
unsafe impl Sync for Values {}

shuttle::lazy_static! {
    static ref VALUES: Values = Values::default();
}

/// A thread-local whose value lives as long as the execution.
pub(super) struct LastingKey<T: 'static>(fn() -> T);

impl<T: 'static> LastingKey<T> {
    /// A key whose values `init` makes.
    pub(super) const fn new(init: fn() -> T) -> Self {
        Self(init)
    }

    /// Runs `f` on the calling thread's value.
    pub(super) fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        let key = (
            std::ptr::from_ref(self).addr(),
            shuttle::thread::current().id(),
        );
        let value = {
            let mut values = VALUES.0.lock().unwrap_or_else(PoisonError::into_inner);
            let value = values.entry(key).or_insert_with(|| Box::new((self.0)()));
            let value: &T = value.downcast_ref().expect("one key has one type");
            std::ptr::from_ref(value)
        };
        // SAFETY: the box stays in the table, and where it is, until the execution ends.
        f(unsafe { &*value })
    }
}

/// A thread-local: shuttle's own if the value has a destructor, else a lasting one.
pub struct LocalKey<T: 'static> {
    dropped: &'static shuttle::thread::LocalKey<T>,
    lasting: LastingKey<T>,
}

impl<T: 'static> LocalKey<T> {
    /// A key over shuttle's own, with the same initial value.
    pub const fn new(dropped: &'static shuttle::thread::LocalKey<T>, init: fn() -> T) -> Self {
        Self {
            dropped,
            lasting: LastingKey::new(init),
        }
    }

    /// Runs `f` on the calling thread's value.
    ///
    /// # Panics
    /// If the value was destroyed.
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        self.try_with(f)
            .expect("the value of a thread-local was destroyed")
    }

    /// Runs `f` on the calling thread's value.
    ///
    /// # Errors
    /// If the value was destroyed.
    pub fn try_with<R>(&'static self, f: impl FnOnce(&T) -> R) -> Result<R, AccessError> {
        if const { needs_drop::<T>() } {
            self.dropped.try_with(f)
        } else {
            Ok(self.lasting.with(f))
        }
    }
}

impl<T: 'static> std::fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}
