//! Where user code is called from: futures that lead there when the thread of the cell runs them.

use std::cell::RefCell;
use std::future::{Future, pending};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use terrace_executor::{Lane, Task, block_on};
use terrace_fork::scope;

use crate::acts::{self, Planned, act};
use crate::cell::{Role, Site};
use crate::world::{self, Signal};

/// A future of a cell.
pub(crate) type Body = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The thread that has spawned the site's task is through with it.
pub(crate) static LET_GO: Signal = Signal::new();

/// A body has run that only prepares what the end of its thread does.
pub(crate) static PREPARED: Signal = Signal::new();

/// Sleeps until the end of the cell.
static SLEEPING_RUN: Mutex<Option<Body>> = Mutex::new(None);
/// The handle of the site's task, if it is awaited.
static AWAITED: Mutex<Option<Task<()>>> = Mutex::new(None);

thread_local! {
    static LAST: RefCell<Option<ActsWhenDropped>> = const { RefCell::new(None) };
}

/// Acts when it is dropped, also as a future that is done, or as a payload.
struct ActsWhenDropped;

impl Drop for ActsWhenDropped {
    fn drop(&mut self) {
        act();
    }
}

impl Future for ActsWhenDropped {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}

/// Acts when it is woken.
struct ActsWhenWoken;

impl Wake for ActsWhenWoken {
    fn wake(self: Arc<Self>) {
        act();
    }
}

/// The lane of the site's task.
pub(crate) fn lane(site: Site) -> Lane {
    match site {
        Site::BackgroundPoll | Site::WaitWaker => Lane::Background,
        _ => Lane::Normal,
    }
}

/// A task that leads to the site, on a thread with this role.
pub(crate) fn body(site: Site, role: Role) -> Body {
    match site {
        Site::StartHook | Site::StopHook => Box::pin(async {}),
        // The task is there for a spare to be started.
        Site::NameClosure if role.is_spare() => Box::pin(async {}),
        Site::NameClosure => Box::pin(async { ask_for_a_worker() }),
        Site::PinnedPoll => Box::pin(async move { pin_a_poll(role) }),
        Site::PinnedDestructor => Box::pin(async move { pin_a_destructor(role) }),
        Site::ThreadLocal | Site::ThreadLocalLate => Box::pin(async { leave_a_local() }),
        Site::RunWaker => Box::pin(async {
            LET_GO.block();
            let_a_run_sleep();
            may_panic(|| world::executor().spawn(async {}).detach());
        }),
        Site::LoopWaker => Box::pin(async {
            LET_GO.block();
            let_a_run_sleep();
            // A task that yields is published when something else goes first, and not before.
            terrace_thread::spawn_local(async {}).detach();
            pause().await;
        }),
        Site::ChildPoll => Box::pin(async { open_a_scope() }),
        Site::WaitWaker => Box::pin(async {
            LET_GO.block();
            let background = world::executor().spawn_on(Lane::Background, async {});
            background.detach();
            let_a_run_sleep();
            let (executor, ends) = (world::executor(), acts::later());
            // A child that others might run would be published.
            may_panic(|| scope(&executor, |scope| scope.spawn_on_scope(ends.wait())));
        }),
        Site::AwaiterWaker => Box::pin(async { LET_GO.block() }),
        Site::FutureDestructor => Box::pin(ActsWhenDropped),
        Site::PayloadDestructor => Box::pin(async {
            LET_GO.block();
            resume_unwind(Box::new(ActsWhenDropped))
        }),
        Site::FirstPoll | Site::BackgroundPoll => Box::pin(async { act() }),
        Site::SecondPoll => Box::pin(async {
            pause().await;
            act();
        }),
    }
}

