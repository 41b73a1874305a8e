//! A checker's threads with a parking token of our own.
//!
//! loom's `unpark` also wakes a thread that is blocked in a `join` or a lock, which then fails an assertion.
//! Here a thread announces that it is about to block, and only such a thread is ever woken: one raw
//! `unpark` for one raw `park`. The announcement carries a number, so that a timer ends only the wait it was
//! started for.
//!
//! | state | meaning | `park` | `unpark` | timer *n* |
//! |---|---|---|---|---|
//! | `EMPTY` | running, no token | → `PARKED + n`, block | → `NOTIFIED` | nothing |
//! | `NOTIFIED` | token available | → `EMPTY`, return | nothing | nothing |
//! | `EXPIRED` | the wait timed out, not yet noticed | – | → `NOTIFIED` | nothing |
//! | `PARKED + n` | blocked in wait *n* | – | → `NOTIFIED`, wake | → `EXPIRED`, wake |

use crate::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::count;
use core::cell::OnceCell;
use core::time::Duration;
use std::io;
use std::string::String;
use std::sync::{Arc, OnceLock};

#[cfg(terrace_loom)]
use loom::thread as raw;
#[cfg(terrace_shuttle)]
use shuttle::thread as raw;

pub use raw::yield_now;

const EMPTY: usize = 0;
const NOTIFIED: usize = 1;
const EXPIRED: usize = 2;
const PARKED: usize = 3;

#[derive(Debug)]
struct Inner {
    state: AtomicUsize,
    /// Number of the next wait. Used by the owner alone.
    waits: core::sync::atomic::AtomicUsize,
    /// Written by the owner before anything else it does.
    raw: OnceLock<raw::Thread>,
    /// Raised when the closure of a thread started here has returned or unwound.
    finished: AtomicBool,
}

/// Raises the flag `finished` when dropped.
struct Finished(Arc<Inner>);

impl Drop for Finished {
    fn drop(&mut self) {
        // Ordering: Release pairs with the Acquire in `is_finished`.
        self.0.finished.store(true, Ordering::Release);
    }
}

impl Inner {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            state: AtomicUsize::new(EMPTY),
            waits: core::sync::atomic::AtomicUsize::new(0),
            raw: OnceLock::new(),
            finished: AtomicBool::new(false),
        })
    }

    /// Wakes the owner, which is in `raw::park` or about to enter it.
    fn wake(&self) {
        self.raw
            .get()
            .expect("a parked thread has registered itself")
            .unpark();
    }
}

#[cfg(terrace_loom)]
crate::thread_local! {
    static CURRENT: OnceCell<Arc<Inner>> = OnceCell::new();
}
/// It lasts to the end of the execution, since destructors of thread-locals may wait for locks.
#[cfg(terrace_shuttle)]
static CURRENT: super::locals::LastingKey<OnceCell<Arc<Inner>>> =
    super::locals::LastingKey::new(OnceCell::new);

/// A handle to a thread.
#[derive(Clone, Debug)]
pub struct Thread(Arc<Inner>);

impl Thread {
    /// Makes the thread's token available and wakes it if it is parked.
    pub fn unpark(&self) {
        count::unpark();
        // Ordering: Release pairs with the Acquire in `wait`, so the parker sees all that preceded the wake.
        if self.0.state.swap(NOTIFIED, Ordering::Release) >= PARKED {
            self.0.wake();
        }
    }

    /// Whether both are handles to the same thread.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The thread's name, if it has one.
    pub fn name(&self) -> Option<&str> {
        self.0.raw.get().and_then(raw::Thread::name)
    }
}

impl From<&Thread> for Thread {
    fn from(thread: &Thread) -> Self {
        thread.clone()
    }
}

/// The calling thread.
pub fn current() -> Thread {
    CURRENT.with(|current| {
        let inner = current.get_or_init(Inner::new);
        inner.raw.get_or_init(raw::current);
        Thread(inner.clone())
    })
}

