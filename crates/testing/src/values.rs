//! Values that tell how they were used.

use std::future::pending;
use std::rc::Rc;
use std::thread::{self, ThreadId};

use terrace_sync::Arc;
use terrace_sync::atomic::{AtomicUsize, Ordering};

/// Counts the [`Dropped`] values that were made by it and are dropped.
#[derive(Clone, Debug, Default)]
pub struct Drops(Arc<AtomicUsize>);

impl Drops {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A value that is counted when it is dropped.
    pub fn value(&self) -> Dropped {
        Dropped(Arc::clone(&self.0))
    }

    /// A future that never ends, and owns a value that is counted when it is dropped.
    pub fn never(&self) -> impl Future<Output = ()> + Send + 'static {
        let kept = self.value();
        async move {
            let _kept = kept;
            pending::<()>().await;
        }
    }

    /// How many were dropped.
    #[must_use]
    pub fn count(&self) -> usize {
        // Ordering: Acquire, pairs with the drop: what the dropping thread did before is seen.
        self.0.load(Ordering::Acquire)
    }
}

/// See [`Drops::value`].
#[derive(Debug)]
#[must_use = "it is counted when it is dropped"]
pub struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        // Ordering: Release, pairs with `Drops::count`.
        self.0.fetch_add(1, Ordering::Release);
    }
}

/// Calls its function when it is dropped.
pub struct OnDrop<F: FnMut()>(pub F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// The value, once this is the last reference to it: other threads drop theirs.
pub fn sole<T>(mut shared: Arc<T>) -> T {
    loop {
        match Arc::try_unwrap(shared) {
            Ok(value) => return value,
            Err(again) => shared = again,
        }
        thread::yield_now();
    }
}

/// Neither `Send` nor `Sync`. Ends the process if it is used or dropped on another thread than the one that made it.
///
/// A panic in its destructor would be caught with the task's.
#[derive(Debug)]
pub struct Homebody(Rc<ThreadId>);

impl Homebody {
    /// A value of the current thread.
    #[must_use]
    #[expect(
        clippy::new_without_default,
        reason = "where it is made is its meaning"
    )]
    pub fn new() -> Self {
        Self(Rc::new(thread::current().id()))
    }

    /// Ends the process on any other thread.
    pub fn check(&self) {
        if *self.0 != thread::current().id() {
            eprintln!("made on {:?}, used on {:?}", self.0, thread::current().id());
            std::process::abort();
        }
    }
}

impl Drop for Homebody {
    fn drop(&mut self) {
        self.check();
    }
}

/// The least of three counts. What other programs cause by keeping a thread off its processor only adds to a count.
pub fn least<T: Ord>(mut count: impl FnMut() -> T) -> T {
    let first = count();
    first.min(count()).min(count())
}
