//! [`SpawnScoped`]: what a scope spawns, closures and futures.

use std::future::Future;

use terrace_executor::Half;
use terrace_executor::scope::{ScopeHandle, To};

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

    /// Spawns the work for one thread.
    ///
    /// # Safety
    /// As [`ScopeHandle::send`].
    #[doc(hidden)]
    #[track_caller]
    unsafe fn send(self, scope: ScopeHandle<'_>, to: To);
}

mod sealed {
    use std::future::Future;
    use std::marker::PhantomData;

    use terrace_executor::Half;

    /// Tells closures from futures, and those that take a worker from the others.
    pub struct OfCall<M>(PhantomData<M>);
    /// Tells futures from closures.
    pub struct OfFuture;

    pub trait Sealed<M> {}
    impl<M, F: Half<M, ()>> Sealed<OfCall<M>> for F {}
    impl<F: Future<Output = ()>> Sealed<OfFuture> for F {}
}

impl<'scope, M, F: Half<M, ()> + 'scope> SpawnScoped<'scope, sealed::OfCall<M>> for F {
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
    unsafe fn send(self, scope: ScopeHandle<'_>, to: To) {
        // SAFETY: the caller's promise.
        unsafe { scope.send_call(to, self) };
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
    unsafe fn send(self, scope: ScopeHandle<'_>, to: To) {
        // SAFETY: the caller's promise.
        unsafe { scope.send(to, self) };
    }
}
