//! The current thread's pinned core: made on first use, closed when the thread ends.

use std::cell::Cell;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::task::Waker;

use slab::Slab;
use terrace_local::task::Runnable;
use terrace_local::{LocalCore, LocalExecutor, LocalSpawner, OnOwner, Task, boxing_large};
use terrace_queue::Injector;
use terrace_sync::{Arc, Mutex};

use crate::closed::Closed;
use crate::notify::{Notify, NotifyRef};
use crate::waking::{self, Waking, another};

/// The part of a thread's core that it shares with its spawners.
pub(crate) struct Pinned {
    pub(crate) core: Arc<LocalCore>,
    /// Calls (`calls.rs`), such as children of scopes that only this thread may run. They have a queue of their own: a wait inside of a
    /// task runs these, and no other task.
    pub(crate) children: Injector<Runnable>,
    /// The calls that wait to be woken. Only plain operations of a slab happen under its lock.
    pub(crate) waiting: Mutex<Slab<Waker>>,
    /// Whether calls are dropped.
    pub(crate) closed: Closed,
    pub(crate) spawner: LocalSpawner,
    waking: Arc<Waking>,
}

impl Pinned {
    /// The part that the thread shares with its spawners, and the part that it keeps to itself.
    fn new() -> (Arc<Self>, LocalExecutor<'static>) {
        let waking = waking::current();
        let executor = LocalExecutor::new();
        let core = executor.core();
        let hook = Arc::clone(&waking);
        core.set_hook(move || hook.notify());
        let pinned = Arc::new(Self {
            core: Arc::clone(core),
            children: Injector::new(),
            waiting: Mutex::new(Slab::new()),
            closed: Closed::default(),
            spawner: executor.spawner(),
            waking,
        });
        (pinned, executor)
    }

    #[inline]
    pub(crate) fn notify(&self) {
        self.waking.notify();
    }
}

terrace_sync::thread_local! {
    /// The thread's core, or null. The pointer is valid as long as `OWNER`, or a leak, keeps the core. Where thread-locals are keyed it
    /// may be null again while `OWNER` has the core: `make` and the drop of `Owner` set it again.
    static CURRENT: Cell<*const Pinned> = const { Cell::new(std::ptr::null()) };
    /// Keeps the core and closes it when the thread ends.
    static OWNER: Cell<Option<Owner>> = const { Cell::new(None) };
    /// Whether the next turn is a task's rather than a child's.
    static TURN: Cell<bool> = const { Cell::new(false) };
    /// Not null while a scope is open on the thread; compared, never followed.
    static SCOPE: Cell<*const ()> = const { Cell::new(std::ptr::null()) };
}

struct Owner {
    pinned: Arc<Pinned>,
    /// Its core is leaked if it cannot be closed.
    executor: LocalExecutor<'static>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        CURRENT.with(|current| {
            if current.get().is_null() {
                current.set(Arc::as_ptr(&self.pinned));
            }
        });
        // Destructors of tasks may use the thread's core, so it stays current until the close returns.
        let closed = self.executor.core().close();
        if !closed || is_scope_open() {
            // The process exits inside one of the tasks, which still needs the core, or in a scope, which has lent it.
            std::mem::forget(Arc::clone(&self.pinned));
        }
        if !closed {
            return;
        }
        CURRENT.with(|current| {
            if std::ptr::eq(current.get(), &*self.pinned) {
                current.set(std::ptr::null());
            }
        });
        // It is no longer current: a scope in the destructor of a call has its pinned children elsewhere. Any thread may drop what is
        // queued here from now on.
        if !is_scope_open() {
            self.pinned.close_to_calls();
        }
    }
}

/// The current thread's core.
pub(crate) fn current() -> Arc<Pinned> {
    let pointer = CURRENT.with(Cell::get);
    if pointer.is_null() {
        return make();
    }
    // SAFETY: `OWNER` keeps a count until it resets the pointer.
    unsafe { another(pointer) }
}

/// The core of a thread in a scope, for other threads. No reference is counted until one of them needs it.
#[derive(Clone, Copy, Debug)]
pub struct Lent(*const Pinned);

