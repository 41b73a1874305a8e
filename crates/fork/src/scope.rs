//! Hybrid scopes: children are closures and futures that borrow from the scope's environment, and the scope's
//! thread helps until the last child has ended.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, catch_unwind, resume_unwind};

use terrace_executor::scope::{OpenScope, ScopeKind};
use terrace_executor::{Broadcast, Executor, ThreadQueue, Worker, drop_payload};

use crate::keep::Keep;
use crate::spawner::Spawner;
use crate::work::SpawnScoped;

/// The executors that a scope's wait ticks, beside the scope's own children and the thread's pinned tasks.
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
///     scope.spawn_on_external(async { ran_on = Some(std::thread::current().id()) });
/// });
/// // The wait of the scope has ticked this thread's executor.
/// assert_eq!(ran_on, Some(std::thread::current().id()));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Config<'a> {
    /// [`Scope::spawn_on_external`] sends children there; without it, to the scope's own thread. If
    /// the scope's thread owns it, the wait ticks it.
    pub external: Option<&'a ThreadQueue>,
    /// An executor of the scope's thread that the wait ticks too. Both are named by their queues, see
    /// `ThreadExecutor::queue`.
    pub local: Option<&'a ThreadQueue>,
}

/// Spawns children that may borrow from the environment `'env`. The functions [`scope`](fn@scope) and [`scope_with`] lend one to their
/// body.
///
/// # Examples
///
/// ```
/// use terrace_fork::Scope;
///
/// fn double_all<'scope>(numbers: &'scope mut [u32], scope: &Scope<'scope, '_>) {
///     for number in numbers {
///         scope.spawn(move || *number *= 2);
///     }
/// }
///
/// let executor = terrace_executor::Builder::new().workers(1).build();
/// let mut numbers = [1, 2, 3];
/// terrace_fork::scope(&executor, |scope| double_all(&mut numbers, scope));
/// assert_eq!(numbers, [2, 4, 6]);
/// ```
pub struct Scope<'scope, 'env: 'scope> {
    spawner: Spawner<'scope>,
    keep: &'scope Keep,
    /// Invariant, as children may put borrowed data of this lifetime into it.
    _env: PhantomData<&'env mut &'env ()>,
}

// As for `Spawner`.
impl RefUnwindSafe for Scope<'_, '_> {}

/// Runs `body` with a scope and returns when every child has ended.
///
/// See [`scope_with`].
///
/// # Examples
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
#[doc(alias = "in_place_scope")]
#[cfg_attr(feature = "inspect", track_caller)]
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
/// A child costs one allocation. The first one opens the scope in the pool, which takes an uncontended lock, and another one
/// at the end. A scope without a child costs neither.
///
/// # Panics
/// With the panic of `body`, else with that of a child. A panic cancels the other children: no thread polls them again.
/// There is one exception: a child that was spawned before the one that panicked still gets its first poll. A cancelled
/// child's future is dropped on the thread that would have run it. The call unwinds when all of them are gone. Of
/// several children that panicked, the one that was spawned first decides.
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
///
/// # Examples
///
/// ```
/// use terrace_fork::{Config, scope_with};
///
/// let executor = terrace_executor::Builder::new().workers(1).build();
/// let words = vec!["borrowed", "words"];
/// let (mut letters, mut count) = (0, 0);
/// let said = scope_with(&executor, Config::default(), |scope| {
///     scope.spawn(async { letters = words.concat().len() });
///     scope.spawn(async { count = words.len() });
///     "the body's value"
/// });
/// assert_eq!((letters, count, said), (13, 2, "the body's value"));
/// ```
#[cfg_attr(feature = "inspect", track_caller)]
pub fn scope_with<'env, T>(
    executor: &Executor<'static>,
    config: Config<'_>,
    body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
) -> T {
    in_scope(OpenScope::open(executor, kind_of(&body)), config, body)
}

/// Scopes with a body of this type.
fn kind_of<F>(_: &F) -> ScopeKind {
    ScopeKind::of::<F>()
}

/// [`scope`](fn@scope) in a member's place: see [`MemberScope`].
#[cfg_attr(feature = "inspect", track_caller)]
pub(crate) fn scope_of<'env, T>(
    worker: &Worker,
    body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
) -> T {
    match worker.spawner() {
        Some(pool) => {
            let open = OpenScope::open_by(&pool, kind_of(&body));
            in_scope(open, Config::default(), body)
        }
        None => scope(&Executor::new(), body),
    }
}

