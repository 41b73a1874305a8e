//! The current thread's pinned core: made on first use, closed when the thread ends.

use std::cell::Cell;
use std::future::Future;
use std::mem::ManuallyDrop;

use terrace_local::{LocalCore, LocalExecutor, LocalSpawner, OwnedCore, Task, task};
use terrace_park::{Parker, Unparker};
use terrace_sync::{Arc, OnceLock};

use crate::{Notify, NotifyRef};

/// What a thread shares with those who spawn onto it.
pub(crate) struct Pinned {
    pub(crate) core: Arc<LocalCore>,
    pub(crate) spawner: LocalSpawner,
    wakeup: Arc<Wakeup>,
    /// Used by its own thread only, see `park`.
    parker: OwnThread<Parker>,
}

/// How the thread is woken.
struct Wakeup {
    /// Set where the thread does not sleep on its own parker: on a worker.
    notify: OnceLock<NotifyRef>,
    unparker: Unparker,
}

/// A value that only the thread with this core touches.
struct OwnThread<T>(T);

// SAFETY: the value is reached only through `park`, which is called by the thread that made it, and dropped as plain
// memory with a counted handle inside.
unsafe impl<T> Send for OwnThread<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for OwnThread<T> {}

impl Notify for Wakeup {
    #[inline]
    fn notify(&self) {
        match self.notify.get() {
            Some(notify) => notify.notify(),
            None => self.unparker.unpark(),
        }
    }
}

impl Pinned {
    /// What the thread shares, and what it keeps.
    fn new() -> (Arc<Self>, OwnedCore) {
        let parker = Parker::new();
        let wakeup = Arc::new(Wakeup {
            notify: OnceLock::new(),
            unparker: parker.unparker(),
        });
        let core = OwnedCore::new();
        let hook = Arc::clone(&wakeup);
        core.set_hook(move || hook.notify());
        let pinned = Arc::new(Self {
            core: Arc::clone(&core),
            spawner: core.spawner(),
            wakeup,
            parker: OwnThread(parker),
        });
        (pinned, core)
    }

    #[inline]
    pub(crate) fn notify(&self) {
        self.wakeup.notify();
    }
}

terrace_sync::thread_local! {
    /// The thread's core, or null. Without a destructor: valid as long as `OWNER` or a leak keeps it.
    static CURRENT: Cell<*const Pinned> = const { Cell::new(std::ptr::null()) };
    /// Keeps the core and closes it when the thread ends.
    static OWNER: Cell<Option<Owner>> = const { Cell::new(None) };
}

struct Owner {
    pinned: Arc<Pinned>,
    /// Leaked where it cannot be closed.
    core: OwnedCore,
}

impl Drop for Owner {
    fn drop(&mut self) {
        // Tasks may use the thread's core in their destructors, so it stays current meanwhile.
        if !self.core.close() {
            // The process exits inside one of the tasks, which still needs the core.
            std::mem::forget(Arc::clone(&self.pinned));
            return;
        }
        CURRENT.with(|current| {
            if std::ptr::eq(current.get(), &*self.pinned) {
                current.set(std::ptr::null());
            }
        });
    }
}

/// The current thread's core.
pub(crate) fn current() -> Arc<Pinned> {
    let pointer = CURRENT.with(Cell::get);
    if pointer.is_null() {
        return make();
    }
    // SAFETY: the pointer came from an `Arc`, which `OWNER` keeps until it resets the pointer.
    unsafe { Arc::increment_strong_count(pointer) };
    // SAFETY: as above; the count was just raised for this handle.
    unsafe { Arc::from_raw(pointer) }
}

#[cold]
fn make() -> Arc<Pinned> {
    let (pinned, core) = Pinned::new();
    let owner = Owner {
        pinned: Arc::clone(&pinned),
        core,
    };
    CURRENT.with(|current| current.set(&*pinned));
    let mut owner = ManuallyDrop::new(owner);
    // In a destructor of the thread's locals, after `OWNER` is gone, the owner is forgotten: the core serves the waits
    // of this thread for the little rest of its life, and is leaked.
    let _leaked = OWNER.try_with(|cell| {
        // SAFETY: `owner` is not used again.
        cell.set(Some(unsafe { ManuallyDrop::take(&mut owner) }));
    });
    pinned
}

/// Calls `f` with the current thread's core, if there is one. No reference is counted.
#[inline]
fn with<T>(f: impl FnOnce(&Pinned) -> T) -> Option<T> {
    let pointer = CURRENT.with(Cell::get);
    if pointer.is_null() {
        return None;
    }
    // SAFETY: as in `current`. `OWNER` is dropped by this thread, after everything that runs on it before, such as `f`;
    // what `f` calls while it is being dropped is covered by the `Owner` that is still in place.
    Some(f(unsafe { &*pointer }))
}

/// Whether tasks are queued for the current thread; valid after a fence. One thread-local load and two more.
#[inline]
#[must_use]
pub fn has_work() -> bool {
    with(|pinned| pinned.core.has_work()).unwrap_or(false)
}

/// Polls at most one of the current thread's tasks; false if none is queued. For event loops of others; worker loops,
/// waits and `block_on` of the layers above do this by themselves.
pub fn tick() -> bool {
    // A core held, not borrowed: the task may end the thread's core.
    has_work() && current().core.try_tick()
}

/// Spawns a task that stays on the current thread, and need not be `Send`.
///
/// It runs when the thread waits in one of the layers above, or calls [`tick`].
pub fn spawn_local<T: 'static>(future: impl Future<Output = T> + 'static) -> Task<T> {
    if task::is_large(&future) {
        // SAFETY: as below.
        return unsafe { current().core.spawn_owner(task::boxed(future)) };
    }
    // SAFETY: the core is the current thread's; everything is 'static.
    unsafe { current().core.spawn_owner(future) }
}

/// Calls `f` with the current thread's executor, the one that [`spawn_local`] and `ThreadSpawner`s spawn onto.
pub fn with_local_executor<T>(f: impl FnOnce(&LocalExecutor<'static>) -> T) -> T {
    let executor = LocalExecutor::view(Arc::clone(&current().core));
    f(&executor)
}

/// Drops the current thread's tasks. Later spawns onto it from other threads are dropped by their callers; the thread
/// itself gets a new core when it needs one. Threads close at their end by themselves; a thread that is to drop its
/// tasks while its environment still stands, such as a worker, calls this before.
///
/// Inside one of these tasks it does nothing: that task could not be dropped.
pub fn close() {
    if with(|pinned| pinned.core.is_running()).unwrap_or(false) {
        return;
    }
    let owner = OWNER.try_with(Cell::take).ok().flatten();
    drop(owner);
}

/// Sets what wakes the current thread, in place of the parker behind [`park`]. For threads that sleep elsewhere,
/// such as workers; called before anything else of this crate on the thread, and once.
///
/// # Panics
/// On a second call.
pub fn set_notify(notify: NotifyRef) {
    let set = current().wakeup.notify.set(notify);
    assert!(set.is_ok(), "set_notify is called once a thread");
}

/// What wakes the current thread.
#[must_use]
pub fn notifier() -> NotifyRef {
    current().wakeup.clone()
}

/// Sleeps until the current thread is notified; returns at once if it has been since the last time. Only for threads
/// without [`set_notify`].
pub fn park() {
    let pinned = current();
    pinned.parker.0.park();
}