// SAFETY: the pointer is only followed to count a reference, which any thread may do: `Pinned` is Send and Sync.
unsafe impl Send for Lent {}
// SAFETY: as for `Send`.
unsafe impl Sync for Lent {}

/// Lends the current thread's core.
#[inline]
#[must_use = "what was lent spawns nothing by itself"]
pub fn lend() -> Lent {
    let pointer = CURRENT.with(Cell::get);
    if pointer.is_null() {
        // `OWNER`, or a leak, keeps the core after this handle is gone.
        return Lent(Arc::as_ptr(&make()));
    }
    Lent(pointer)
}

impl Lent {
    /// A handle of that core.
    ///
    /// # Safety
    /// Since before the call of [`lend`], a scope has been open on that thread, see [`replace_scope`].
    pub(crate) unsafe fn pinned(self) -> Arc<Pinned> {
        // SAFETY: `OWNER`, or a leak, keeps a count. Neither `close` nor the drop of `OWNER` gives it up while a scope is open.
        unsafe { another(self.0) }
    }
}

/// The core that `OWNER` keeps.
fn owned() -> Option<Arc<Pinned>> {
    let kept = OWNER.try_with(|cell| {
        let owner = cell.take()?;
        let pinned = Arc::clone(&owner.pinned);
        cell.set(Some(owner));
        Some(pinned)
    });
    kept.ok().flatten()
}

#[cold]
fn make() -> Arc<Pinned> {
    if let Some(pinned) = owned() {
        CURRENT.with(|current| current.set(Arc::as_ptr(&pinned)));
        return pinned;
    }
    let (pinned, executor) = Pinned::new();
    let owner = Owner {
        pinned: Arc::clone(&pinned),
        executor,
    };
    CURRENT.with(|current| current.set(Arc::as_ptr(&pinned)));
    let mut owner = ManuallyDrop::new(owner);
    let kept = OWNER.try_with(|cell| {
        // SAFETY: this closure runs once, and then `owner` is used no more.
        cell.set(Some(unsafe { ManuallyDrop::take(&mut owner) }));
    });
    if kept.is_err() {
        // This is a destructor of a thread-local, after `OWNER` is gone. No code would drop tasks any more, so the closed core
        // refuses them. It takes the pinned children of scopes for the rest of the thread's life, and is leaked.
        let closed = owner.executor.core().close();
        debug_assert!(closed, "a new core runs nothing");
    }
    pinned
}

/// Calls `f` with the current thread's core, if there is one. No reference is counted.
#[inline]
fn with<T>(f: impl FnOnce(&Pinned) -> T) -> Option<T> {
    let pointer = CURRENT.with(Cell::get);
    if pointer.is_null() {
        return None;
    }
    // SAFETY: `OWNER` keeps a count until it resets the pointer. This thread alone drops `OWNER`, after `f` has returned. If `f`
    // runs during that drop, the `Owner` is still in place.
    Some(f(unsafe { &*pointer }))
}

/// Whether tasks are queued for the current thread; valid after a fence. One thread-local load and three more.
/// [`tick`] has an example.
#[inline]
#[must_use = "the call only answers a question"]
pub fn has_work() -> bool {
    has_work_for(Locals::Run)
}

/// Polls at most one of the current thread's tasks; false if none is queued. For an event loop of the program. Worker loops,
/// waits and `block_on` of the layers above do this by themselves.
///
/// # Examples
///
/// ```
/// use terrace_thread::{has_work, spawn_local, tick};
///
/// let task = spawn_local(async {});
/// assert!(has_work() && tick());
/// assert!(task.is_finished() && !tick());
/// ```
pub fn tick() -> bool {
    tick_for(Locals::Run)
}

