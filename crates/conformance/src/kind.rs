//! The interface of an executor under test: [`Kind`], and its promises: [`Caps`].

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use terrace_executor::Executor;
use terrace_local::Task;

use crate::tools::Limit;

/// A set of promises of a kind, or of needs of a behaviour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Caps(u16);

impl Caps {
    /// No promise.
    pub const NONE: Self = Self(0);
    /// Tasks are polled in [`Kind::tick`] and nowhere else, one a call, on the calling thread.
    pub const MANUAL: Self = Self(1);
    /// Tasks are polled in the order in which they became ready.
    pub const FIFO: Self = Self(1 << 1);
    /// Dropping the executor drops its tasks, before the drop returns unless threads are at work.
    pub const CLOSES: Self = Self(1 << 2);
    /// A [`Handle`] takes spawns while the executor is being dropped, and drops them.
    pub const SPAWNS_IN_DROP: Self = Self(1 << 3);
    /// No thread but the calling one polls tasks, and it does so in the kind's methods only.
    pub const ONE_THREAD: Self = Self(1 << 6);
    /// The environment has threads.
    pub const THREADS: Self = Self(1 << 4);
    /// The environment unwinds panics.
    pub const UNWINDS: Self = Self(1 << 5);

    /// Both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Those that are not in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether all of `needs` are here.
    #[must_use]
    pub const fn has(self, needs: Self) -> bool {
        self.0 & needs.0 == needs.0
    }

    /// The abilities of this build's environment.
    #[must_use]
    pub const fn environment() -> Self {
        let threads = if cfg!(target_arch = "wasm32") {
            Self::NONE
        } else {
            Self::THREADS
        };
        let unwinds = if cfg!(panic = "unwind") {
            Self::UNWINDS
        } else {
            Self::NONE
        };
        threads.and(unwinds)
    }
}

/// A future of any type.
type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// An executor under test. Dropping it ends it; a kind that never ends runs ready tasks instead, so that cancelled
/// tasks are gone.
pub trait Kind: Sized + 'static {
    /// The tasks' handle on their executor.
    type Handle: Handle;

    /// Its promises.
    fn caps(&self) -> Caps;

    /// Makes another executor like this one.
    fn maker(&self) -> fn() -> Self;

    /// A handle for tasks; it does not keep the executor alive.
    fn handle(&self) -> Self::Handle;

    /// Spawns a task of exactly this future.
    fn spawn_exact<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T>;

    /// Spawns a task, with its future in a box: one cell type an output, not one a future, else this package takes
    /// minutes to compile. For the same reason most behaviours are compiled for [`Any`](crate::kinds::Any), not for each kind.
    fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        self.spawn_exact(Box::pin(future) as Boxed<T>)
    }

    /// Whether [`spawn_eager`](Self::spawn_eager) polls on the calling thread.
    fn polls_at_spawn(&self) -> bool {
        true
    }

    /// Spawns a task and polls it once, if the executor's thread is the calling one.
    fn spawn_eager<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T>;

    /// Polls one task that is ready; false if there is none, or if the kind's own threads do that.
    fn tick(&self) -> bool;

    /// Drives until the condition holds; false if the limit was reached before.
    fn drive(&self, condition: &mut dyn FnMut() -> bool, limit: &mut Limit) -> bool {
        drive_by_ticks(self, condition, limit)
    }

    /// How long to wait for an event that must come.
    fn patience(&self) -> Duration {
        terrace_testing::limit()
    }
}

/// A kind whose type says all of it.
pub trait Make: Kind {
    /// Its promises.
    const CAPS: Caps;

    /// Its name in reports.
    fn name() -> String;

    /// A new executor, driven by the calling thread or by its own.
    fn make() -> Self;
}

/// How executors of one kind are made.
pub struct Maker<K> {
    /// The kind's name in reports.
    pub name: String,
    /// Its promises.
    pub caps: Caps,
    /// Makes a new executor.
    pub make: fn() -> K,
}

impl<K: Make> Maker<K> {
    /// That of a kind.
    #[must_use]
    pub fn of() -> Self {
        Self {
            name: K::name(),
            caps: K::CAPS,
            make: K::make,
        }
    }
}

/// An executor seen from its own tasks, wakers and destructors.
pub trait Handle: Clone + Send + Sync + 'static {
    /// Spawns a task of exactly this future; `None` if the executor is gone.
    fn spawn_exact<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Option<Task<T>>;

    /// As [`Kind::spawn`]; `None` if the executor is gone.
    fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Option<Task<T>> {
        self.spawn_exact(Box::pin(future) as Boxed<T>)
    }

    /// As [`Kind::spawn_eager`]; `None` if the executor is gone.
    fn spawn_eager<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Option<Task<T>>;

    /// As [`Kind::tick`]; false too if the executor is gone.
    fn tick(&self) -> bool;
}

/// A kind that takes futures that are not `Send`.
pub trait LocalKind: Make {
    /// Spawns a task on the current thread.
    fn spawn_local<T: 'static>(&self, future: impl Future<Output = T> + 'static) -> Task<T>;
}

/// A kind with asynchronous drivers.
pub trait Drivable: Kind {
    /// Runs tasks until the future is done.
    fn run<T>(&self, future: impl Future<Output = T>) -> impl Future<Output = T>;

    /// Waits for a task and polls it.
    fn tick_async(&self) -> impl Future<Output = ()>;
}

/// A kind of executors that stay after their threads have ended.
pub trait Pooled: Kind {
    /// The executor.
    fn executor(&self) -> &Executor<'static>;
}

/// A kind that spawns batches.
pub trait Batch: Kind {
    /// Spawns the futures; their handles go to `handles`.
    fn spawn_many<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
        &self,
        futures: impl IntoIterator<Item = F>,
        handles: &mut impl Extend<Task<T>>,
    );
}

/// How a kind is driven that does not say otherwise.
pub(crate) fn drive_by_ticks<K: Kind>(
    kind: &K,
    condition: &mut dyn FnMut() -> bool,
    limit: &mut Limit,
) -> bool {
    while !condition() {
        let goes_on = if kind.tick() {
            limit.busy()
        } else {
            limit.idle()
        };
        if !goes_on {
            return false;
        }
    }
    true
}

/// Polls with a waker that does nothing.
pub fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(std::task::Waker::noop()))
}
