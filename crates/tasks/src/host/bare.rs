//! Without an operating system: one executor, of the context that uses it first.
//!
//! The program's `terrace_local::context!` says which context calls. Interrupts may wake the executor's tasks; they cannot
//! use it.

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};

use terrace_local::{LocalCore, LocalExecutor, Task};
use terrace_sync::atomic::{AtomicUsize, Ordering};
use terrace_sync::{Arc, OnceLock};

/// How many calls of `TaskPool::spawn` are polling tasks.
static NESTED: AtomicUsize = AtomicUsize::new(0);

pub(crate) fn nested_spawns() -> usize {
    // Ordering: Relaxed, one context uses it.
    NESTED.load(Ordering::Relaxed)
}

pub(crate) fn set_nested_spawns(depth: usize) {
    // Ordering: Relaxed, one context uses it.
    NESTED.store(depth, Ordering::Relaxed);
}

static CORE: OnceLock<Arc<LocalCore>> = OnceLock::new();

fn shared() -> &'static Arc<LocalCore> {
    // The drop of the executor would close it, which this program never does.
    CORE.get_or_init(|| Arc::clone(LocalExecutor::new().leak().core()))
}

/// Calls `f` with a view of the executor.
pub(crate) fn with_local_executor<R>(f: impl FnOnce(&LocalExecutor<'static>) -> R) -> R {
    f(&LocalExecutor::view(Arc::clone(shared())))
}

/// Spawns onto the executor.
pub(crate) fn spawn_local<T: 'static>(future: impl Future<Output = T> + 'static) -> Task<T> {
    with_local_executor(|executor| executor.spawn(future))
}

/// Polls one task of the executor, if one can go on.
pub(crate) fn tick() -> bool {
    shared().try_tick()
}

/// Polls `future` until it is done, and the tasks of the pools in between.
///
/// It never sleeps: without an operating system no thread could wake it. A program that wants to wait for interrupts
/// polls its future in a loop of its own, and `tick_global_task_pools_on_main_thread` or the local executor beside it.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        if !tick() {
            core::hint::spin_loop();
        }
    }
}
