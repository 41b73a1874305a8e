//! Spawning from inside: by a handle that keeps no executor alive, or on the executor that polls the caller.
//!
//! | the executor                        | a spawn by a [`Spawner`]                                                   |
//! |-------------------------------------|----------------------------------------------------------------------------|
//! | is there                            | as the executor's own                                                      |
//! | is being dropped                    | queues the task; the thread that drops the executor's tasks drops it       |
//! | is gone                             | drops the future; the task counts as cancelled                             |
//!
//! `terrace_thread::closed` has the handshake of the last two rows.

use std::fmt;
use std::future::Future;
use std::panic::{RefUnwindSafe, UnwindSafe};

use terrace_local::task::{CoreRef, Task};
use terrace_local::{Spawn, boxing_large};
use terrace_sync::Arc;

use crate::parts::current::{Current, ExecutorId, current};
use crate::parts::injector::Lane;
use crate::pool::Shared;
use crate::pool::frames::with_pool;
use crate::pool::runner::{is_inside, reference};
use crate::pool::schedule::{Cause, CoreOf, Usual};
use crate::pool::spawn::spawn_on;

/// Spawns tasks onto an executor, from any thread and any task. [`Executor::spawner`](crate::Executor::spawner) and
/// [`Current::spawner`] make it.
///
/// It is a weak handle: neither it nor a task that keeps it keeps the executor, its threads or its tasks alive. It keeps a few
/// kilobytes of memory, which the last handle frees. A clone costs one read-modify-write.
///
/// After the executor's drop, a spawn drops its future at once, and the task counts as cancelled. So `task.await` panics, and
/// [`Task::fallible`] gives `None`. [`is_closed`](Self::is_closed) tells beforehand.
///
/// # Examples
///
/// ```
/// use terrace_executor::{Builder, block_on};
///
/// let executor = Builder::new().workers(1).build();
/// let spawner = executor.spawner();
/// assert_eq!(block_on(spawner.spawn(async { "ran" })), "ran");
///
/// drop(executor);
/// assert!(spawner.is_closed());
/// assert_eq!(block_on(spawner.spawn(async { "ran" }).fallible()), None);
/// ```
#[doc(alias = "Handle")]
#[derive(Clone)]
pub struct Spawner {
    pub(crate) pool: Arc<Shared>,
}

// A panic of a task stays in the task, so a spawner is never seen half-changed.
impl UnwindSafe for Spawner {}
impl RefUnwindSafe for Spawner {}

impl Spawner {
    fn core(&self) -> CoreRef<CoreOf<Usual>> {
        CoreRef::Shared(CoreOf::counted(reference(&self.pool)))
    }

    /// The executor.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Executor::new();
    /// let spawner = executor.spawner();
    /// assert_eq!(spawner.executor(), executor.id());
    /// ```
    #[must_use = "the call only reads a value"]
    pub fn executor(&self) -> ExecutorId {
        self.pool.id
    }

    /// Whether the executor is gone, so that each spawn drops its future. False while the executor is being dropped: a task that
    /// is spawned then may be dropped without a poll.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Executor::new();
    /// let spawner = executor.spawner();
    /// assert!(!spawner.is_closed());
    /// drop(executor);
    /// assert!(spawner.is_closed());
    /// ```
    #[must_use = "the call only answers a question"]
    pub fn is_closed(&self) -> bool {
        self.pool.is_closed()
    }

    /// Spawns a task, as [`Executor::spawn`](crate::Executor::spawn) does, at the same cost.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, block_on};
    ///
    /// let executor = Builder::new().workers(1).build();
    /// let spawner = executor.spawner();
    /// let thread = std::thread::spawn(move || block_on(spawner.spawn(async { 6 * 7 })));
    /// assert_eq!(thread.join().unwrap(), 42);
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        let (runnable, task) = boxing_large!(|future| {
            let core = self.core();
            // SAFETY: future and output are Send and 'static, and `core` refers to this pool.
            unsafe { self.pool.make(core, future) }
        });
        self.pool.queue_if_open(runnable, |runnable| {
            self.pool.push_foreign(runnable, Cause::Spawned);
        });
        task
    }

    /// As [`Executor::spawn_eager`](crate::Executor::spawn_eager) in a task of this executor that a worker or a `run` future polls.
    /// Elsewhere as [`spawn`](Self::spawn).
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, block_on};
    ///
    /// let executor = Builder::new().workers(1).build();
    /// let spawner = executor.spawner();
    /// let task = executor.spawn(async move { spawner.spawn_eager(async { 6 * 7 }).is_finished() });
    /// assert!(block_on(task));
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_eager<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        // A runner keeps the executor open.
        if !is_inside(&self.pool) {
            return self.spawn(future);
        }
        boxing_large!(|future| {
            // SAFETY: future and output are Send and 'static, and the core is that of this pool.
            unsafe { self.pool.spawn_eager(|| self.core(), future) }
        })
    }

    /// Spawns a task on a lane, as [`Executor::spawn_on`](crate::Executor::spawn_on) does.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, Lane, block_on};
    ///
    /// let executor = Builder::new().workers(1).build();
    /// let task = executor.spawner().spawn_on(Lane::High, async { "first" });
    /// assert_eq!(block_on(task), "first");
    /// ```
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_on<T: Send + 'static>(
        &self,
        lane: Lane,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        boxing_large!(|future| match lane {
            Lane::Normal => self.spawn(future),
            // SAFETY: future and output are Send and 'static.
            Lane::High | Lane::Background => unsafe { spawn_on(&self.pool, lane, future) },
        })
    }
}

