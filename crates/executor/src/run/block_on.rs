//! Blocking on a future without stopping the thread's other duties.

use std::cell::Cell;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Wake, Waker};

use terrace_local::TaskId;
use terrace_local::task::awaited::asking;
use terrace_sync::atomic::{AtomicBool, Ordering};
use terrace_sync::{Arc, light};
use terrace_thread::Notify;

use super::awaited;
use super::threadless::ThreadlessPools;
use super::wait::{WaitFor, wait};

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
    /// The waker of this thread's last `block_on`. The thread uses it again if no other clone is
    /// left.
    static SPARE: Cell<Option<Arc<BlockWaker>>> = const { Cell::new(None) };
}

/// The thread is going to be woken in another way.
pub(super) fn forget_waker() {
    let _dropped = SPARE.try_with(|spare| drop(spare.take()));
}

fn take_waker() -> Arc<BlockWaker> {
    let spare = SPARE.try_with(Cell::take).ok().flatten();
    if let Some(mut waker) = spare {
        if let Some(unique) = Arc::get_mut(&mut waker) {
            unique.woken = AtomicBool::new(true);
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
}

impl<F: Future> Blocked<'_, F> {
    /// Whether only one waker is left that can wake the future: the one that it has left with the task that it awaits.
    fn hangs_on_one_task(&self) -> bool {
        /// The references of `block_on` itself: `flag` and `waker`.
        const OWN: usize = 2;
        // A clone that another thread drops at this moment may count: then the task is left to the others.
        self.awaited.is_some() && Arc::strong_count(self.flag) == OWN + 1
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
            return self.hangs_on_one_task() && awaited::run(self.awaited);
        }
        let mut context = Context::from_waker(&self.waker);
        let (polled, awaited) = asking(|| self.future.as_mut().poll(&mut context));
        self.awaited = awaited;
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

/// Runs a future to its end on the current thread.
///
/// While the future is pending, the thread runs its pinned tasks (`terrace-thread`) and the tasks
/// of executors without workers. It sleeps when it has nothing to run. On a worker, it runs the task that the future
/// awaits, if nothing else can wake the future and no other thread has taken the task. It runs no other tasks of the
/// worker's executor: the other workers run them. If all workers wait, the executor starts a spare one.
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
    };
    wait(&mut blocked, ThreadlessPools::all());
    let output = blocked.output.take().expect("the wait ends with an output");
    drop(blocked);
    // If the thread's locals are gone already, this drops the waker.
    let _kept = SPARE.try_with(|spare| spare.set(Some(flag)));
    output
}
