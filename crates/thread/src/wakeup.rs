//! [`Wakeup`]: how a notifier wakes a thread, wherever the thread sleeps.
//!
//! A thread has one `Wakeup` up to the time when it becomes a worker, and another one from then on. All its notifiers keep the one of
//! their time, so it does not go with a core that the thread closes.
//!
//! | the thread             | `worker` | `bound` | `next` | sleeps               | a notification reaches |
//! |------------------------|----------|---------|--------|----------------------|------------------------|
//! | is no worker           | none     | false   | none   | on its parker        | the parker             |
//! | is a worker            | some     | true    | none   | as the worker        | the worker             |
//! | has been a worker      | some     | false   | none   | on its parker        | the parker             |
//! | is a new worker since  | any      | false   | some   | by the next `Wakeup` | what that one reaches  |
//!
//! ```text
//! notify:  the item; bound -> notify the worker, which fences before it looks whether the worker sleeps; still bound -> done
//!          else unpark; f; next -> notify that one; else the hook, if there is one
//! unbind:  the thread no longer sleeps as a worker; bound off; F; it looks at everything before it sleeps on its parker
//! follow:  next := the new one; the thread fences and looks at everything before it sleeps as the worker
//! hook:    the thread sets it; F; it looks at everything
//! ```
//!
//! One of the two fences comes first. If it is the notifier's, the thread sees the item after its own. If it is the
//! thread's, the notifier sees that the thread is no longer bound, and unparks, or sees the next one. The parker keeps the token, so no
//! other handshake is needed. Not an API; public for its models.

use std::panic::{AssertUnwindSafe, catch_unwind};

use terrace_park::Unparker;
use terrace_sync::atomic::{AtomicBool, Ordering};
use terrace_sync::{Arc, OnceLock, heavy, light, weakened};

use crate::notify::Notify;

/// The ways to wake one thread; see the module.
pub struct Wakeup<N> {
    unparker: Unparker,
    /// Wakes the thread where it sleeps as a worker.
    worker: Option<N>,
    /// Whether the thread sleeps as a worker.
    bound: AtomicBool,
    /// Each notification calls it, beside the wake itself.
    hook: OnceLock<N>,
    /// What wakes the thread now, in place of this one; there if `is_followed`.
    next: OnceLock<Arc<Wakeup<N>>>,
    is_followed: AtomicBool,
}

impl<N: Notify> Wakeup<N> {
    /// The wakeup of a thread that sleeps on the parker of `unparker`, or at first as a worker. The worker's `notify` fences
    /// before it looks whether the thread sleeps.
    pub fn new(unparker: Unparker, worker: Option<N>) -> Self {
        Self {
            unparker,
            bound: AtomicBool::new(worker.is_some()),
            worker,
            hook: OnceLock::new(),
            next: OnceLock::new(),
            is_followed: AtomicBool::new(false),
        }
    }

    /// Whether the thread sleeps as a worker.
    #[inline]
    pub fn is_bound(&self) -> bool {
        // Ordering: Relaxed. The notifier's fence comes before, see the module.
        self.bound.load(Ordering::Relaxed)
    }

    /// From now on the thread sleeps on its parker. The thread itself calls this, and looks at everything before it sleeps.
    pub fn unbind(&self) {
        // Ordering: Relaxed. The fence orders it before the thread's next look.
        self.bound.store(false, Ordering::Relaxed);
        // Pairs with the fence in the worker's `notify`.
        if !weakened!("thread-unbind-fence") {
            heavy();
        }
    }

    /// From now on `next` wakes the thread. The thread itself calls this once, while it is no worker. Before it sleeps as one, it fences,
    /// and looks at everything.
    pub fn follow(&self, next: Arc<Self>) {
        let set = self.next.set(next);
        debug_assert!(set.is_ok(), "a wakeup was followed before");
        // Ordering: Release pairs with the Acquire in `next`: a notifier that sees this sees the next one.
        self.is_followed.store(true, Ordering::Release);
    }

    /// What wakes the thread now, if not this one. The caller has unparked this one's parker.
    #[inline]
    fn next(&self) -> Option<&Self> {
        // Fence pair: `heavy` before the thread's sleep as a worker. Either the notifier sees what wakes the thread now, or the thread
        // sees the item.
        if !weakened!("thread-next-fence") {
            light();
        }
        // Ordering: Acquire pairs with the Release in `follow`.
        if !self.is_followed.load(Ordering::Acquire) || weakened!("thread-next-ignored") {
            return None;
        }
        self.next.get().map(|next| &**next)
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

    /// Wakes the thread where it sleeps. Runs no users' code.
    #[inline]
    pub fn wake(&self) {
        if let Some(next) = self.wake_here() {
            next.wake();
        }
    }

    /// Wakes the thread as this one does. Returns what the caller has to do so by, too.
    #[inline]
    fn wake_here(&self) -> Option<&Self> {
        if let Some(worker) = self.worker.as_ref().filter(|_| self.is_bound()) {
            worker.notify();
            // The thread may have changed to its parker in between, without seeing the item.
            if self.is_bound() || weakened!("thread-notify-once") {
                return None;
            }
        }
        if !weakened!("thread-notify-worker-only") || self.worker.is_none() {
            self.unparker.unpark();
        }
        self.next()
    }

    /// Wakes the thread, and calls the hook. A panic of the hook stays here: it must not unwind into a notifier.
    #[inline]
    pub fn notify(&self) {
        if let Some(next) = self.wake_here() {
            return next.notify();
        }
        if let Some(hook) = self.hook.get() {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| hook.notify())) {
                terrace_local::drop_payload(payload);
            }
        }
    }
}