impl<F: Future<Output: Send + 'static> + Send + 'static> Spawn<F> for Spawner {
    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn_task(&self, future: F) -> Task<F::Output> {
        self.spawn(future)
    }

    #[cfg_attr(feature = "timeline", track_caller)]
    fn spawn_task_eager(&self, future: F) -> Task<F::Output> {
        self.spawn_eager(future)
    }
}

impl fmt::Debug for Spawner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spawner")
            .field("executor", &self.executor())
            .field("is_closed", &self.is_closed())
            .finish()
    }
}

/// Spawning on the executor that polls the caller.
impl Current {
    /// A handle of the executor whose task is being polled; of several that are nested, the innermost. `None` where
    /// [`current`](fn@crate::current) is `None`: outside of such tasks.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, Current, block_on};
    ///
    /// assert!(Current::spawner().is_none());
    /// let executor = Builder::new().workers(1).build();
    /// let spawner = block_on(executor.spawn(async { Current::spawner() }));
    /// assert_eq!(spawner.map(|spawner| spawner.executor()), Some(executor.id()));
    /// ```
    #[doc(alias = "try_current")]
    #[must_use = "a handle spawns nothing by itself"]
    pub fn spawner() -> Option<Spawner> {
        with_pool(|pool| Some(Spawner { pool: pool?.arc() }))
    }

    /// Spawns a task on the executor whose task is being polled.
    ///
    /// # Panics
    /// If there is none: see [`Current::spawner`], which returns `None` instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_executor::{Builder, Current, block_on};
    ///
    /// let executor = Builder::new().workers(1).build();
    /// let task = executor.spawn(async { Current::spawn(async { 6 * 7 }).await });
    /// assert_eq!(block_on(task), 42);
    /// ```
    #[track_caller]
    pub fn spawn<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> Task<T> {
        Self::spawner_for("spawn").spawn(future)
    }

    /// The handle that a verb needs.
    #[track_caller]
    pub(crate) fn spawner_for(verb: &str) -> Spawner {
        match Self::spawner() {
            Some(spawner) => spawner,
            None => panic!(
                "no executor polls the caller of `Current::{verb}`. Call it in a task of an executor; elsewhere keep a `Spawner`, which `Executor::spawner` makes"
            ),
        }
    }

    /// Spawns a task that need not be `Send`, and stays on the worker that polls the caller. It ends with that worker. The same as
    /// `terrace_thread::spawn_local`, except that it asks for a worker.
    ///
    /// # Panics
    /// If no worker polls the caller. A `run` future runs no tasks of its thread: there, a `terrace_local::LocalExecutor` does.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::rc::Rc;
    /// use terrace_executor::{Builder, Current, block_on};
    ///
    /// let executor = Builder::new().workers(1).build();
    /// let task = executor.spawn(async {
    ///     Current::spawn_local(async { *Rc::new(42) }).await
    /// });
    /// assert_eq!(block_on(task), 42);
    /// ```
    #[track_caller]
    pub fn spawn_local<T: 'static>(future: impl Future<Output = T> + 'static) -> Task<T> {
        assert!(
            current().is_some_and(|current| !current.is_driver() && !current.is_visitor()),
            "no worker polls the caller of `Current::spawn_local`. Call it in a task on a worker; on a thread of your own, use a \
             `terrace_local::LocalExecutor`"
        );
        terrace_thread::spawn_local(future)
    }
}
