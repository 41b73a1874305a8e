//! [`SpawnScoped`]: what a scope spawns, closures and futures.

use std::future::Future;

use terrace_executor::Worker;
use terrace_executor::scope::ScopeHandle;

/// Work for [`Scope::spawn`](crate::Scope::spawn), whose output is `()`: a closure without an argument, one that takes `&Worker`, or a
/// future. Sealed.
///
/// The compiler needs the type of a closure's argument: `|worker: &Worker|`. [`Scope::spawn`](crate::Scope::spawn) has an example of each.
#[diagnostic::on_unimplemented(
    message = "a scope cannot spawn `{Self}`",
    label = "neither a closure nor a future whose output is `()`",
    note = "write `|| {{ … }}`, `|worker: &Worker| {{ … }}` with the type, or `async {{ … }}`",
    note = "its output is `()`: end it with `;`, or put a result into a variable that it borrows"
)]
pub trait SpawnScoped<'scope, M>: sealed::Sealed<M> + 'scope {
    /// Spawns the work for any thread.
    ///
    /// # Safety
    /// As [`ScopeHandle::spawn`].
    #[doc(hidden)]
    #[cfg_attr(feature = "timeline", track_caller)]
    unsafe fn spawn(self, scope: ScopeHandle<'_>)
    where
        Self: Send;

    /// Spawns the work for the worker with this number.
    ///
    /// # Safety
    /// As [`ScopeHandle::spawn`].
    #[doc(hidden)]
    #[cfg_attr(feature = "timeline", track_caller)]
    unsafe fn spawn_on(self, scope: ScopeHandle<'_>, worker: usize)
    where
        Self: Send;

    /// Spawns the work for the scope's thread, which calls this.
    ///
    /// # Safety
    /// As [`ScopeHandle::spawn`].
    #[doc(hidden)]
    #[cfg_attr(feature = "timeline", track_caller)]
    unsafe fn spawn_local(self, scope: ScopeHandle<'_>);
}

mod sealed {
    use std::future::Future;

    use terrace_executor::Worker;

    /// Tells closures that take a worker from the others.
    pub struct OfClosure;
    /// Tells closures without an argument from the others.
    pub struct OfCall;
    /// Tells futures from closures.
    pub struct OfFuture;

    pub trait Sealed<M> {}

    impl<F: FnOnce(&Worker)> Sealed<OfClosure> for F {}
    impl<F: FnOnce()> Sealed<OfCall> for F {}
    impl<F: Future<Output = ()>> Sealed<OfFuture> for F {}
}

impl<'scope, F: FnOnce(&Worker) + 'scope> SpawnScoped<'scope, sealed::OfClosure> for F {
    #[inline]
    #[cfg_attr(feature = "timeline", track_caller)]
    unsafe fn spawn(self, scope: ScopeHandle<'_>)
    where
        Self: Send,
    {
        // SAFETY: the caller's promise.
        unsafe { scope.spawn_call(self) };
    }

    #[track_caller]
    unsafe fn spawn_on(self, scope: ScopeHandle<'_>, worker: usize)
    where
        Self: Send,
    {
        // SAFETY: the caller's promise.
        unsafe { scope.spawn_call_on_worker(worker, self) };
    }

    #[cfg_attr(feature = "timeline", track_caller)]
    unsafe fn spawn_local(self, scope: ScopeHandle<'_>) {
        // SAFETY: the caller's promise.
        unsafe { scope.spawn_call_local(self) };
    }
}

impl<'scope, F: FnOnce() + 'scope> SpawnScoped<'scope, sealed::OfCall> for F {
    #[inline]
    #[cfg_attr(feature = "timeline", track_caller)]
    unsafe fn spawn(self, scope: ScopeHandle<'_>)
    where
        Self: Send,
    {
        // SAFETY: the caller's promise.
        unsafe { scope.spawn_call(move |_: &Worker| self()) };
    }

    #[track_caller]
    unsafe fn spawn_on(self, scope: ScopeHandle<'_>, worker: usize)
    where
        Self: Send,
    {
        // SAFETY: the caller's promise.
        unsafe { scope.spawn_call_on_worker(worker, move |_: &Worker| self()) };
    }

    #[cfg_attr(feature = "timeline", track_caller)]
    unsafe fn spawn_local(self, scope: ScopeHandle<'_>) {
        // SAFETY: the caller's promise.
        unsafe { scope.spawn_call_local(move |_: &Worker| self()) };
    }
}

impl<'scope, F: Future<Output = ()> + 'scope> SpawnScoped<'scope, sealed::OfFuture> for F {
    #[inline]
    #[cfg_attr(feature = "timeline", track_caller)]
    unsafe fn spawn(self, scope: ScopeHandle<'_>)
    where
        Self: Send,
    {
        // SAFETY: the caller's promise.
        unsafe { scope.spawn(self) };
    }

    #[track_caller]
    unsafe fn spawn_on(self, scope: ScopeHandle<'_>, worker: usize)
    where
        Self: Send,
    {
        // SAFETY: the caller's promise.
        unsafe { scope.spawn_on_worker(worker, self) };
    }

    #[cfg_attr(feature = "timeline", track_caller)]
    unsafe fn spawn_local(self, scope: ScopeHandle<'_>) {
        // SAFETY: the caller's promise.
        unsafe { scope.spawn_local(self) };
    }
}
