//! The threads that cells are about, and the course of one cell.

use std::future::{Future, pending};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, JoinHandle, Thread};
use std::time::Duration;

use terrace_executor::{Builder, Executor, block_on};
use terrace_fork::scope;

use crate::acts::{self, act};
use crate::cell::{Act, Cell, Role, Site};
use crate::sites::{self, LET_GO, PREPARED};
use crate::world::{self, ACTED, DONE, REACHED, Signal, Token};

/// The prefix of the names of the pool's threads.
pub(crate) const POOL: &str = "pool-";

/// The only worker is about to wait.
static OCCUPIED: Signal = Signal::new();
/// Its wait has ended well.
static HAS_WAITED: Signal = Signal::new();
/// The thread outside the pool may begin.
static LED: Signal = Signal::new();

/// Runs one cell in this process, and ends it.
pub(crate) fn run(cell: Cell) -> ! {
    world::watch(cell.to_string());
    acts::choose(cell);
    acts::start_helper();
    let Cell { act, site, role } = cell;
    let at_the_start = site == Site::StartHook && !role.is_spare();
    if at_the_start {
        world::arm();
    }
    let executor = build(cell);
    let bystander = async {
        let _token = Token::new();
        pending::<()>().await;
    };
    executor.spawn(bystander).detach();
    // A start hook may drop it right away.
    world::put(executor);
    world::stage("starts the thread of its role");
    let host = start(role);
    if !at_the_start {
        world::arm();
        lead(site, role);
    }
    REACHED.block();
    if role.is_spare() {
        // The worker that waits is not to hold up an end of all.
        let_sleep();
        DONE.set();
    }
    ACTED.block();
    world::stage("uses the executor after the act");
    if act != Act::DropExecutor {
        let task = world::executor().spawn(async { 5 });
        if block_on(task) != 5 {
            world::fault("a later task has a wrong result".to_owned());
        }
    }
    DONE.set();
    sites::tidy_up();
    world::stage("waits for the thread of its role");
    if role.is_spare() {
        HAS_WAITED.block();
    }
    if let Some(Err(_)) = host.map(JoinHandle::join) {
        world::fault("the panic came out of the thread".to_owned());
    }
    // A thread that does not wait in our layers has not run it, and drops it.
    world::stage("waits for a pinned task");
    acts::await_pinned();
    if act != Act::DropExecutor {
        world::stage("drops the executor");
        world::drop_executor();
    }
    world::stage("waits for unfinished tasks to be dropped");
    while world::live() != 0 {
        thread::sleep(Duration::from_millis(1));
    }
    world::report();
}

/// Long enough for a thread to fall asleep; too short only makes a cell easier.
fn let_sleep() {
    thread::sleep(Duration::from_millis(10));
}

fn workers(cell: Cell) -> usize {
    match cell.role {
        Role::Worker => 2,
        Role::Lone | Role::Spare | Role::ScopeSpare => 1,
        // An idle worker would be woken rather than a `run`, and run children.
        Role::Foreign => usize::from(!matches!(cell.site, Site::RunWaker | Site::ChildPoll)),
        Role::Waiter | Role::TryTick | Role::Run => 0,
    }
}

fn build(cell: Cell) -> Executor<'static> {
    let at = move |site| {
        move || {
            if cell.site == site {
                act();
            }
        }
    };
    let names = at(Site::NameClosure);
    Builder::new()
        .workers(workers(cell))
        .thread_name(move |index| {
            names();
            format!("{POOL}{index}")
        })
        .on_thread_start(at(Site::StartHook))
        .on_thread_stop(at(Site::StopHook))
        .build()
}

/// Gives the thread this role: tasks that are queued then run on it.
fn start(role: Role) -> Option<JoinHandle<()>> {
    let thread = |body: fn()| {
        let builder = thread::Builder::new().name(role.to_string());
        Some(builder.spawn(body).expect("a thread can be started"))
    };
    match role {
        Role::Worker | Role::Lone => None,
        Role::Spare | Role::ScopeSpare => {
            occupy(role);
            None
        }
        Role::Waiter => thread(|| block_on(DONE.wait())),
        Role::TryTick => thread(|| {
            let executor = world::executor();
            while !DONE.is_set() {
                if !executor.try_tick() {
                    thread::sleep(Duration::from_micros(100));
                }
            }
        }),
        Role::Run => thread(|| {
            let executor = world::executor();
            park_on(executor.run(DONE.wait()));
        }),
        Role::Foreign => thread(|| {
            LED.block();
            sites::may_panic(|| sites::on_foreign_thread(acts::chosen().site));
        }),
    }
}

/// Makes the only worker wait.
fn occupy(role: Role) {
    let occupant = async move {
        OCCUPIED.set();
        if role.is_spare() {
            block_on(DONE.wait());
        } else {
            let executor = world::executor();
            scope(&executor, |scope| scope.spawn(DONE.wait()));
        }
        HAS_WAITED.set();
    };
    world::executor().spawn(occupant).detach();
    OCCUPIED.block();
    let_sleep();
}

/// Leads the thread to the site.
fn lead(site: Site, role: Role) {
    world::stage("leads to the site");
    match role {
        Role::Foreign => LED.set(),
        Role::Worker | Role::Lone if site == Site::StopHook => end_workers(),
        _ => {
            let body = sites::body(site, role);
            let task = world::executor().spawn_on(sites::lane(site), body);
            match site {
                Site::AwaiterWaker => sites::await_by_waker(task),
                _ => task.detach(),
            }
            LET_GO.set();
        }
    }
    // A spare ends by itself, unless a task is pinned to it.
    let is_asked_to_end = match role {
        Role::Worker | Role::Lone => {
            matches!(site, Site::PinnedDestructor | Site::ThreadLocalLate)
        }
        Role::Spare | Role::ScopeSpare => site == Site::PinnedDestructor,
        Role::Foreign | Role::Waiter | Role::TryTick | Role::Run => false,
    };
    if is_asked_to_end {
        PREPARED.block();
        end_workers();
    }
}

fn end_workers() {
    let ended = world::executor().set_workers(0);
    ended.expect("ending threads needs nothing of the system");
}

struct Unparks {
    thread: Thread,
    /// The thread's token alone would not do: a wait inside of a poll may take it.
    woken: AtomicBool,
}

impl Wake for Unparks {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Polls a future and parks, without a layer of ours.
fn park_on<T>(future: impl Future<Output = T>) -> T {
    let unparks = Arc::new(Unparks {
        thread: thread::current(),
        woken: AtomicBool::new(true),
    });
    let waker = Waker::from(Arc::clone(&unparks));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if !unparks.woken.swap(false, Ordering::Acquire) {
            thread::park();
            continue;
        }
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}