/// Scopes in a member's place. A trait, as [`Worker`] is a type of the layer below; import it to call `worker.scope(…)`.
/// [`scope`](Self::scope) has an example.
pub trait MemberScope {
    /// Runs `body` with a scope on the member's pool, and returns when every child has ended: see [`scope`](fn@scope). A handle that knows no
    /// pool runs all children on this thread.
    ///
    /// Cost: that of [`scope`](fn@scope), and two read-modify-writes.
    ///
    /// # Panics
    /// With the panic of `body`, else with that of a child, when all have ended.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_fork::{MemberScope, ThreadPool};
    ///
    /// let pool = ThreadPool::new();
    /// for workers in [0, 1, 2] {
    ///     pool.resize_to(workers);
    ///     let mut numbers = [1, 2, 3];
    ///     pool.with_worker(|worker| {
    ///         worker.scope(|scope| {
    ///             for number in &mut numbers {
    ///                 scope.spawn(async move { *number *= 2 });
    ///             }
    ///         });
    ///     });
    ///     assert_eq!(numbers, [2, 4, 6]);
    /// }
    /// ```
    #[cfg_attr(feature = "inspect", track_caller)]
    fn scope<'env, T>(&self, body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T) -> T;
}

impl MemberScope for Worker {
    #[cfg_attr(feature = "inspect", track_caller)]
    fn scope<'env, T>(&self, body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T) -> T {
        scope_of(self, body)
    }
}