/// As [`set_notify`](crate::set_notify), with a closure: the style of `LocalExecutor::set_on_ready`. If a task is queued for the thread already, this
/// function calls the hook at once. The event loop then calls [`run_for`], which calls the hook again while
/// tasks are left.
///
/// # Panics
/// On a second call, and after `set_notify`.
///
/// # Examples
///
/// ```
/// use std::sync::mpsc::channel;
/// use terrace_thread::{ThreadSpawner, run_for, set_on_ready};
///
/// let (bell, events) = channel();
/// // An error says that the loop has ended.
/// set_on_ready(move || drop(bell.send(())));
/// let here = ThreadSpawner::current();
/// let task = std::thread::spawn(move || here.spawn(async { 1 })).join().unwrap();
/// while !task.is_finished() {
///     events.recv().unwrap();
///     run_for(10);
/// }
/// ```
pub fn set_on_ready(hook: impl Fn() + Send + Sync + 'static) {
    /// A closure as a [`Notify`].
    struct Hook<F>(F);

    impl<F: Fn() + Send + Sync> Notify for Hook<F> {
        fn notify(&self) {
            (self.0)();
        }
    }

    waking::set_notify(Arc::new(Hook(hook)));
    if has_work() {
        waking::current().notify();
    }
}

/// Polls up to `budget` of the current thread's tasks, and returns whether more are queued. Never waits. Where it returns true it
/// has notified the thread, so the [hook](crate::set_on_ready) of its event loop is called again while tasks are left.
///
/// A budget of 0 polls nothing. It says whether tasks are queued, and notifies the thread if so.
///
/// # Examples
///
/// ```
/// use terrace_thread::{run_for, spawn_local};
///
/// for _ in 0..5 {
///     spawn_local(async {}).detach();
/// }
/// assert!(run_for(3));
/// assert!(!run_for(3));
/// ```
pub fn run_for(budget: usize) -> bool {
    for _ in 0..budget {
        if !tick() {
            return false;
        }
    }
    let more = has_work();
    if more {
        waking::current().notify();
    }
    more
}

/// Whether a wait runs the thread's tasks, beside the pinned children of its scopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locals {
    /// It does.
    Run,
    /// It leaves them queued.
    Leave,
}

/// As [`has_work`], for a wait.
#[inline]
#[must_use = "the call only answers a question"]
pub fn has_work_for(locals: Locals) -> bool {
    let look = |pinned: &Pinned| {
        !pinned.children.is_empty() || (locals == Locals::Run && pinned.core.has_work())
    };
    with(look).unwrap_or(false)
}

/// Whether the thread has tasks that no other one can run, queued or pending.
#[must_use = "the call only answers a question"]
pub fn has_tasks() -> bool {
    let look = |pinned: &Pinned| {
        !pinned.children.is_empty() || !LocalExecutor::view(Arc::clone(&pinned.core)).is_empty()
    };
    with(look).unwrap_or(false)
}

/// As [`tick`], for a wait. Children and tasks take turns where both are queued.
pub fn tick_for(locals: Locals) -> bool {
    let look = |pinned: &Pinned| {
        let task = locals == Locals::Run && pinned.core.has_work();
        (!pinned.children.is_empty(), task)
    };
    match with(look) {
        // This holds a reference to the core, as the task may end the thread's core.
        Some((false, true)) => current().core.try_tick(),
        Some((true, _)) => tick_beside_children(locals),
        Some((false, false)) | None => false,
    }
}

/// Runs a child or a task, in turn.
#[cold]
fn tick_beside_children(locals: Locals) -> bool {
    let pinned = current();
    let task = || locals == Locals::Run && pinned.core.try_tick();
    let child = || {
        let child = pinned.children.pop();
        child.map(Runnable::run).is_some()
    };
    let task_first = TURN.with(|turn| turn.replace(!turn.get()));
    (task_first && task()) || child() || task()
}

/// `None` if the thread is not in the middle of one of its tasks. Else a number that changes when the thread polls the
/// handle of a task of its own that has not ended.
#[must_use = "the call only answers a question"]
pub fn inside_task() -> Option<u32> {
    with(|pinned| {
        let core = &pinned.core;
        core.is_running().then(|| core.awaited())
    })
    .flatten()
}

