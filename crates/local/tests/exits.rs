//! A process that exits in users' code that an executor calls. The executor lies in a thread-local, so the exit drops
//! it right there. The drop must neither wait for the task under it, nor panic.

use std::future::{Future, pending, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};

use futures_lite::future::{block_on, yield_now};
use terrace_local::LocalExecutor;
use terrace_testing::{WakerSlot, this_program, watchdog};

thread_local! {
    static EXECUTOR: LocalExecutor<'static> = const { LocalExecutor::new() };
}

/// The exit code.
const CODE: i32 = 7;

fn exit() -> ! {
    std::process::exit(CODE)
}

/// Exits when it is dropped.
struct Exits;

impl Drop for Exits {
    fn drop(&mut self) {
        exit();
    }
}

impl Wake for Exits {
    fn wake(self: Arc<Self>) {
        exit();
    }
}

/// A waker whose clones exit when they are dropped, or which exits when it is cloned.
fn exiting(cloned: bool) -> Waker {
    static DROPPED: RawWakerVTable = RawWakerVTable::new(
        |data| RawWaker::new(data, &DROPPED),
        |_| (),
        |_| (),
        |_| exit(),
    );
    static CLONED: RawWakerVTable = RawWakerVTable::new(|_| exit(), |_| (), |_| (), |_| ());
    let vtable = if cloned { &CLONED } else { &DROPPED };
    // SAFETY: the functions use no data.
    unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), vtable)) }
}

fn poll<F: Future + ?Sized>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}

/// With another task that is queued and one that is pending.
fn with_others(body: impl FnOnce(&LocalExecutor<'static>)) {
    EXECUTOR.with(|executor| {
        executor.spawn(pending::<()>()).detach();
        assert!(executor.try_tick());
        executor.spawn(pending::<()>()).detach();
        body(executor);
        executor.run_until_stalled();
    });
}

/// Spawns a task that exits in its second poll.
fn spawn_exit(executor: &LocalExecutor<'static>) {
    executor
        .spawn(async {
            yield_now().await;
            exit()
        })
        .detach();
}

type Case = (&'static str, fn(&LocalExecutor<'static>));

const CASES: [Case; 16] = [
    ("a task that is ticked", spawn_exit),
    ("a task in its first poll", |executor| {
        executor.spawn(async { exit() }).detach();
    }),
    ("a task in `run`", |executor| {
        spawn_exit(executor);
        block_on(executor.run(pending::<()>()));
    }),
    ("the future of `run`", |executor| {
        block_on(executor.run(async { exit() }));
    }),
    ("a task in `tick`", |executor| {
        executor.spawn(async { exit() }).detach();
        (0..3).for_each(|_| block_on(executor.tick()));
    }),
    ("a task in a task", |executor| {
        spawn_exit(executor);
        let nested = async { EXECUTOR.with(LocalExecutor::run_until_stalled) };
        executor.spawn(nested).detach();
    }),
    ("the destructor of a future that is done", |executor| {
        let exits = Exits;
        let future = poll_fn(move |_| {
            let _kept = &exits;
            Poll::Ready(())
        });
        executor.spawn(future).detach();
    }),
    ("the destructor of a future that is cancelled", |executor| {
        let exits = Exits;
        drop(executor.spawn(async move {
            pending::<()>().await;
            drop(exits);
        }));
    }),
    ("the destructor of an output", |executor| {
        executor.spawn(async { Exits }).detach();
    }),
    ("the destructor of a panic's payload", |executor| {
        executor
            .spawn(async { std::panic::panic_any(Exits) })
            .detach();
    }),
    ("the panic handler", |executor| {
        executor.set_panic_handler(|_| exit());
        executor.spawn(async { panic!("for the handler") }).detach();
    }),
    ("an awaiter", |executor| {
        let mut task = executor.spawn(async {});
        assert!(poll(Pin::new(&mut task), &Arc::new(Exits).into()).is_pending());
        executor.run_until_stalled();
    }),
    ("a driver's waker that is woken", |executor| {
        let mut run = Box::pin(executor.run(pending::<()>()));
        let waker = Arc::new(Exits).into();
        assert!(poll(run.as_mut(), &waker).is_pending());
        spawn_exit(executor);
    }),
    ("a driver's waker that is cloned", |executor| {
        executor.run_until_stalled();
        let mut run = Box::pin(executor.run(pending::<()>()));
        assert!(poll(run.as_mut(), &exiting(true)).is_pending());
    }),
    ("a driver's waker that is dropped", |executor| {
        executor.run_until_stalled();
        let mut run = Box::pin(executor.run(pending::<()>()));
        let waker = std::mem::ManuallyDrop::new(exiting(false));
        assert!(poll(run.as_mut(), &waker).is_pending());
        drop(run);
    }),
    ("the on-ready hook", |executor| {
        executor.run_until_stalled();
        let slot = WakerSlot::default();
        executor.spawn(slot.clone().forever::<()>()).detach();
        executor.run_until_stalled();
        executor.set_on_ready(|| exit());
        slot.waker().wake();
    }),
];

/// Set in the processes that exit: the number of the case.
const CHILD: &str = "TERRACE_TEST_EXITS_IN";

#[test]
fn an_exit_anywhere_ends_the_process() {
    let _watchdog = watchdog();
    if let Some(case) = std::env::var_os(CHILD) {
        let case: usize = case
            .to_str()
            .and_then(|case| case.parse().ok())
            .expect("a number");
        with_others(CASES[case].1);
        unreachable!("it does not exit");
    }
    for (number, (case, _)) in CASES.iter().enumerate() {
        let status = this_program()
            .args(["an_exit_anywhere_ends_the_process", "--exact"])
            .env(CHILD, number.to_string())
            .status()
            .expect("a process can be started");
        assert_eq!(status.code(), Some(CODE), "{case}: {status}");
    }
}
