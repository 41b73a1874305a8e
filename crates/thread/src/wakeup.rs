//! [`Wakeup`]: how a notifier wakes a thread, wherever the thread sleeps.
//!
//! A thread has one for its whole life. It sleeps on its parker, or while it is a worker, which it may be several times, as the worker does.
//!
//! ```text
//! bind:    under the lock worker := some; bound; the thread fences and looks at everything before it sleeps as the worker
//! unbind:  not bound; under the lock worker := none; the thread looks at everything before it sleeps on its parker
//! notify:  the item; bound -> under the lock a copy of worker; some -> notify it, done
//!          else unpark; f; bound -> the same; the hook, if there is one
//! hook:    the thread sets it; F; it looks at everything
//! ```
//!
//! A notifier that finds a worker under the lock came before its `unbind`, so the thread sees the item behind that. One that finds none
//! unparks, and the parker keeps the token. Of its fence `f` and the thread's after `bind`, one comes first: the thread sees the item, or the
//! notifier that the thread is a worker now. Not an API; public for its models.

use std::panic::{AssertUnwindSafe, catch_unwind};

use terrace_park::Unparker;
use terrace_sync::atomic::{AtomicBool, Ordering};
use terrace_sync::{Mutex, OnceLock, heavy, light, weakened};

use crate::notify::Notify;

/// The ways to wake one thread; see the module.
pub struct Wakeup<N> {
    unparker: Unparker,
    /// Wakes the thread where it sleeps as a worker.
    worker: Mutex<Option<N>>,
    /// Whether there is one. Written by the thread alone.
    bound: AtomicBool,
    /// Each notification calls it, beside the wake itself.
    hook: OnceLock<N>,
}

impl<N: Notify + Clone> Wakeup<N> {
    /// The wakeup of a thread that sleeps on the parker of `unparker`.
    pub fn new(unparker: Unparker) -> Self {
        Self {
            unparker,
            worker: Mutex::new(None),
            bound: AtomicBool::new(false),
            hook: OnceLock::new(),
        }
    }

    /// Whether the thread sleeps as a worker.
    #[inline]
    pub fn is_bound(&self) -> bool {
        // Ordering: Relaxed. The lock decides, or a fence comes before, see the module.
        self.bound.load(Ordering::Relaxed)
    }

    /// From now on `worker` wakes the thread. It fences before it looks whether the thread sleeps. The thread itself calls this, while it is
    /// no worker. Before it sleeps as one, it fences, and looks at everything.
    pub fn bind(&self, worker: N) {
        *self.worker.lock() = Some(worker);
        // Ordering: Relaxed. The thread's fence comes before its look, see the module.
        self.bound.store(true, Ordering::Relaxed);
    }

    /// From now on the thread sleeps on its parker. The thread itself calls this, and looks at everything before it sleeps.
    pub fn unbind(&self) {
        // Ordering: Relaxed. A notifier that still sees a worker asks under the lock.
        self.bound.store(false, Ordering::Relaxed);
        let worker = self.worker.lock().take();
        drop(worker);
    }

    /// Sets the hook. The thread itself calls this, and looks at everything afterwards.
    ///
    /// # Errors
    /// Gives it back if there is one already.
    pub fn set_hook(&self, hook: N) -> Result<(), N> {
        self.hook.set(hook)?;
        // Pairs with the fence between an item and its `notify`: the notifier finds the hook, or the thread the item.
        heavy();
        Ok(())
    }

    /// Wakes the thread where it sleeps. Calls no hook.
    #[inline]
    pub fn wake(&self) {
        let was_bound = self.is_bound();
        if was_bound && self.notify_worker() {
            return;
        }
        if !was_bound || !weakened!("thread-notify-worker-only") {
            self.unparker.unpark();
        }
        // Pairs with the thread's fence before it sleeps as a worker.
        if !weakened!("thread-next-fence") {
            light();
        }
        if self.is_bound() && !weakened!("thread-next-ignored") {
            self.notify_worker();
        }
    }

    /// Whether the thread is a worker.
    fn notify_worker(&self) -> bool {
        // Not under the lock: the worker's notifier may call a waker of the program.
        let worker = self.worker.lock().clone();
        worker.is_some_and(|worker| {
            worker.notify();
            true
        })
    }

    /// Wakes the thread, and calls the hook. A panic of the hook stays here: it must not unwind into a notifier.
    #[inline]
    pub fn notify(&self) {
        self.wake();
        if let Some(hook) = self.hook.get() {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| hook.notify())) {
                terrace_local::drop_payload(payload);
            }
        }
    }
}