/// Spawns a task that stays on the current thread, and need not be `Send`.
///
/// It runs when the thread waits in one of the layers above, or calls [`tick`].
///
/// # Examples
///
/// ```
/// use std::rc::Rc;
/// use terrace_thread::{spawn_local, tick};
///
/// let not_send = Rc::new(42);
/// let mut task = spawn_local(async move { *not_send });
/// assert!(tick());
/// assert_eq!(task.try_take(), Some(42));
/// ```
#[cfg_attr(feature = "timeline", track_caller)]
pub fn spawn_local<T: 'static>(future: impl Future<Output = T> + 'static) -> Task<T> {
    let pinned = current();
    // SAFETY: `current` is the core that this thread made, and owns.
    boxing_large!(|future| unsafe { OnOwner::assume(&*pinned.core) }.spawn(future))
}

/// Calls `f` with the current thread's executor, the one that [`spawn_local`] and `ThreadSpawner`s spawn onto.
///
/// # Examples
///
/// ```
/// use terrace_thread::{spawn_local, with_local_executor};
///
/// let task = spawn_local(async {});
/// assert_eq!(with_local_executor(|executor| executor.run_until_stalled()), 1);
/// assert!(task.is_finished());
/// ```
pub fn with_local_executor<T>(f: impl FnOnce(&LocalExecutor<'static>) -> T) -> T {
    let executor = LocalExecutor::view(Arc::clone(&current().core));
    f(&executor)
}

/// Drops the current thread's tasks. Other threads that spawn onto it later drop their futures. The thread itself gets
/// a new core when it needs one. That core wakes the thread in the same way.
///
/// A thread closes at its end by itself. A thread that drops its tasks while its environment still stands, such as a
/// worker, calls this before.
///
/// Inside one of these tasks it does nothing, because it could not drop that task. It also does nothing while a scope
/// is open on the thread: the pinned children of the scope could not end.
///
/// # Examples
///
/// ```
/// use terrace_thread::{close, has_work, spawn_local};
///
/// let task = spawn_local(async {}).fallible();
/// close();
/// assert!(!has_work() && task.is_finished());
/// ```
pub fn close() {
    if is_in_use() {
        return;
    }
    match OWNER.try_with(Cell::take).ok().flatten() {
        Some(owner) => drop(owner),
        None => leave_leaked(),
    }
}

/// The thread gets a new core when it needs one, if its core is one that `make` has leaked. Such a core takes no tasks, and from now on no
/// calls.
fn leave_leaked() {
    let pointer = CURRENT.with(|current| current.replace(std::ptr::null()));
    // SAFETY: the core is never freed. The pointer is null, as `OWNER` has no core, unless it is one that was leaked.
    if let Some(pinned) = unsafe { pointer.as_ref() } {
        pinned.close_to_calls();
    }
}

/// Whether the thread is in the middle of one of these tasks, or of a scope.
fn is_in_use() -> bool {
    is_scope_open() || with(|pinned| pinned.core.is_running()).unwrap_or(false)
}

/// The current thread, which may have been a worker before, is going to be bound as a worker. It closes.
///
/// # Panics
/// If the thread is a worker, or in the middle of one of its pinned tasks or of a scope.
pub fn make_way() {
    assert!(
        !is_in_use(),
        "a thread runs no worker inside of a pinned task or a scope"
    );
    assert!(!waking::is_bound(), "a thread runs one worker at a time");
    close();
}

/// Whether a scope is open on the thread.
fn is_scope_open() -> bool {
    !SCOPE.with(Cell::get).is_null()
}

/// Sets which scope is the innermost one that is open on the thread, by its address or null. Returns the one before.
#[inline]
pub fn replace_scope(scope: *const ()) -> *const () {
    SCOPE.with(|cell| cell.replace(scope))
}

/// From now on the current thread sleeps as a worker, and `notify` wakes it, until [`unbind_worker`](waking::unbind_worker). A worker's thread calls this
/// before anything else of this crate. `notify` fences before it looks whether the worker sleeps.
pub fn bind_worker(notify: NotifyRef) {
    waking::bind(notify);
    // Threads mostly drop their locals in the opposite order of first use. So the destructors of users' locals find this one in
    // place. It is gone already where such a destructor runs the worker.
    let _late = OWNER.try_with(|_| ());
}
