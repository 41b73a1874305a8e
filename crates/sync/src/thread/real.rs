//! `std` threads, with parks and unparks counted under `terrace_count`.

use crate::count;
use core::time::Duration;
use std::io;
use std::string::String;

pub use std::thread::yield_now;

/// A handle to a thread.
///
/// # Examples
///
/// ```
/// use terrace_sync::atomic::{AtomicBool, Ordering};
/// use terrace_sync::thread::{current, park, spawn};
///
/// static IS_READY: AtomicBool = AtomicBool::new(false);
///
/// let waiter = current();
/// let waker = spawn(move || {
///     assert!(!waiter.is(&current()));
///     IS_READY.store(true, Ordering::Release);
///     waiter.unpark();
/// });
/// while !IS_READY.load(Ordering::Acquire) {
///     park();
/// }
/// waker.join().unwrap();
/// ```
#[derive(Clone, Debug)]
#[repr(transparent)]
pub struct Thread(std::thread::Thread);

impl Thread {
    /// Makes the thread's token available and wakes it if it is parked. The [type](Self) has an example.
    #[inline]
    pub fn unpark(&self) {
        count::unpark();
        self.0.unpark();
    }

    /// Whether both are handles to the same thread. The [type](Self) has an example.
    #[must_use = "the call only answers a question"]
    pub fn is(&self, other: &Self) -> bool {
        self.0.id() == other.0.id()
    }

    /// The thread's name, if it has one. [`Builder`] has an example.
    #[must_use = "the call only reads a value"]
    pub fn name(&self) -> Option<&str> {
        self.0.name()
    }
}

/// The calling thread. [`Thread`] has an example.
#[inline]
#[must_use = "the call only reads a value"]
pub fn current() -> Thread {
    Thread(std::thread::current())
}

/// Blocks until the calling thread's token is available, and takes it. May return without a reason.
/// [`Thread`] has an example.
///
/// # Panics
/// On targets without threads, where no other thread could end the wait.
#[inline]
pub fn park() {
    count::park();
    assert_threads();
    std::thread::park();
}

/// As [`park`], for at most about `timeout`.
///
/// # Panics
/// As `park`.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use terrace_sync::thread::{current, park_timeout};
///
/// current().unpark();
/// // The token is there, so it does not sleep.
/// park_timeout(Duration::from_secs(3600));
/// ```
#[inline]
pub fn park_timeout(timeout: Duration) {
    count::park();
    assert_threads();
    std::thread::park_timeout(timeout);
}

/// Panics on wasm without threads, rather than stop the page or the process for good.
#[inline(always)]
#[track_caller]
fn assert_threads() {
    #[cfg(all(target_family = "wasm", not(target_feature = "atomics")))]
    panic!(
        "a wait that would never end: this target has no threads, so nothing can be woken while one waits. Let the host's \
         event loop drive the tasks instead, with `try_tick` or `run_until_stalled`"
    );
}

/// The right to wait for a thread's end and to take its result.
///
/// # Examples
///
/// ```
/// let thread = terrace_sync::thread::spawn(|| 6 * 7);
/// assert_eq!(thread.join().unwrap(), 42);
/// ```
#[derive(Debug)]
pub struct JoinHandle<T>(std::thread::JoinHandle<T>);

impl<T> JoinHandle<T> {
    /// Waits for the thread's end. The [type](Self) has an example.
    ///
    /// # Errors
    /// The payload of the panic that ended the thread.
    pub fn join(self) -> std::thread::Result<T> {
        self.0.join()
    }

    /// Whether the thread's closure has returned.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    /// use terrace_sync::thread::{spawn, yield_now};
    ///
    /// let (end, ends) = channel();
    /// let thread = spawn(move || ends.recv());
    /// assert!(!thread.is_finished());
    /// end.send(42).unwrap();
    /// while !thread.is_finished() {
    ///     yield_now();
    /// }
    /// assert_eq!(thread.join().unwrap(), Ok(42));
    /// ```
    #[must_use = "the call only answers a question"]
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }

    /// A handle to the thread.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_sync::thread::{current, spawn};
    ///
    /// let thread = spawn(current);
    /// let handle = thread.thread();
    /// assert!(handle.is(&thread.join().unwrap()));
    /// ```
    #[must_use = "the call only reads a value"]
    pub fn thread(&self) -> Thread {
        Thread(self.0.thread().clone())
    }
}

/// Settings of a thread to be started.
///
/// # Examples
///
/// ```
/// use terrace_sync::thread::{Builder, current};
///
/// let settings = Builder::new().name(String::from("worker")).stack_size(1 << 20);
/// let thread = settings.spawn(|| current().name().map(String::from))?;
/// assert_eq!(thread.join().unwrap().as_deref(), Some("worker"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "a builder starts no thread until it spawns one"]
pub struct Builder(std::thread::Builder);

impl Builder {
    /// The default settings. The [type](Self) has an example.
    #[expect(
        clippy::new_without_default,
        reason = "a builder is asked for by name, as in std"
    )]
    pub fn new() -> Self {
        Self(std::thread::Builder::new())
    }

    /// Names the thread. The [type](Self) has an example.
    pub fn name(self, name: String) -> Self {
        Self(self.0.name(name))
    }

    /// Sets the size of the thread's stack, in bytes. The [type](Self) has an example.
    pub fn stack_size(self, bytes: usize) -> Self {
        Self(self.0.stack_size(bytes))
    }

    /// Starts the thread. The [type](Self) has an example.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub fn spawn<T: Send + 'static>(
        self,
        f: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<JoinHandle<T>> {
        self.0.spawn(f).map(JoinHandle)
    }
}

/// Starts a thread. [`JoinHandle`] has an example.
///
/// # Panics
/// If the system cannot start a thread.
pub fn spawn<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    JoinHandle(std::thread::spawn(f))
}
