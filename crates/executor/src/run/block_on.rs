//! Blocking on a future without stopping the thread's other duties.
//!
//! A worker or driver that blocks on a task runs that task itself, if it is at hand: no other thread has to be woken for it. The future asks for
//! it where nothing but the end of that task can wake it. The run is a turn of it in the middle of its wait. It happens only
//! where the wait has nothing else to do:
//!
//! - The task is the only one in its ring, and the high lane is empty.
//! - The thread has no tasks of its own, and there are no pools without workers, which it would have to drive.
//! - Such runs, and those of last resort, nest no deeper than [`NESTED_HELP`]. A wait does at most [`AWAITED_RUNS`] of them between two
//!   polls of its future.
//!
//! The task may block its thread. So during the run the wait still counts as one: the thread lends its permits, and the watch sees
//! a waiter.

use std::cell::Cell;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Wake, Waker};

use terrace_local::TaskId;
use terrace_local::task::awaited::asking;
use terrace_sync::atomic::{AtomicBool, Ordering, fence};
use terrace_sync::{Arc, light};
use terrace_thread::Notify;
use terrace_thread::internal::has_tasks;

use super::threadless::{self, Drives};
use super::wait::{WaitFor, wait};
use crate::parts::turns;
use crate::pool::frames::{self, run_task};
use crate::pool::runner::{self, Runner};
use crate::tuned::{AWAITED_RUNS, NESTED_HELP};

/// Its flag is set when the future was woken. It wakes the thread if that sleeps.
struct BlockWaker {
    woken: AtomicBool,
    notify: Arc<dyn Notify>,
}

impl Wake for BlockWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Ordering: AcqRel. The Release pairs with the Acquire in `run_one`: the next poll sees
        // every write before the wake. If the flag was set already, the thread has its
        // notification.
        if !self.woken.swap(true, Ordering::AcqRel) {
            light();
            self.notify.notify();
        }
    }
}

terrace_sync::thread_local! {
    /// The waker of this thread's last `block_on`, see [`take_waker`].
    static SPARE: Cell<Option<Arc<BlockWaker>>> = const { Cell::new(None) };
}

/// The waker of the thread's last `block_on`, or a new one. A thread that is no runner uses it again though clones of it are left: a
/// set that is awaited by one `block_on` after the other then finds the waker that its tasks have. A wake of such a clone makes a later
/// wait poll its future once more. A runner does not, as it counts clones (`Blocked::hangs_on`).
fn take_waker() -> Arc<BlockWaker> {
    let spare = SPARE.try_with(Cell::take).ok().flatten();
    if let Some(mut waker) = spare {
        if let Some(unique) = Arc::get_mut(&mut waker) {
            unique.woken = AtomicBool::new(true);
            return waker;
        }
        if runner::is_none() {
            // Ordering: AcqRel, as in `run_one`. A clone may have been woken since the last poll, and is not heard of again: the next
            // poll sees every write before that wake.
            waker.woken.swap(true, Ordering::AcqRel);
            return waker;
        }
    }
    Arc::new(BlockWaker {
        woken: AtomicBool::new(true),
        notify: terrace_thread::notifier(),
    })
}

/// What `block_on` waits for.
struct Blocked<'a, F: Future> {
    future: Pin<&'a mut F>,
    output: Option<F::Output>,
    waker: Waker,
    flag: &'a Arc<BlockWaker>,
    /// The task whose handle the future polled last, if that task had not ended.
    awaited: Option<TaskId>,
    /// How often this thread may still run that task before the next poll.
    runs_left: u32,
}

impl<F: Future> Blocked<'_, F> {
    /// The task that alone can wake the future: the only waker that the future has left is with that task, which it awaits.
    fn hangs_on(&self) -> Option<TaskId> {
        /// The references of `block_on` itself: `flag` and `waker`.
        const OWN: usize = 2;
        let task = self.awaited?;
        if Arc::strong_count(self.flag) != OWN + 1 {
            return None;
        }
        // Ordering: Acquire pairs with the Release by which another thread that has woken the future gave up its waker. If the count
        // lacks that waker, this sees the wake.
        fence(Ordering::Acquire);
        (!self.has_work()).then_some(task)
    }
}