/// Blocks until the calling thread's token is available, and takes it. May return without a reason.
pub fn park() {
    wait(false);
}

/// As [`park`], until some point of the schedule.
pub fn park_timeout(_timeout: Duration) {
    wait(true);
}

fn wait(timeout: bool) {
    count::park();
    let Thread(inner) = current();
    let number = inner
        .waits
        .fetch_add(1, core::sync::atomic::Ordering::Relaxed);
    let parked = PARKED + number;
    // Ordering: Acquire on failure pairs with the Release in `unpark`.
    if inner
        .state
        .compare_exchange(EMPTY, parked, Ordering::Relaxed, Ordering::Acquire)
        .is_err()
    {
        // Only a token can be there: an expired wait is noticed before the next one begins.
        // Ordering: Acquire: a second `unpark` may have followed the one seen.
        inner.state.swap(EMPTY, Ordering::Acquire);
        return;
    }
    if timeout {
        let inner = inner.clone();
        #[cfg(terrace_loom)]
        crate::tally::spawned();
        raw::spawn(move || {
            let expired =
                inner
                    .state
                    .compare_exchange(parked, EXPIRED, Ordering::Relaxed, Ordering::Relaxed);
            if expired.is_ok() {
                inner.wake();
            }
        });
    }
    loop {
        raw::park();
        // Ordering: Acquire pairs with the Release in `unpark`.
        if inner.state.load(Ordering::Acquire) != parked {
            // Ordering: Acquire pairs with the Release in `unpark`: one may have followed the timer.
            inner.state.swap(EMPTY, Ordering::Acquire);
            return;
        }
    }
}

/// The right to wait for a thread's end and to take its result.
#[derive(Debug)]
pub struct JoinHandle<T> {
    raw: raw::JoinHandle<T>,
    thread: Thread,
}

impl<T> JoinHandle<T> {
    /// Waits for the thread's end.
    ///
    /// # Errors
    /// The payload of the panic that ended the thread.
    pub fn join(self) -> std::thread::Result<T> {
        self.raw.join()
    }

    /// Whether the thread's closure has returned.
    pub fn is_finished(&self) -> bool {
        // Ordering: Acquire pairs with the Release in `Finished`: all that the thread did is seen.
        self.thread.0.finished.load(Ordering::Acquire)
    }

    /// A handle to the thread.
    pub fn thread(&self) -> &Thread {
        &self.thread
    }
}

/// Settings of a thread to be started.
#[derive(Debug)]
#[must_use = "a builder starts no thread until it spawns one"]
pub struct Builder(raw::Builder);

impl Builder {
    /// The default settings.
    #[expect(
        clippy::new_without_default,
        reason = "a builder is asked for by name, as in std"
    )]
    pub fn new() -> Self {
        Self(raw::Builder::new())
    }

    /// Names the thread.
    pub fn name(self, name: String) -> Self {
        Self(self.0.name(name))
    }

    /// Ignored: the checker runs threads on stacks of its own.
    pub fn stack_size(self, _bytes: usize) -> Self {
        self
    }

    /// Starts the thread.
    ///
    /// # Errors
    /// Never under a checker.
    pub fn spawn<T: Send + 'static>(
        self,
        f: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<JoinHandle<T>> {
        let inner = Inner::new();
        let thread = Thread(inner.clone());
        #[cfg(terrace_loom)]
        crate::tally::spawned();
        let raw = self.0.spawn(move || {
            inner.raw.get_or_init(raw::current);
            let _finished = Finished(inner.clone());
            CURRENT.with(move |current| {
                current.get_or_init(move || inner);
            });
            f()
        })?;
        Ok(JoinHandle { raw, thread })
    }
}

/// Starts a thread.
///
/// # Panics
/// If the checker allows no further one.
pub fn spawn<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    Builder::new()
        .spawn(f)
        .expect("a checker can always start a thread")
}
