//! The current thread's [`Wakeup`]: made on first use, the same until the thread has ended.

use std::cell::Cell;
use std::task::{Wake, Waker};

use terrace_park::Parker;
use terrace_sync::unmodelled::Weak;
use terrace_sync::{Arc, LOCALS_ARE_KEYED, Mutex};

use crate::id::{ThreadId, id};
use crate::notify::{Notify, NotifyRef};
use crate::wakeup::Wakeup;

/// The parker that a thread sleeps on, and its wakeup.
pub(crate) struct Waking {
    wakeup: Wakeup<NotifyRef>,
    /// Its own thread alone uses it, see `park`.
    parker: OwnThread<Parker>,
}

/// A value that only the thread with this id touches.
struct OwnThread<T>(T);

// SAFETY: `park` alone reaches the value, on the thread that made it. Another thread may only drop it, as plain memory with a
// counted handle inside.
unsafe impl<T> Send for OwnThread<T> {}
// SAFETY: `park` alone reaches the value, through what `current` returns: the state of the calling thread.
unsafe impl<T> Sync for OwnThread<T> {}

terrace_sync::thread_local! {
    /// The thread's `Waking`, or null. The pointer is valid as long as `KEEPER` keeps the value. Where thread-locals are keyed it may be
    /// null again while `KEEPER` has one: `make` sets it again.
    static CURRENT: Cell<*const Waking> = const { Cell::new(std::ptr::null()) };
    /// Keeps it until the thread ends.
    static KEEPER: Keeper = const { Keeper(Cell::new(None)) };
}

terrace_sync::global! {
    /// The `Waking`s of threads that are ending: destructors of other thread-locals may still have a reference, and
    /// wait.
    static ENDING: Mutex<Vec<(ThreadId, Weak<Waking>)>> = Mutex::new(Vec::new());
}

struct Keeper(Cell<Option<Arc<Waking>>>);

impl Drop for Keeper {
    fn drop(&mut self) {
        CURRENT.with(|current| current.set(std::ptr::null()));
        if let Some(waking) = self.0.take() {
            // If no other reference is left, no notifier needs this one: a later wait makes a new
            // one.
            if Arc::strong_count(&waking) > 1 {
                remember(&waking);
            }
        }
    }
}

/// In place of an earlier one of the thread.
fn remember(waking: &Arc<Waking>) {
    let thread = id();
    let mut ending = ENDING.lock();
    ending.retain(|(other, waking)| *other != thread && waking.strong_count() > 0);
    ending.push((thread, Arc::downgrade(waking)));
}

/// The thread's, from before `KEEPER` went.
fn remembered() -> Option<Arc<Waking>> {
    let thread = id();
    ENDING
        .lock()
        .iter()
        .filter(|(other, _)| *other == thread)
        .find_map(|(_, waking)| waking.upgrade())
}

impl Waking {
    fn new() -> Arc<Self> {
        let parker = Parker::new();
        Arc::new(Self {
            wakeup: Wakeup::new(parker.unparker()),
            parker: OwnThread(parker),
        })
    }
}

impl Wake for Waking {
    fn wake(self: Arc<Self>) {
        self.wakeup.wake();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.wakeup.wake();
    }
}

impl Notify for Waking {
    #[inline]
    fn notify(&self) {
        self.wakeup.notify();
    }
}

/// The current thread's `Waking`.
pub(crate) fn current() -> Arc<Waking> {
    let pointer = CURRENT.with(Cell::get);
    if pointer.is_null() {
        return make();
    }
    // SAFETY: the pointer came from `Arc::as_ptr`, and `KEEPER` keeps a count until it resets the pointer, or `bind` has leaked one
    // until `unbind_worker` does so.
    unsafe { another(pointer) }
}

/// One more handle.
///
/// # Safety
/// The pointer came from `Arc::as_ptr`, and a count is kept during the call.
pub(crate) unsafe fn another<T>(pointer: *const T) -> Arc<T> {
    // SAFETY: the caller's promise.
    unsafe { Arc::increment_strong_count(pointer) };
    // SAFETY: the pointer came from `Arc::as_ptr`, and the line above raised the count for this handle.
    unsafe { Arc::from_raw(pointer) }
}

#[cold]
fn make() -> Arc<Waking> {
    let made = KEEPER.try_with(|keeper| {
        // A keyed `KEEPER` may be a new one, in a late destructor.
        let late = || if LOCALS_ARE_KEYED { remembered() } else { None };
        let kept = keeper.0.take().or_else(late);
        let waking = kept.unwrap_or_else(Waking::new);
        keeper.0.set(Some(Arc::clone(&waking)));
        CURRENT.with(|current| current.set(Arc::as_ptr(&waking)));
        waking
    });
    made.unwrap_or_else(|_| make_late())
}

/// Called in a destructor of the thread's locals, after `KEEPER` is gone. Returns the one to which a reference is left,
/// or a new one.
fn make_late() -> Arc<Waking> {
    remembered().unwrap_or_else(|| {
        let waking = Waking::new();
        remember(&waking);
        waking
    })
}

