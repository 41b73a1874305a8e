//! Thread-locals as `std` has them where the target has none of its own, under `--cfg terrace_keyed_tls`.
//!
//! Such a target (Windows with GNU's tools, Android, OpenBSD) keeps each thread-local behind a key of the system, and `std` a
//! destructor for each key:
//!
//! | at the end of a thread                          | native                       | keyed                              |
//! |-------------------------------------------------|------------------------------|------------------------------------|
//! | a value without a destructor                    | stays to the last moment     | is freed as others are             |
//! | in which order values go                        | later ones first, mostly     | any                                |
//! | an access while the value's destructor runs     | an error                     | an error                           |
//! | an access after that                            | an error                     | makes a new value, destroyed later |
//!
//! A test on Linux sees the same with these. `TERRACE_TLS_SEED` chooses the orders.

use std::any::Any;
use std::boxed::Box;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::vec::Vec;

/// So often `std` goes through the keys of a thread; what was made anew after that is leaked.
const ROUNDS: usize = 5;

/// The values of one thread, by the address of the key. None while the value's destructor runs.
type Values = RefCell<BTreeMap<usize, Option<Box<dyn Any>>>>;

std::thread_local! {
    /// The thread's values, or null. It stays to the last moment of the thread.
    static VALUES: Cell<*const Values> = const { Cell::new(std::ptr::null()) };
    static END: End = const { End };
}

/// Destroys the thread's values when dropped: somewhere among the native thread-locals of a test.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        destroy();
    }
}

/// Destroys the values that were made after `END`: the system calls it when the native thread-locals are gone.
unsafe extern "C" fn at_last(_: *mut libc::c_void) {
    destroy();
}

/// Has [`at_last`] called for this thread.
fn register() {
    static KEY: OnceLock<libc::pthread_key_t> = OnceLock::new();
    let key = *KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: the key is written to a variable of this frame; the destructor takes any word.
        let failed = unsafe { libc::pthread_key_create(&raw mut key, Some(at_last)) };
        assert_eq!(failed, 0, "the process has no thread-local key left");
        key
    });
    // SAFETY: the key was created, and is never deleted. The word is not followed.
    let failed = unsafe { libc::pthread_setspecific(key, std::ptr::without_provenance(1)) };
    assert_eq!(failed, 0, "the system has no memory for a thread-local key");
}

fn destroy() {
    let values = values();
    let mut random = seed();
    for _ in 0..ROUNDS {
        let mut keys: Vec<usize> = values.borrow().keys().copied().collect();
        while !keys.is_empty() {
            random = random
                .wrapping_mul(0x5851_F42D_4C95_7F2D)
                .wrapping_add(0x1405_7B7E_F767_814F);
            let key = keys.swap_remove((random >> 33) as usize % keys.len());
            let value = values.borrow_mut().insert(key, None).flatten();
            // It may use other values, and make new ones.
            drop(value);
            values.borrow_mut().remove(&key);
        }
    }
}

/// What decides the order for this thread.
fn seed() -> u64 {
    static THREADS: AtomicU64 = AtomicU64::new(0);
    let seed = std::env::var("TERRACE_TLS_SEED").ok();
    let seed: u64 = seed.and_then(|seed| seed.parse().ok()).unwrap_or(1);
    seed ^ THREADS
        .fetch_add(1, Ordering::Relaxed)
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn values() -> &'static Values {
    let mut pointer = VALUES.with(Cell::get);
    if pointer.is_null() {
        pointer = Box::leak(Box::new(Values::default()));
        VALUES.with(|values| values.set(pointer));
        // An error where this is a late destructor of a native thread-local.
        let _late = END.try_with(|_| ());
        register();
    }
    // SAFETY: the table is leaked, and only this thread has its address.
    unsafe { &*pointer }
}

/// The value's destructor is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessError;

/// A thread-local behind a key.
pub struct LocalKey<T: 'static>(fn() -> T);

impl<T: 'static> LocalKey<T> {
    /// A key whose values `init` makes.
    pub const fn new(init: fn() -> T) -> Self {
        Self(init)
    }

    /// Runs `f` on the calling thread's value.
    ///
    /// # Panics
    /// If the value's destructor is running.
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        self.try_with(f)
            .expect("the value of a thread-local is being destroyed")
    }

    /// Runs `f` on the calling thread's value.
    ///
    /// # Errors
    /// If the value's destructor is running.
    ///
    /// # Panics
    /// If the thread-local's initial expression, or `f`, does.
    pub fn try_with<R>(&'static self, f: impl FnOnce(&T) -> R) -> Result<R, AccessError> {
        let key = std::ptr::from_ref(self).addr();
        let values = values();
        if !values.borrow().contains_key(&key) {
            // It may use other thread-locals.
            let value = Box::new((self.0)());
            values.borrow_mut().insert(key, Some(value));
        }
        let value: *const T = match &values.borrow()[&key] {
            Some(value) => value.downcast_ref().expect("one key has one type"),
            None => return Err(AccessError),
        };
        // SAFETY: the box stays where it is until the thread ends, and `f` returns before. Nothing has a unique reference to it.
        Ok(f(unsafe { &*value }))
    }
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::atomic::{AtomicUsize, Ordering};

    static FRESH: AtomicUsize = AtomicUsize::new(0);

    struct Reads;

    impl Drop for Reads {
        fn drop(&mut self) {
            PLAIN.with(|plain| FRESH.fetch_add(usize::from(plain.get() == 0), Ordering::Relaxed));
        }
    }

    crate::thread_local! {
        static PLAIN: Cell<u32> = const { Cell::new(0) };
        static READS: Reads = Reads;
    }

    #[test]
    fn a_destructor_may_find_plain_data_gone() {
        for _ in 0..64 {
            let thread = std::thread::spawn(|| {
                READS.with(|_| ());
                PLAIN.with(|plain| plain.set(1));
            });
            thread.join().unwrap();
        }
        let fresh = FRESH.load(Ordering::Relaxed);
        assert!((1..64).contains(&fresh), "{fresh} of 64");
    }
}