/// Leads to the site on the current thread, which has no part in the pool.
pub(crate) fn on_foreign_thread(site: Site) {
    match site {
        Site::NameClosure => ask_for_a_worker(),
        Site::PinnedPoll => block_on(terrace_thread::spawn_local(async { act() })),
        Site::PinnedDestructor => pin_a_destructor(Role::Foreign),
        Site::ThreadLocal => {
            terrace_thread::spawn_local(async {}).detach();
            leave_a_local();
        }
        Site::ThreadLocalLate => {
            leave_a_local();
            // The core comes after the local, and goes before it.
            terrace_thread::spawn_local(async {}).detach();
        }
        Site::RunWaker => {
            let_a_run_sleep();
            may_panic(|| world::executor().spawn(async {}).detach());
        }
        Site::ChildPoll => open_a_scope(),
        Site::PayloadDestructor => {
            let panics = async { resume_unwind(Box::new(ActsWhenDropped)) };
            let task = world::executor().spawn::<()>(panics);
            while !task.is_finished() {
                thread::sleep(Duration::from_millis(1));
            }
            drop(task);
        }
        _ => block_on(body(site, Role::Foreign)),
    }
}

async fn pause() {
    let mut paused = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut paused, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Runs `f`, out of which a planned panic may come.
pub(crate) fn may_panic(f: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        if !payload.is::<Planned>() {
            resume_unwind(payload);
        }
    }
}

/// A scope of a pool whose children have been short so far.
fn open_a_scope() {
    /// Scopes, and children of each, that the estimate is made from.
    const SHORT: (usize, usize) = (100, 20);
    let executor = world::executor();
    for _ in 0..SHORT.0 {
        scope(&executor, |scope| {
            (0..SHORT.1).for_each(|_| scope.spawn(async {}));
        });
    }
    may_panic(|| {
        scope(&executor, |scope| {
            scope.spawn(async {});
            // On the thread that waits: another worker that shuts the pool down waits for this one's end.
            scope.spawn_on_scope(async { act() });
        });
    });
}

fn ask_for_a_worker() {
    let executor = world::executor();
    let workers = executor.workers();
    may_panic(|| {
        let started = executor.set_workers(workers + 1);
        started.expect("a thread can be started");
    });
}

fn pin_a_poll(role: Role) {
    terrace_thread::spawn_local(async { act() }).detach();
    // Workers and waits do this by themselves.
    if matches!(role, Role::TryTick | Role::Run) {
        terrace_thread::tick();
    }
}

fn pin_a_destructor(role: Role) {
    let acts = ActsWhenDropped;
    let endless = async move {
        let _acts = acts;
        pending::<()>().await;
    };
    terrace_thread::spawn_local(endless).detach();
    if matches!(role, Role::Waiter | Role::TryTick | Role::Run) {
        may_panic(terrace_thread::close);
    }
    PREPARED.set();
}

fn leave_a_local() {
    LAST.with(|last| *last.borrow_mut() = Some(ActsWhenDropped));
    PREPARED.set();
}

/// From now on a `run` of the executor sleeps. Its waker acts.
fn let_a_run_sleep() {
    let asleep = thread::spawn(|| {
        let executor = world::executor();
        let mut run: Body = Box::pin(async move { executor.run(pending()).await });
        let waker = Waker::from(Arc::new(ActsWhenWoken));
        let mut context = Context::from_waker(&waker);
        assert!(run.as_mut().poll(&mut context).is_pending());
        *SLEEPING_RUN.lock().expect("no panic under it") = Some(run);
    });
    asleep.join().expect("a run can be polled");
}

/// Awaits the task by a waker that acts.
pub(crate) fn await_by_waker(mut task: Task<()>) {
    let waker = Waker::from(Arc::new(ActsWhenWoken));
    let mut context = Context::from_waker(&waker);
    assert!(Pin::new(&mut task).poll(&mut context).is_pending());
    *AWAITED.lock().expect("no panic under it") = Some(task);
}

/// Called after the cell: drops the objects that were kept for it.
pub(crate) fn tidy_up() {
    let task = AWAITED.lock().expect("no panic under it").take();
    drop(task);
    let run = SLEEPING_RUN.lock().expect("no panic under it").take();
    drop(run);
}
