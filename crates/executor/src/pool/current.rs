//! Which worker the current thread is: one thread-local load.

use std::cell::Cell;

use terrace_local::task::Runnable;

use super::Shared;
use super::worker::Worker;

terrace_sync::thread_local! {
    /// The worker whose loop runs on this thread; null elsewhere. Plain data without a destructor,
    /// so that it can be read at any time in the thread's life.
    static CURRENT: Cell<*const Worker> = const { Cell::new(std::ptr::null()) };
}

/// Marks the current thread as `worker` until dropped.
pub(crate) struct Entered;

impl Entered {
    /// The caller keeps `worker` in place until the guard is dropped on this thread.
    pub(crate) fn new(worker: &Worker) -> Self {
        CURRENT.with(|current| current.set(worker));
        Self
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.with(|current| current.set(std::ptr::null()));
    }
}

/// Calls `f` with the current thread's worker, if it is one.
#[inline]
pub(crate) fn with<T>(f: impl FnOnce(Option<&Worker>) -> T) -> T {
    let worker = CURRENT.with(Cell::get);
    if worker.is_null() {
        return f(None);
    }
    // SAFETY: the pointer is set only by `Entered::new`, whose caller keeps the worker in place
    // until the guard resets the pointer, on this very thread.
    f(Some(unsafe { &*worker }))
}

/// The current worker's index for the trace hooks.
#[inline]
pub(crate) fn index() -> usize {
    with(|worker| worker.map_or(terrace_trace::EXTERNAL, Worker::index))
}

/// Whether the current thread is a worker of `pool`.
#[inline]
pub(crate) fn is_worker_of(pool: *const Shared) -> bool {
    with(|worker| worker.is_some_and(|worker| std::ptr::eq(&**worker.pool(), pool)))
}

/// Queues `task`: into the worker's own ring if the current thread is a worker of `pool`, else into
/// the pool's injector. The caller keeps the pool alive and publishes.
#[inline]
pub(crate) fn push_local(pool: &Shared, task: Runnable) {
    with(|worker| match worker {
        Some(worker) if std::ptr::eq(&**worker.pool(), pool) => {
            terrace_trace::local_schedule(worker.index());
            worker.push(task);
        }
        _ => {
            terrace_trace::inject(terrace_trace::EXTERNAL, 1);
            pool.injector.push(task);
        }
    })
}

/// What [`current`] tells about the worker that a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Current {
    worker: usize,
}

impl Current {
    /// The worker's index in its executor, counted from 0; spare workers follow the others.
    #[must_use]
    pub fn worker(&self) -> usize {
        self.worker
    }
}

/// The worker that the current thread is, if any. One thread-local load.
#[inline]
#[must_use]
pub fn current() -> Option<Current> {
    with(|worker| {
        worker.map(|worker| Current {
            worker: worker.index(),
        })
    })
}
