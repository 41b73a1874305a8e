//! Work that outlives its caller: closures, and futures with a handle.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};

use terrace_local::task::Task;
use terrace_sync::Arc;
use terrace_thread::ThreadSpawner;
use terrace_trace::inspect;

use crate::pool::fork::Worker;
use crate::pool::shared::Shared;
use crate::run::fork;
use crate::spawner::Spawner;

/// Work for [`Worker::spawn`]: a closure whose output is `()`, without an argument or with `&Worker`; or a future, which gives a handle.
/// Sealed. [`Worker::spawn`] has an example of each.
#[diagnostic::on_unimplemented(
    message = "a pool cannot spawn `{Self}`",
    label = "neither a closure without a result nor a future, or it borrows or is not `Send`",
    note = "write `|| {{ … }}`, `|worker: &Worker| {{ … }}` with the type, or `async {{ … }}`",
    note = "the output of a closure is `()`: for a result, spawn `async move {{ … }}` and await its handle"
)]
pub trait Spawnable<M>: sealed::Sealed<M> + Send + 'static {
    /// What the spawner gets.
    type Output;

    /// Spawns the work.
    #[doc(hidden)]
    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn(self, place: Place<'_>) -> Self::Output;
}

/// Work for [`Worker::spawn_local`], which need not be `Send`: as [`Spawnable`] otherwise. Sealed.
/// [`Worker::spawn_local`] has an example.
#[diagnostic::on_unimplemented(
    message = "a worker cannot spawn `{Self}` for its own thread",
    label = "neither a closure without a result nor a future",
    note = "write `|| {{ … }}`, `|worker: &Worker| {{ … }}` with the type, or `async {{ … }}`",
    note = "the output of a closure is `()`: for a result, spawn `async move {{ … }}` and await its handle"
)]
pub trait SpawnableLocal<M>: sealed::Sealed<M> + 'static {
    /// What the spawner gets.
    type Output;

    /// Spawns the work on the calling thread, as a member of `pool` if there is one.
    #[doc(hidden)]
    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn_local(self, pool: Option<Spawner>) -> Self::Output;
}

/// One half of a [`join`](fn@crate::join): a closure without an argument, or with `&Worker`. Sealed.
/// [`join`](fn@crate::join) has an example.
#[diagnostic::on_unimplemented(
    message = "`join` cannot call `{Self}`",
    label = "not a closure without an argument, nor one that takes `&Worker`",
    note = "write `join(|| …, || …)`, or `join(|worker: &Worker| …, |worker: &Worker| …)` with the types"
)]
pub trait Half<M, T>: sealed::SealedHalf<M, T> {
    /// Calls the closure.
    #[doc(hidden)]
    fn call(self, worker: &Worker) -> T;
}

impl<T, F: FnOnce(&Worker) -> T> Half<sealed::OfClosure, T> for F {
    #[inline]
    fn call(self, worker: &Worker) -> T {
        self(worker)
    }
}

impl<T, F: FnOnce() -> T> Half<sealed::OfCall, T> for F {
    #[inline]
    fn call(self, _: &Worker) -> T {
        self()
    }
}

/// Where work goes.
#[doc(hidden)]
#[derive(Debug)]
pub struct Place<'s> {
    pub(super) spawner: &'s Spawner,
    /// The worker, if it may run on no other.
    pub(super) worker: Option<ThreadSpawner>,
}

impl Place<'_> {
    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn<T: Send + 'static>(self, future: impl Future<Output = T> + Send + 'static) -> Task<T> {
        match self.worker {
            Some(worker) => worker.spawn(inspect::task(&self.spawner.pool.records, future)),
            None => self.spawner.spawn(future),
        }
    }
}

mod sealed {
    use std::future::Future;

    use crate::pool::fork::Worker;

    /// Tells closures that take a worker from the others.
    pub struct OfClosure;
    /// Tells closures without an argument from the others.
    pub struct OfCall;
    /// Tells futures from closures.
    pub struct OfFuture;

    pub trait Sealed<M> {}

    pub trait SealedHalf<M, T> {}

    impl<F: FnOnce(&Worker)> Sealed<OfClosure> for F {}
    impl<F: FnOnce()> Sealed<OfCall> for F {}
    impl<T, F: FnOnce(&Worker) -> T> SealedHalf<OfClosure, T> for F {}
    impl<T, F: FnOnce() -> T> SealedHalf<OfCall, T> for F {}
    impl<F: Future> Sealed<OfFuture> for F {}
}

/// Calls `f` as a member of `pool`, whose handler gets its panic, on whatever thread.
pub(super) fn call(pool: &Shared, f: impl FnOnce(&Worker)) {
    let called = catch_unwind(AssertUnwindSafe(|| fork::with_worker(pool, f)));
    if let Err(payload) = called {
        pool.report(payload);
    }
}

impl<F: FnOnce(&Worker) + Send + 'static> Spawnable<sealed::OfClosure> for F {
    type Output = ();

    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn(self, place: Place<'_>) {
        let pool = Arc::clone(&place.spawner.pool);
        // The thread that polls it may be none of the pool's, such as one that waits while the pool has no workers.
        place.spawn(async move { call(&pool, self) }).detach();
    }
}

impl<F: FnOnce() + Send + 'static> Spawnable<sealed::OfCall> for F {
    type Output = ();

    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn(self, place: Place<'_>) {
        Spawnable::spawn(move |_: &Worker| self(), place);
    }
}

impl<F> Spawnable<sealed::OfFuture> for F
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    type Output = Task<F::Output>;

    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn(self, place: Place<'_>) -> Task<F::Output> {
        place.spawn(self)
    }
}

impl<F: FnOnce(&Worker) + 'static> SpawnableLocal<sealed::OfClosure> for F {
    type Output = ();

    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn_local(self, pool: Option<Spawner>) {
        let work = async move {
            match pool {
                Some(Spawner { pool }) => call(&pool, self),
                None => Worker::with_current(self),
            }
        };
        terrace_thread::spawn_local(work).detach();
    }
}

impl<F: FnOnce() + 'static> SpawnableLocal<sealed::OfCall> for F {
    type Output = ();

    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn_local(self, pool: Option<Spawner>) {
        SpawnableLocal::spawn_local(move |_: &Worker| self(), pool);
    }
}

impl<F: Future + 'static> SpawnableLocal<sealed::OfFuture> for F {
    type Output = Task<F::Output>;

    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn_local(self, _: Option<Spawner>) -> Task<F::Output> {
        terrace_thread::spawn_local(self)
    }
}
