//! The drop of an executor races a wake. A waking thread pushes the task, and the owner runs it and drops the executor.
//! A faulty wake would go on with freed state. Also meant for AddressSanitizer.

mod waiting;

use std::pin::pin;
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use terrace_local::LocalExecutor;
use terrace_testing::{WakerSlot, on_own_thread, poll_once, watchdog};
use waiting::waiting;

/// Stops the thread that wakes, after its push, until the executor is gone.
struct Stop {
    pushed: Barrier,
    gone: Barrier,
}

impl Stop {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            pushed: Barrier::new(2),
            gone: Barrier::new(2),
        })
    }

    fn hold(&self) {
        self.pushed.wait();
        self.gone.wait();
    }
}

impl Wake for Stop {
    fn wake(self: Arc<Self>) {
        self.hold();
    }
}

/// Another thread wakes a task of `executor`, and `stop` holds that thread after its push. Before the wake returns, the
/// task has run and the executor is gone. `drive` calls its second argument to start the wake, and then runs the task.
fn dropped_during_a_wake(
    stop: &Stop,
    executor: LocalExecutor<'static>,
    drive: impl FnOnce(&LocalExecutor<'static>, &mut dyn FnMut()),
) {
    let (waker, task) = waiting(&executor);
    let mut waker = Some(waker);
    let mut foreign = None;
    drive(&executor, &mut || {
        let waker = waker.take().expect("one wake");
        foreign = Some(thread::spawn(move || waker.wake()));
        stop.pushed.wait();
    });
    assert!(task.is_finished());
    drop(executor);
    drop(task);
    stop.gone.wait();
    let foreign = foreign.expect("the wake has begun");
    foreign.join().expect("touches nothing that is gone");
}

/// After its push, a remote wake wakes a driver, whose waker stops the thread. Before the waker returns, the owner
/// ticks, closes and frees the executor.
#[test]
fn executor_dropped_between_push_and_wake_of_a_driver() {
    on_own_thread(|| {
        let stop = Stop::new();
        dropped_during_a_wake(&stop, LocalExecutor::new(), |executor, wake| {
            let waker = Waker::from(stop.clone());
            let mut context = Context::from_waker(&waker);
            let mut run = pin!(executor.run(std::future::pending::<()>()));
            assert!(run.as_mut().poll(&mut context).is_pending());
            wake();
            assert!(run.as_mut().poll(&mut context).is_pending());
        });
    });
}

/// The same, with the hook that wakes the owner's thread, as in `terrace-thread`.
#[test]
fn executor_dropped_between_push_and_hook() {
    on_own_thread(|| {
        let stop = Stop::new();
        let executor = LocalExecutor::new();
        let hook = stop.clone();
        executor.core().set_hook(move || hook.hold());
        dropped_during_a_wake(&stop, executor, |executor, wake| {
            wake();
            assert!(executor.try_tick());
        });
    });
}

/// Wakes, drops of wakers and handles, and the executor's drop, all at once.
#[test]
fn wakes_race_with_the_drop() {
    on_own_thread(|| {
        for round in 0..2_000 {
            let executor = LocalExecutor::new();
            let slots: Vec<WakerSlot> = (0..2).map(|_| WakerSlot::default()).collect();
            let mut tasks: Vec<_> = slots
                .iter()
                .map(|slot| executor.spawn(slot.clone().forever::<u32>()))
                .collect();
            while executor.try_tick() {}
            let start = Arc::new(Barrier::new(3));
            let wakers: Vec<_> = slots
                .iter()
                .enumerate()
                .map(|(n, slot)| {
                    let (waker, start) = (slot.waker(), start.clone());
                    let task = (round % 2 == n).then(|| tasks.pop().expect("two tasks"));
                    thread::spawn(move || {
                        start.wait();
                        waker.wake_by_ref();
                        drop(task);
                        waker.wake();
                    })
                })
                .collect();
            start.wait();
            if round % 3 == 0 {
                executor.try_tick();
            }
            drop(executor);
            for waker in wakers {
                waker.join().expect("wakes quietly");
            }
        }
    });
}

/// A waker outlives its executor, on every thread.
#[test]
fn wakers_may_be_used_after_the_end() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let slot = WakerSlot::default();
    let mut task = executor.spawn(slot.clone().forever::<()>()).fallible();
    executor.try_tick();
    let waker = slot.waker();
    drop(executor);
    assert_eq!(poll_once(&mut task), Poll::Ready(None));
    waker.wake_by_ref();
    thread::spawn(move || {
        waker.wake_by_ref();
        drop(waker.clone());
        waker.wake();
    })
    .join()
    .expect("a late wake does nothing");
}