/// Sets the hook of a thread that also sleeps in an event loop of the program. Each notification of the thread calls
/// it, beside the usual wake. A thread without such a loop needs no hook. A thread has at most one.
///
/// The notifier calls the hook: any thread that wakes this one or spawns onto it, and this one where a future wakes
/// itself. A task that this thread spawns onto itself does not call it. So the hook must neither block nor take a lock
/// under which tasks are woken. This crate catches and drops its panics.
///
/// The waits of the layers above (`block_on`, scopes) and [`park`] work as without it. An event loop calls
/// [`tick`](crate::tick) after its hook was called, and sleeps only when [`has_work`](crate::has_work) is false. One call of the
/// hook may stand for many tasks, and no second call comes for those that `tick` has left. [`run_for`](crate::run_for) calls the
/// hook again for them.
///
/// # Panics
/// On a second call.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use std::sync::mpsc::{Sender, channel};
/// use terrace_thread::{Notify, ThreadSpawner};
///
/// /// Stands for the event loop of a window system.
/// struct Wake(Sender<()>);
///
/// impl Notify for Wake {
///     fn notify(&self) {
///         // An error says that the loop has ended.
///         let _ended = self.0.send(());
///     }
/// }
///
/// let (bell, events) = channel();
/// terrace_thread::set_notify(Arc::new(Wake(bell)));
/// let here = ThreadSpawner::current();
/// let task = std::thread::spawn(move || here.spawn(async { 1 })).join().unwrap();
/// while !task.is_finished() {
///     events.recv().unwrap();
///     while terrace_thread::has_work() {
///         terrace_thread::tick();
///     }
/// }
/// ```
pub fn set_notify(notify: NotifyRef) {
    let set = current().wakeup.set_hook(notify);
    assert!(
        set.is_ok(),
        "set_notify is called once a thread: one hook may notify several event loops"
    );
}

/// The notifier of the current thread: the same for its whole life, also across a [`close`](crate::close).
///
/// # Examples
///
/// ```
/// use terrace_thread::{notifier, park};
///
/// let here = notifier();
/// let other = std::thread::spawn(move || here.notify());
/// park();
/// other.join().unwrap();
/// ```
#[must_use = "a notifier wakes nothing by itself"]
pub fn notifier() -> NotifyRef {
    current()
}

/// Sleeps until the current thread is notified; returns at once if it has been since the last time.
///
/// # Panics
/// On a worker of an executor, which sleeps at its seat instead: use `terrace_executor::block_on` there.
/// # Examples
///
/// [`notifier`] has an example.
pub fn park() {
    let waking = current();
    assert!(
        !waking.wakeup.is_bound(),
        "a worker is not woken in terrace_thread::park: wait by terrace_executor::block_on"
    );
    waking.parker.0.park();
}

/// See [`Parker::shares_processor`]: of the current thread.
#[inline]
#[must_use = "the call only answers a question"]
pub fn shares_processor() -> bool {
    let pointer = CURRENT.with(Cell::get);
    if pointer.is_null() {
        return false;
    }
    // SAFETY: `KEEPER` keeps a count until it resets the pointer, or `bind` has leaked one until `unbind_worker` does so. This thread
    // alone does either.
    let waking = unsafe { &*pointer };
    waking.parker.0.shares_processor()
}

/// A waker that wakes the current thread where it sleeps, without its hook. It runs no users' code, so a caller may hold a lock.
#[must_use = "a waker wakes nothing by itself"]
pub fn thread_waker() -> Waker {
    current().into()
}

/// From now on the current thread sleeps as a worker, and `notify` wakes it.
pub(crate) fn bind(notify: NotifyRef) {
    let waking = current();
    waking.wakeup.bind(notify);
    if KEEPER.try_with(|_| ()).is_err() {
        // A destructor of a thread-local runs a worker. `unbind_worker` gives this count back.
        CURRENT.with(|current| current.set(Arc::into_raw(waking)));
    }
}

/// Whether the current thread sleeps as a worker.
pub(crate) fn is_bound() -> bool {
    !CURRENT.with(Cell::get).is_null() && current().wakeup.is_bound()
}

/// The current thread no longer sleeps as a worker. It still runs the destructors of its thread-locals, which may wait.
pub fn unbind_worker() {
    let waking = current();
    if !waking.wakeup.is_bound() {
        return;
    }
    waking.wakeup.unbind();
    // It is gone now if it was gone in `bind`: its destructor does not begin in between.
    if KEEPER.try_with(|_| ()).is_err() {
        CURRENT.with(|current| current.set(std::ptr::null()));
        remember(&waking);
        // SAFETY: `bind` has leaked this count, as the wakeup was bound; the pointer that relied on it was reset above.
        unsafe { Arc::decrement_strong_count(Arc::as_ptr(&waking)) };
    }
}
