//! Hybrid scopes: children are futures that borrow from outside, and the scope's thread helps
//! until the last of them has ended.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use terrace_executor::scope::{OpenScope, ScopeHandle};
use terrace_executor::{Executor, ThreadQueue};

use crate::keep::Keep;

/// What a scope's wait runs beside the scope's own children and the thread's pinned tasks.
#[derive(Clone, Copy, Default)]
pub struct Config<'a> {
    /// Where [`Scope::spawn_on_external`] sends children; the scope's own thread without it. If the
    /// scope's thread owns it, the wait ticks it.
    pub external: Option<&'a ThreadQueue>,
    /// An executor of the scope's thread that the wait ticks too. Both are named by their queues, see
    /// `ThreadExecutor::queue`.
    pub home: Option<&'a ThreadQueue>,
}

/// Spawns children that may borrow from the environment `'env`.
pub struct Scope<'scope, 'env: 'scope> {
    handle: ScopeHandle<'scope>,
    external: Option<&'scope ThreadQueue>,
    keep: &'scope Keep,
    /// Invariant over both, as children may put borrowed data of either lifetime into it.
    _scope: PhantomData<&'scope mut &'scope ()>,
    _env: PhantomData<&'env mut &'env ()>,
}

/// Runs `body` with a scope and returns when every child has ended.
///
/// See [`scope_with`].
///
/// ```
/// let executor = terrace_executor::Builder::new().workers(2).build();
/// let mut numbers = [1, 2, 3];
/// terrace_fork::scope(&executor, |scope| {
///     for number in &mut numbers {
///         scope.spawn(async move { *number *= 2 });
///     }
/// });
/// assert_eq!(numbers, [2, 4, 6]);
/// ```
pub fn scope<'env, T>(
    executor: &Executor<'static>,
    body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
) -> T {
    scope_with(executor, Config::default(), body)
}

/// Runs `body` with a scope on `executor` and returns its value when every child has ended.
///
/// The calling thread runs children of this scope, its own pinned tasks and the executors of
/// `config`; it adopts no other work. A child that waits for something sleeps without a thread.
///
/// Opening and closing take one uncontended lock each; a child costs one allocation.
///
/// # Panics
/// With the panic of `body`, else with the first panic of a child; in every case after all
/// children have ended.
///
/// Children cannot borrow what the body owns, and the scope cannot be carried away:
///
/// ```compile_fail,E0373
/// let executor = terrace_executor::Builder::new().workers(1).build();
/// terrace_fork::scope(&executor, |scope| {
///     let own = 1;
///     scope.spawn(async { assert_eq!(own, 1) });
/// });
/// ```
///
/// ```compile_fail,E0521
/// let executor = terrace_executor::Builder::new().workers(1).build();
/// terrace_fork::scope(&executor, |scope| {
///     std::thread::spawn(move || scope.spawn(async {}));
/// });
/// ```
pub fn scope_with<'env, T>(
    executor: &Executor<'static>,
    config: Config<'_>,
    body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
) -> T {
    // Outlives the scope proper, which everybody borrows for as long as it exists.
    let keep = Keep::default();
    let open = OpenScope::open(executor);
    let scope = Scope {
        handle: open.handle(),
        external: config.external,
        keep: &keep,
        _scope: PhantomData,
        _env: PhantomData,
    };
    let result = catch_unwind(AssertUnwindSafe(|| body(&scope)));
    let mut tick = [config.home, config.external].into_iter().flatten();
    let panic = match (tick.next(), tick.next()) {
        (Some(home), Some(external)) if !std::ptr::eq(home, external) => {
            open.wait(&[home, external])
        }
        (Some(only), _) => open.wait(&[only]),
        (None, _) => open.wait(&[]),
    };
    // Every child has ended, so nothing borrows from the scope or from what it kept.
    match (result, panic) {
        (Ok(value), None) => value,
        (Err(payload), _) | (Ok(_), Some(payload)) => resume_unwind(payload),
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Spawns a child that any worker of the executor, or the scope's own thread, may run.
    #[inline]
    pub fn spawn(&self, future: impl Future<Output = ()> + Send + 'scope) {
        // SAFETY: `self` is reachable only inside the body and in children (its lifetime does not
        // leave `scope_with`), which waits in every case; what is borrowed for `'scope` lives
        // until then.
        unsafe { self.handle.spawn(future) };
    }

    /// Spawns a child that runs on the scope's own thread.
    pub fn spawn_on_scope(&self, future: impl Future<Output = ()> + Send + 'scope) {
        // SAFETY: as in `spawn`.
        unsafe { self.handle.spawn_pinned(future) };
    }

    /// Spawns a child that runs where [`Config::external`] is ticked.
    pub fn spawn_on_external(&self, future: impl Future<Output = ()> + Send + 'scope) {
        match self.external {
            // SAFETY: as in `spawn`.
            Some(executor) => unsafe { self.handle.spawn_on(executor, future) },
            None => self.spawn_on_scope(future),
        }
    }

    /// Keeps a value until after the last child, and lends it out for the scope's life.
    pub fn keep<T: Send + Sync + 'scope>(&'scope self, value: T) -> &'scope T {
        let value = self.keep.keep(value);
        // SAFETY: the value stays in place until `keep` is dropped, after the last child and so
        // after `'scope`.
        unsafe { value.as_ref() }
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}
