//! Scopes: tasks that borrow from the caller of [`TaskPool::scope`](crate::TaskPool::scope).

use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use terrace_executor::{Executor, ThreadExecutor};

use super::results::Results;
use super::thread_executor::OWN;

/// Runs `f`, then waits for all tasks of the scope it got, and gives their results.
pub(super) fn run<'env, F, T>(
    executor: &Executor<'static>,
    external: Option<&ThreadExecutor<'_>>,
    f: F,
) -> Vec<T>
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, T>),
    T: Send + 'static,
{
    let mut results = Results::new();
    let ended = catch_unwind(AssertUnwindSafe(|| {
        OWN.with(|own| {
            let config = terrace_fork::Config {
                external: external.map(ThreadExecutor::queue),
                local: Some(own.queue()),
            };
            terrace_fork::scope_with(executor, config, |inner| {
                f(inner.keep(Scope {
                    inner: inner.spawner(),
                    results: &results,
                    env: PhantomData,
                }));
            });
        });
    }));
    if let Err(payload) = ended {
        results.discard();
        resume_unwind(payload);
    }
    results.take()
}

/// Where a call of [`TaskPool::scope`](crate::TaskPool::scope) spawns tasks that may borrow values that outlive the call.
///
/// Tasks may spawn further tasks on it.
///
/// # Examples
///
/// ```
/// # use terrace_tasks::TaskPool;
/// let words = ["a", "bc", "def"];
/// let mut lengths = TaskPool::new().scope(|scope| {
///     scope.spawn(async {
///         // A task spawns further ones.
///         for word in &words[1..] {
///             scope.spawn(async { word.len() });
///         }
///         words[0].len()
///     });
/// });
/// lengths.sort();
/// assert_eq!(lengths, [1, 2, 3]);
/// ```
pub struct Scope<'scope, 'env: 'scope, T> {
    inner: terrace_fork::Spawner<'scope>,
    results: &'scope Results<T>,
    /// Makes the type invariant over `'env`, as it is over `'scope`.
    env: PhantomData<&'env mut &'env ()>,
}

// A task's panic ends its scope, so no caller sees a scope half-changed.
impl<T> RefUnwindSafe for Scope<'_, '_, T> {}

impl<'scope, T: Send + 'scope> Scope<'scope, '_, T> {
    /// Spawns a task that any thread of the pool may run, and the scope's own thread.
    ///
    /// Its result becomes part of the result of [`TaskPool::scope`](crate::TaskPool::scope).
    ///
    /// # Examples
    ///
    /// ```
    /// # use terrace_tasks::TaskPool;
    /// let numbers = [1, 2, 3];
    /// let doubled = TaskPool::new().scope(|scope| {
    ///     for number in &numbers {
    ///         scope.spawn(async move { number * 2 });
    ///     }
    /// });
    /// assert_eq!(doubled, [2, 4, 6]);
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn<Fut: Future<Output = T> + 'scope + Send>(&self, f: Fut) {
        self.inner.spawn(self.child(f));
    }

    /// Spawns a task that the scope's own thread runs, the one that called
    /// [`TaskPool::scope`](crate::TaskPool::scope).
    ///
    /// Its result becomes part of the result of that call.
    ///
    /// # Examples
    ///
    /// ```
    /// # use terrace_tasks::TaskPool;
    /// let here = std::thread::current().id();
    /// let ran_on = TaskPool::new().scope(|scope| {
    ///     scope.spawn_on_scope(async { std::thread::current().id() });
    /// });
    /// assert_eq!(ran_on, [here]);
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_on_scope<Fut: Future<Output = T> + 'scope + Send>(&self, f: Fut) {
        self.inner.spawn_on_scope(self.child(f));
    }

    /// Spawns a task that runs where the external executor is ticked, which was given to
    /// [`TaskPool::scope_with_executor`](crate::TaskPool::scope_with_executor); without one, on the scope's own thread.
    ///
    /// Its result becomes part of the result of that call.
    /// [`TaskPool::scope_with_executor`](crate::TaskPool::scope_with_executor) has an example.
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_on_external<Fut: Future<Output = T> + 'scope + Send>(&self, f: Fut) {
        self.inner.spawn_on_external(self.child(f));
    }

    /// `future` as a child that stores its result.
    fn child<Fut: Future<Output = T>>(&self, future: Fut) -> Child<'scope, T, Fut> {
        let number = self.results.number();
        Child {
            future,
            results: self.results,
            number,
        }
    }
}

impl<T> fmt::Debug for Scope<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Scope").field(&self.inner).finish()
    }
}

pin_project! {
    /// A future whose output goes to its place among the scope's results.
    struct Child<'scope, T, Fut> {
        #[pin]
        future: Fut,
        results: &'scope Results<T>,
        number: usize,
    }
}

impl<T, Fut: Future<Output = T>> Future for Child<'_, T, Fut> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        let result = ready!(this.future.poll(context));
        this.results.store(*this.number, result);
        Poll::Ready(())
    }
}
