//! [`Spawner`]: the right to spawn children of a scope.

use std::fmt;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};

use terrace_executor::scope::{ScopeHandle, To};
use terrace_executor::{Broadcast, ThreadQueue};

use crate::work::SpawnScoped;

/// Spawns children of a [`Scope`](crate::Scope), and knows nothing of the scope's environment: for facades with a scope type of their
/// own, whose environment lives longer.
///
/// # Examples
///
/// ```
/// use terrace_fork::Spawner;
///
/// /// Spawns its own successor.
/// fn count_down<'scope>(spawner: Spawner<'scope>, left: u32, last: &'scope mut u32) {
///     spawner.spawn(async move {
///         match left {
///             0 => *last = 42,
///             _ => count_down(spawner, left - 1, last),
///         }
///     });
/// }
///
/// let executor = terrace_executor::Builder::new().workers(1).build();
/// let mut last = 0;
/// terrace_fork::scope(&executor, |scope| count_down(scope.spawner(), 10, &mut last));
/// assert_eq!(last, 42);
/// ```
#[derive(Clone, Copy)]
pub struct Spawner<'scope> {
    handle: ScopeHandle<'scope>,
    external: Option<&'scope ThreadQueue>,
    /// Invariant, as children may put borrowed data of this lifetime into it.
    _scope: PhantomData<&'scope mut &'scope ()>,
}

// A child's panic cancels its scope, so a scope is never seen half-changed.
impl UnwindSafe for Spawner<'_> {}
impl RefUnwindSafe for Spawner<'_> {}

impl<'scope> Spawner<'scope> {
    /// Of the scope with this handle.
    ///
    /// # Safety
    /// Only the body of the scope and its children reach the spawner, and the scope is waited for in every case.
    pub(crate) unsafe fn new(
        handle: ScopeHandle<'scope>,
        external: Option<&'scope ThreadQueue>,
    ) -> Self {
        Self {
            handle,
            external,
            _scope: PhantomData,
        }
    }

    /// As [`Scope::spawn`](crate::Scope::spawn).
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Builder::new().workers(1).build();
    /// let (mut one, mut two) = (0, 0);
    /// terrace_fork::scope(&executor, |scope| {
    ///     let spawner = scope.spawner();
    ///     spawner.spawn(async { one = 1 });
    ///     spawner.spawn(async { two = 2 });
    /// });
    /// assert_eq!((one, two), (1, 2));
    /// ```
    #[inline]
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn<M>(&self, work: impl SpawnScoped<'scope, M> + Send) {
        // SAFETY: only the body and children reach `self`. Its lifetime does not leave `scope_with`, and the values
        // that the scope keeps run no code after it. `scope_with` waits for every child in every case. So the scope is
        // open, and borrows for `'scope` live until the child is gone.
        unsafe { work.spawn(self.handle) };
    }

    /// As [`Scope::spawn_on`](crate::Scope::spawn_on).
    ///
    /// # Panics
    /// If there is no worker with this number.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Builder::new().workers(2).build();
    /// let mut thread = None;
    /// terrace_fork::scope(&executor, |scope| {
    ///     scope.spawner().spawn_on(1, async { thread = std::thread::current().name().map(String::from) });
    /// });
    /// assert_eq!(thread.as_deref(), Some("terrace-1"));
    /// ```
    #[track_caller]
    pub fn spawn_on<M>(&self, worker: usize, work: impl SpawnScoped<'scope, M> + Send) {
        // SAFETY: only the body and children of the open scope reach `self`, and `scope_with` waits until the child is gone; see
        // `spawn`.
        unsafe { work.send(self.handle, To::Worker(worker)) };
    }

    /// As [`Scope::spawn_local`](crate::Scope::spawn_local).
    ///
    /// # Panics
    /// On any other thread than the scope's.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::cell::Cell;
    ///
    /// let executor = terrace_executor::Builder::new().workers(1).build();
    /// let calls = Cell::new(0);
    /// terrace_fork::scope(&executor, |scope| {
    ///     scope.spawner().spawn_local(async { calls.set(calls.get() + 1) });
    /// });
    /// assert_eq!(calls.get(), 1);
    /// ```
    #[track_caller]
    pub fn spawn_local<M>(&self, work: impl SpawnScoped<'scope, M>) {
        // SAFETY: as in `spawn_on`.
        unsafe { work.send(self.handle, To::Here) };
    }

    /// As [`Scope::spawn_broadcast`](crate::Scope::spawn_broadcast).
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_sync::atomic::{AtomicUsize, Ordering::SeqCst};
    ///
    /// let executor = terrace_executor::Builder::new().workers(2).build();
    /// let calls = AtomicUsize::new(0);
    /// terrace_fork::scope(&executor, |scope| {
    ///     scope.spawner().spawn_broadcast(|_| {
    ///         calls.fetch_add(1, SeqCst);
    ///     });
    /// });
    /// assert_eq!(calls.load(SeqCst), 2);
    /// ```
    pub fn spawn_broadcast(&self, f: impl Fn(Broadcast<'_>) + Send + Sync + 'scope) {
        // SAFETY: as in `spawn_on`.
        unsafe { self.handle.broadcast(f) };
    }

    /// As [`Scope::spawn_on_scope`](crate::Scope::spawn_on_scope).
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Builder::new().workers(1).build();
    /// let mut ran_on = None;
    /// terrace_fork::scope(&executor, |scope| {
    ///     scope.spawner().spawn_on_scope(async { ran_on = Some(std::thread::current().id()) });
    /// });
    /// assert_eq!(ran_on, Some(std::thread::current().id()));
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_on_scope(&self, future: impl Future<Output = ()> + Send + 'scope) {
        // SAFETY: only the body and children of the open scope reach `self`, and `scope_with` waits until the child's future
        // is gone; see `spawn`.
        unsafe { self.handle.send(To::Owner, future) };
    }

    /// As [`Scope::spawn_on_external`](crate::Scope::spawn_on_external).
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, ThreadExecutor};
    /// use terrace_fork::{Config, scope_with};
    ///
    /// let executor = Builder::new().workers(1).build();
    /// let own = ThreadExecutor::new();
    /// let config = Config { external: Some(own.queue()), ..Config::default() };
    /// let mut ran_on = None;
    /// scope_with(&executor, config, |scope| {
    ///     scope.spawner().spawn_on_external(async { ran_on = Some(std::thread::current().id()) });
    /// });
    /// assert_eq!(ran_on, Some(std::thread::current().id()));
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_on_external(&self, future: impl Future<Output = ()> + Send + 'scope) {
        match self.external {
            // SAFETY: only the body and children of the open scope reach `self`, and `scope_with` waits until the child's
            // future is gone; see `spawn`.
            Some(executor) => unsafe { self.handle.spawn_on(executor, future) },
            None => self.spawn_on_scope(future),
        }
    }
}

/// That of its scope: how many children are pending; the body is one while it runs.
impl fmt::Debug for Spawner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.handle.fmt(f)
    }
}
