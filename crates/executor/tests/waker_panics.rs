//! Users' wakers that panic in a call by a thread with work of its own.

use std::future::{Future, pending};
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::task::{Context, Wake, Waker};

use terrace_executor::{Builder, Executor, ThreadExecutor, block_on};
use terrace_testing::{Wakes, on_own_thread, poll_once, watchdog};

struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        std::panic::panic_any(Bomb);
    }
}

/// A payload whose destructor panics, too.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("on purpose, in a destructor");
    }
}

/// A `run` sleeps whose waker panics. All workers are busy, so one of them notifies it. The worker lives on, and
/// another `run`, or a worker, runs the task.
#[test]
fn a_worker_survives_the_waker_of_a_sleeping_run() {
    on_own_thread(|| {
        let executor = Arc::new(Builder::new().workers(1).build());
        let waker = Waker::from(Arc::new(Panics));
        for _ in 0..10 {
            let mut run = pin!(executor.run(pending::<()>()));
            assert!(
                run.as_mut()
                    .poll(&mut Context::from_waker(&waker))
                    .is_pending()
            );
            let inner = Arc::clone(&executor);
            let (ran, runs) = channel();
            let outer = executor.spawn(async move {
                inner.spawn(async move { ran.send(()).unwrap() }).detach();
            });
            block_on(outer);
            runs.recv().unwrap();
        }
        assert_eq!(block_on(executor.spawn(async { 1 })), 1);
    });
}

/// A `run` that fell asleep before it is notified in its place.
#[test]
fn the_next_run_is_notified() {
    on_own_thread(|| {
        let executor = Executor::new();
        let woken = Wakes::new();
        let mut first = pin!(executor.run(pending::<()>()));
        let noting = woken.waker();
        assert!(
            first
                .as_mut()
                .poll(&mut Context::from_waker(&noting))
                .is_pending()
        );
        // A publisher notifies the one that fell asleep last.
        let waker = Waker::from(Arc::new(Panics));
        let mut second = pin!(executor.run(pending::<()>()));
        assert!(
            second
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
        let task = executor.spawn(async {});
        assert_eq!(woken.count(), 1);
        assert!(poll_once(first).is_pending());
        assert!(task.is_finished());
    });
}

/// A `tick` of a thread's executor sleeps whose waker panics: the panic does not reach the thread
/// that spawns.
#[test]
fn a_tick_whose_waker_panics_keeps_no_task() {
    let _watchdog = watchdog();
    let executor = ThreadExecutor::new();
    let ticker = executor.ticker().expect("made on this thread");
    let waker = Waker::from(Arc::new(Panics));
    {
        let mut tick = pin!(ticker.tick());
        assert!(
            tick.as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
        let mut task = executor.spawn(async { 1 });
        assert!(ticker.try_tick());
        assert_eq!(task.try_take(), Some(1));
    }
    let mut task = executor.spawn(async { 2 });
    assert!(ticker.try_tick());
    assert_eq!(task.try_take(), Some(2));
}
