//! The acts of user code at a site.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use terrace_executor::{Shutdown, Task, ThreadExecutor, block_on};
use terrace_fork::{Config, scope_with};
use terrace_thread::ThreadSpawner;

use crate::cell::{Act, Cell, EXIT_CODE, Role, Site};
use crate::sites;
use crate::world::{self, ACTED, REACHED, READY, Signal};

/// Workers that a resize adds.
const MORE: usize = 2;

static CELL: OnceLock<Cell> = OnceLock::new();
static HELPER: OnceLock<Sender<Box<dyn FnOnce() + Send>>> = OnceLock::new();
/// Spawned onto a thread after its core was closed: it runs there, or is dropped with the thread.
static PINNED: Mutex<Option<Task<()>>> = Mutex::new(None);

/// The payload of the panics that cells want.
pub(crate) struct Planned;

/// Says which cell this process runs.
pub(crate) fn choose(cell: Cell) {
    CELL.set(cell).expect("a process runs one cell");
}

pub(crate) fn chosen() -> Cell {
    *CELL.get().expect("chosen before")
}

/// Acts if it was armed, and has not acted since.
pub(crate) fn act() {
    if !world::disarm() {
        return;
    }
    READY.block();
    let cell = chosen();
    check_thread(cell);
    world::stage("acts");
    REACHED.set();
    if cell.act == Act::Panic {
        ACTED.set();
        resume_unwind(Box::new(Planned));
    }
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| perform(cell))) {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        world::refused(text.unwrap_or("a panic without text").to_owned());
    }
    world::stage("has acted");
    ACTED.set();
}

/// The cell is about this thread and no other.
fn check_thread(cell: Cell) {
    if matches!(cell.site, Site::ThreadLocal | Site::ThreadLocalLate) {
        // Its name may be gone.
        return;
    }
    let thread = thread::current();
    let name = thread.name().unwrap_or("no name");
    let index: Option<usize> = name
        .strip_prefix(crate::roles::POOL)
        .and_then(|index| index.parse().ok());
    let right = match (cell.role, cell.site) {
        (Role::Worker, _) => index.is_some_and(|index| index < 2),
        (Role::Lone, _) | (Role::Spare, Site::NameClosure) => index == Some(0),
        // If the worker is preempted before it starts the spare, the watch does.
        (Role::ScopeSpare, Site::NameClosure) => index == Some(0) || name == "terrace-spare",
        (Role::Spare | Role::ScopeSpare, _) => index.is_some_and(|index| index > 0),
        (role, _) => role.to_string() == name,
    };
    if !right {
        world::fault(format!("the site is reached on a wrong thread, {name}"));
    }
}

fn perform(cell: Cell) {
    match cell.act {
        Act::BlockOn => block_on(later().wait()),
        Act::Scope => scope(),
        Act::SpawnAndWait => {
            let task = world::executor().spawn_on(sites::lane(cell.site), async { 7 });
            assert_eq!(block_on(task), 7);
        }
        Act::DropExecutor => world::drop_executor(),
        Act::Close => close(cell.site),
        Act::Resize => resize(),
        Act::Shutdown => {
            let ended = world::executor().shutdown(Shutdown::RunQueued, None);
            ended.expect("there is no limit");
        }
        Act::Exit => std::process::exit(EXIT_CODE),
        Act::Panic => unreachable!("has panicked before"),
    }
}

/// Starts the thread that `later` and `elsewhere` use, and waits until it has begun. It is there before any act: on Windows no thread
/// begins while a destructor of a thread-local waits.
pub(crate) fn start_helper() {
    let (sender, orders) = channel::<Box<dyn FnOnce() + Send>>();
    thread::spawn(move || orders.into_iter().for_each(|order| order()));
    assert!(HELPER.set(sender).is_ok(), "a process has one helper");
    elsewhere(|| ());
}

fn order(order: impl FnOnce() + Send + 'static) {
    let helper = HELPER.get().expect("the process has started it");
    helper.send(Box::new(order)).expect("it does not end");
}

/// Calls `f` on another thread, and waits for its result.
fn elsewhere<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, result) = channel();
    order(move || sender.send(f()).expect("the caller waits"));
    result.recv().expect("`f` does not panic")
}

/// Calls `f` on another thread, when the caller is asleep.
fn later_on(f: impl FnOnce() + Send + 'static) {
    order(|| {
        thread::sleep(Duration::from_millis(10));
        f();
    });
}

/// Is set by another thread, when the caller is asleep.
pub(crate) fn later() -> Arc<Signal> {
    let signal = Arc::new(Signal::new());
    let other = Arc::clone(&signal);
    later_on(move || other.set());
    signal
}

/// A scope whose child another thread wakes.
fn scope() {
    let (executor, signal, ran) = (world::executor(), later(), AtomicBool::new(false));
    terrace_fork::scope(&executor, |scope| {
        scope.spawn(async {
            signal.wait().await;
            ran.store(true, Ordering::SeqCst);
        });
    });
    assert!(ran.into_inner(), "the child was not run");
}

fn close(site: Site) {
    // Objects that are kept between waits, or made before, still wake this thread.
    block_on(later().wait());
    let queue = Arc::new(ThreadExecutor::new());
    terrace_thread::close();
    block_on(later().wait());
    scope();
    tick_in_scope(&queue);
    let spawner = ThreadSpawner::current();
    // Of two pinned tasks one does not run inside the other.
    if !matches!(site, Site::PinnedPoll | Site::PinnedDestructor) {
        let output = block_on(spawner.spawn(async { 1 }).fallible());
        // A thread that is ending cancels the tasks that it is given.
        assert!(output == Some(1) || (output.is_none() && site == Site::ThreadLocalLate));
    }
    // A core that is made while the thread ends serves no longer than the thread.
    if !matches!(site, Site::ThreadLocal | Site::ThreadLocalLate) {
        let task = elsewhere(move || spawner.spawn(async {}));
        *PINNED.lock().expect("no panic under it") = Some(task);
    }
}

/// Waits in a scope that ticks `queue`. Another thread puts the task that ends the wait into it.
fn tick_in_scope(queue: &Arc<ThreadExecutor<'static>>) {
    let (executor, signal) = (world::executor(), Arc::new(Signal::new()));
    let (other, ends) = (Arc::clone(queue), Arc::clone(&signal));
    later_on(move || other.spawn(async move { ends.set() }).detach());
    let config = Config {
        external: Some(queue.queue()),
        local: None,
    };
    scope_with(&executor, config, |scope| scope.spawn(signal.wait()));
}

/// After the cell: a task that was spawned onto its thread.
pub(crate) fn await_pinned() {
    let task = PINNED.lock().expect("no panic under it").take();
    if let Some(task) = task {
        let _gone = block_on(task.fallible());
    }
}

fn resize() {
    let executor = world::executor();
    let before = executor.workers();
    for workers in [before + MORE, 1, before] {
        executor
            .set_workers(workers)
            .expect("threads can be started");
    }
}