/// Runs `body` with the scope that is `open`.
fn in_scope<'env, T>(
    open: OpenScope<'_>,
    config: Config<'_>,
    body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
) -> T {
    // Outlives the scope proper, which the body and the children borrow for as long as it exists.
    let keep = Keep::new();
    let scope = Scope {
        // SAFETY: it does not leave this function, whose scope is waited for below in every case.
        spawner: unsafe { Spawner::new(open.handle(), config.external) },
        keep: &keep,
        _env: PhantomData,
    };
    let result = catch_unwind(AssertUnwindSafe(|| body(&scope)));
    if result.is_err() {
        open.cancel();
    }
    let mut tick = [config.local, config.external].into_iter().flatten();
    let panic = match (tick.next(), tick.next()) {
        (Some(local), Some(external)) if !std::ptr::eq(local, external) => {
            open.wait(&[local, external])
        }
        (Some(only), _) => open.wait(&[only]),
        (None, _) => open.wait(&[]),
    };
    // Every child has ended, so no code borrows from the scope or from the values it kept. A value dropped below may panic
    // in its destructor, and must not do so while this function unwinds.
    match (result, panic) {
        (Ok(value), None) => value,
        (Ok(value), Some(payload)) => {
            if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
                drop_payload(second);
            }
            resume_unwind(payload)
        }
        (Err(payload), second) => {
            second.into_iter().for_each(drop_payload);
            resume_unwind(payload)
        }
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Spawns a child that any worker of the executor, or the scope's own thread, may run: a closure that takes `&Worker`, or a
    /// future. Either has no output; [`spawn_into`](Self::spawn_into) is for futures that have one.
    ///
    /// A closure costs one allocation and, where the scope's thread runs it, three read-modify-writes. A future has those of its task cell
    /// beside them.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, Worker};
    ///
    /// let executor = Builder::new().workers(2).build();
    /// let mut sums = [0; 3];
    /// let [closure, future, call] = &mut sums;
    /// terrace_fork::scope(&executor, |scope| {
    ///     scope.spawn(|worker: &Worker| {
    ///         let (a, b) = worker.join(|_| 1, |_| 2);
    ///         *closure = a + b;
    ///     });
    ///     scope.spawn(async { *future = std::future::ready(4).await });
    ///     scope.spawn(|| *call = 5);
    /// });
    /// assert_eq!(sums, [3, 4, 5]);
    /// ```
    #[inline]
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn<M>(&self, work: impl SpawnScoped<'scope, M> + Send) {
        self.spawner.spawn(work);
    }

    /// Spawns a closure or a future that runs on the worker with this number only, counted from 0, also while the worker waits. If
    /// the worker ends first, the child is dropped.
    ///
    /// Cost: one allocation, and a lock and two allocations for the list of workers.
    ///
    /// # Panics
    /// If there is no worker with this number.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Builder::new().workers(2).build();
    /// let thread = || Some(std::thread::current().id());
    /// let (mut one, mut other) = (None, None);
    /// terrace_fork::scope(&executor, |scope| {
    ///     scope.spawn_on(1, || one = thread());
    ///     scope.spawn_on(1, async { other = thread() });
    /// });
    /// assert!(one.is_some() && one == other && one != thread());
    /// ```
    #[track_caller]
    pub fn spawn_on<M>(&self, worker: usize, work: impl SpawnScoped<'scope, M> + Send) {
        self.spawner.spawn_on(worker, work);
    }

    /// Spawns a closure or a future that runs on the scope's own thread, and need not be `Send`. It runs in the scope's wait.
    ///
    /// One allocation.
    ///
    /// # Panics
    /// On any other thread than the scope's: nothing would make sure that it comes to the child before it ends.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::cell::Cell;
    ///
    /// let executor = terrace_executor::Builder::new().workers(1).build();
    /// let sum = Cell::new(0);
    /// terrace_fork::scope(&executor, |scope| {
    ///     scope.spawn_local(|| sum.set(sum.get() + 1));
    ///     scope.spawn_local(async { sum.set(sum.get() + 2) });
    /// });
    /// assert_eq!(sum.get(), 3);
    /// ```
    #[track_caller]
    pub fn spawn_local<M>(&self, work: impl SpawnScoped<'scope, M>) {
        self.spawner.spawn_local(work);
    }

    /// Calls `f` once on each worker of the pool before the scope ends, also while the worker waits. A worker that ends first leaves its
    /// call out. While there are no workers, there is one call, on any thread.
    ///
    /// Cost: one allocation a worker, and a few a call.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Builder::new().workers(2).build();
    /// let (sender, parts) = std::sync::mpsc::channel();
    /// terrace_fork::scope(&executor, |scope| {
    ///     scope.spawn_broadcast(move |part| sender.send(part.index + 1).expect("it is received below"));
    /// });
    /// assert_eq!(parts.iter().sum::<usize>(), 1 + 2);
    /// ```
    pub fn spawn_broadcast(&self, f: impl Fn(Broadcast<'_>) + Send + Sync + 'scope) {
        self.spawner.spawn_broadcast(f);
    }

    /// Spawns a child that returns a value, which goes into `place`. The place is declared outside of the scope; the value may borrow
    /// from the environment. It is there after the scope, unless the scope unwinds.
    ///
    /// Costs as much as [`spawn`](Self::spawn). The child drops the value that was in the place before.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Builder::new().workers(2).build();
    /// let text = String::from("a borrowed word");
    /// let (mut first, mut length) = (None, None);
    /// terrace_fork::scope(&executor, |scope| {
    ///     scope.spawn_into(&mut first, async { text.split(' ').next() });
    ///     scope.spawn_into(&mut length, async { text.len() });
    /// });
    /// assert_eq!((first, length), (Some(Some("a")), Some(15)));
    /// ```
    #[inline]
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_into<T: Send + 'scope>(
        &self,
        place: &'scope mut Option<T>,
        future: impl Future<Output = T> + Send + 'scope,
    ) {
        self.spawn(async move { *place = Some(future.await) });
    }

    /// Spawns a child that runs on the scope's own thread.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Builder::new().workers(1).build();
    /// let mut ran_on = None;
    /// terrace_fork::scope(&executor, |scope| {
    ///     scope.spawn_on_scope(async { ran_on = Some(std::thread::current().id()) });
    /// });
    /// assert_eq!(ran_on, Some(std::thread::current().id()));
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_on_scope(&self, future: impl Future<Output = ()> + Send + 'scope) {
        self.spawner.spawn_on_scope(future);
    }

    /// Spawns a child that runs where [`Config::external`] is ticked.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Builder::new().workers(1).build();
    /// let mut ran_on = None;
    /// terrace_fork::scope(&executor, |scope| {
    ///     // The scope has no `external`, so its own thread runs the child.
    ///     scope.spawn_on_external(async { ran_on = Some(std::thread::current().id()) });
    /// });
    /// assert_eq!(ran_on, Some(std::thread::current().id()));
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_on_external(&self, future: impl Future<Output = ()> + Send + 'scope) {
        self.spawner.spawn_on_external(future);
    }

    /// The spawning part alone, which knows nothing of the environment.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Builder::new().workers(1).build();
    /// let mut sum = 0;
    /// terrace_fork::scope(&executor, |scope| {
    ///     let spawner = scope.spawner();
    ///     spawner.spawn(async { sum += 1 });
    /// });
    /// assert_eq!(sum, 1);
    /// ```
    #[inline]
    #[must_use = "a handle spawns nothing by itself"]
    pub fn spawner(&self) -> Spawner<'scope> {
        self.spawner
    }

    /// Keeps a value until after the last child, and lends it out for the scope's life. The first small value costs a swap, others one
    /// allocation and one lock.
    ///
    /// The value may refer to the scope and to other kept values, as in an arena. Therefore it has no destructor, which
    /// would run when these may be gone; the compiler checks that. Values with destructors are declared outside the scope
    /// and borrowed.
    ///
    /// # Examples
    ///
    /// ```
    /// # let executor = terrace_executor::Builder::new().workers(1).build();
    /// terrace_fork::scope(&executor, |scope| {
    ///     let numbers = scope.keep([1, 2, 3]);
    ///     let first = scope.keep(&numbers[0]);
    ///     scope.spawn(async { assert_eq!(**first, 1) });
    /// });
    /// ```
    ///
    /// ```compile_fail,E0080
    /// # let executor = terrace_executor::Builder::new().workers(1).build();
    /// terrace_fork::scope(&executor, |scope| {
    ///     scope.keep(String::from("has a destructor"));
    /// });
    /// ```
    pub fn keep<T: Send + Sync + 'scope>(&'scope self, value: T) -> &'scope T {
        let value = self.keep.keep(value);
        // SAFETY: the value stays in place, and is only read, until `scope_with` drops the `Keep`: after the last child and so
        // after `'scope`.
        unsafe { value.as_ref() }
    }
}

/// How many of its children are pending; the body is one while it runs.
impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.spawner, f)
    }
}