impl<F: Future> WaitFor for Blocked<'_, F> {
    const NAME: &'static str = "block_on";

    fn is_done(&self) -> bool {
        self.output.is_some()
    }

    fn run_one(&mut self) -> bool {
        // Ordering: Relaxed for the first look; the swap is AcqRel, Acquire pairs with `wake`.
        if !self.flag.woken.load(Ordering::Relaxed)
            || !self.flag.woken.swap(false, Ordering::AcqRel)
        {
            return match (self.hangs_on(), self.runs_left) {
                (None, _) | (_, 0) => false,
                (Some(task), _) => {
                    self.runs_left -= 1;
                    runner::with_runner(|runner| {
                        runner.is_some_and(|runner| runner.run_awaited(task))
                    })
                }
            };
        }
        let mut context = Context::from_waker(&self.waker);
        let (polled, awaited) = asking(&mut context, |context| self.future.as_mut().poll(context));
        (self.awaited, self.runs_left) = (awaited, AWAITED_RUNS);
        if let Poll::Ready(output) = polled {
            self.output = Some(output);
        }
        true
    }

    fn has_work(&self) -> bool {
        // Ordering: Relaxed. The waiter looks after the fence of its sleep (`wait`), which pairs
        // with `light` in `wake_by_ref`.
        self.flag.woken.load(Ordering::Relaxed)
    }

    fn announce_sleep(&mut self) {
        // Wakes always notify the thread, whose parker keeps the notification: no flag is needed.
    }

    fn end_sleep(&mut self) {}
}

impl Runner<'_> {
    /// Whether the runner may run the only task in its ring in the middle of a wait.
    fn may_run_its_only_task(&self) -> bool {
        let pool = self.pool;
        (self.in_loop.get() || self.is_driver())
            && !self.polled.get()
            && self.nested_help.get() < NESTED_HELP
            && self.seat.ring.len() == 1
            && pool.lanes.high.is_empty()
            && !threadless::any()
            && !has_tasks()
    }

    fn run_awaited(&self, awaited: TaskId) -> bool {
        if !self.may_run_its_only_task() {
            return false;
        }
        let Some(task) = self.ring().pop() else {
            return false;
        };
        if task.id() != Some(awaited) {
            // A thread that looked for work in the meantime has missed it.
            self.ring().push_or_overflow(task, &self.pool.injector);
            self.pool.publish();
            return false;
        }
        let depth = self.nested_help.get();
        self.nested_help.set(depth + 1);
        let lent = frames::lend();
        turns::begin_turn();
        // A panic of a task does not come here.
        self.pool.waits_beneath.rise();
        self.enter(|| run_task(task));
        self.pool.waits_beneath.fall();
        drop(lent);
        self.nested_help.set(depth);
        true
    }
}

/// Runs a future to its end on the current thread.
///
/// While the future is pending, the thread runs its pinned tasks (`terrace-thread`) and the tasks
/// of executors without workers. It sleeps when it has nothing to run. A worker, or a thread that polls a
/// [`run`](crate::Executor::run) future, also runs the task that the future awaits, if nothing else can wake the future, and if it has that task at hand and nothing else to run. It runs no other
/// tasks of its executor: the other workers run them. If all workers wait, the executor starts a spare one.
///
/// The thread parks through the standard library's token. A caller that parks the same thread in a loop of its own
/// needs a flag besides: this wait may take the token.
///
/// # Panics
/// If the future panics.
///
/// # Examples
///
/// ```
/// assert_eq!(terrace_executor::block_on(async { 6 * 7 }), 42);
/// ```
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let flag = take_waker();
    let mut blocked = Blocked {
        future: pin!(future),
        output: None,
        waker: Waker::from(Arc::clone(&flag)),
        flag: &flag,
        awaited: None,
        runs_left: 0,
    };
    wait(&mut blocked, Drives::All);
    let output = blocked.output.take().expect("the wait ends with an output");
    drop(blocked);
    // If the thread's locals are gone already, this drops the waker.
    let _kept = SPARE.try_with(|spare| spare.set(Some(flag)));
    output
}
