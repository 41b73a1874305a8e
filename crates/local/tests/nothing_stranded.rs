//! No runnable task stays in a queue at which no driver looks. Every driver, every spawner, nested drivers, and drivers
//! dropped in either order.

mod waiting;

use std::cell::Cell;
use std::future::{Future, pending};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::thread;

use futures_lite::future::{block_on, or, poll_once, yield_now};
use terrace_local::{LocalExecutor, StaticLocalExecutor};
use terrace_testing::{Wakes, on_own_thread, watchdog};
use waiting::waiting;

/// An executor that its own tasks may use.
fn leaked() -> &'static StaticLocalExecutor {
    Box::leak(Box::default())
}

#[derive(Clone, Copy, Debug)]
enum By {
    Here,
    Thread,
}

impl By {
    fn wake(self, waker: Waker) {
        match self {
            By::Here => waker.wake(),
            By::Thread => thread::spawn(move || waker.wake())
                .join()
                .expect("a wake does not panic"),
        }
    }
}

#[test]
fn every_driver_runs_what_every_waker_queues() {
    on_own_thread(|| {
        for by in [By::Here, By::Thread] {
            let executor = LocalExecutor::new();
            let (waker, mut task) = waiting(&executor);
            by.wake(waker);
            assert!(executor.try_tick(), "try_tick, {by:?}");
            assert_eq!(task.try_take(), Some(()));

            let (waker, mut task) = waiting(&executor);
            by.wake(waker);
            block_on(executor.tick());
            assert_eq!(task.try_take(), Some(()), "tick, {by:?}");

            let (waker, task) = waiting(&executor);
            by.wake(waker);
            block_on(executor.run(task));
            assert!(executor.is_empty());
        }
    });
}

#[test]
fn sleeping_drivers_are_woken() {
    on_own_thread(|| {
        let executor = LocalExecutor::new();
        for _ in 0..200 {
            let (waker, task) = waiting(&executor);
            let thread = thread::spawn(move || waker.wake());
            block_on(executor.run(task));
            thread.join().expect("a wake does not panic");
            let (waker, task) = waiting(&executor);
            let thread = thread::spawn(move || waker.wake());
            block_on(executor.tick());
            assert!(task.is_finished());
            thread.join().expect("a wake does not panic");
        }
    });
}

/// Two drivers of one executor sleep. The test drops either one; a push wakes the other.
#[test]
fn drivers_dropped_in_either_order() {
    let _watchdog = watchdog();
    for drop_first in [true, false] {
        for by in [By::Here, By::Thread] {
            let executor = LocalExecutor::new();
            let (waker, mut task) = waiting(&executor);
            let wakes = [Arc::<Wakes>::default(), Arc::default()];
            let wakers = wakes.clone().map(Waker::from);
            let mut drivers =
                [(), ()].map(|()| Some(Box::pin(executor.run(pending::<()>())) as DynFuture<'_>));
            for (driver, waker) in drivers.iter_mut().zip(&wakers) {
                assert!(poll(driver, waker).is_pending());
            }
            let (dropped, left) = if drop_first { (0, 1) } else { (1, 0) };
            drivers[dropped] = None;
            by.wake(waker);
            assert_eq!(wakes[dropped].taken(), 0);
            assert_eq!(wakes[left].taken(), 1);
            assert!(poll(&mut drivers[left], &wakers[left]).is_pending());
            assert_eq!(task.try_take(), Some(()));
        }
    }
}

type DynFuture<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

fn poll(driver: &mut Option<DynFuture<'_>>, waker: &Waker) -> Poll<()> {
    let driver = driver.as_mut().expect("not dropped yet");
    driver.as_mut().poll(&mut Context::from_waker(waker))
}

/// A driver that leaves, done or dropped, while a task is queued wakes the next driver. So no task waits for a push
/// that may never come.
#[test]
fn a_driver_that_leaves_work_wakes_the_next() {
    let _watchdog = watchdog();
    let executor = leaked();
    let wakes = Arc::<Wakes>::default();
    let waker = Waker::from(wakes.clone());
    let mut sleeper: Option<DynFuture<'_>> = Some(Box::pin(executor.run(pending::<()>())));
    assert!(poll(&mut sleeper, &waker).is_pending());
    // A `tick` that runs a task which spawns another, and is done.
    let ran = Rc::new(Cell::new(false));
    let task = executor.spawn({
        let ran = ran.clone();
        async move { executor.spawn(async move { ran.set(true) }).detach() }
    });
    block_on(executor.tick());
    drop(task);
    assert!(
        wakes.taken() > 0,
        "nobody was told of the task that is left"
    );
    assert!(poll(&mut sleeper, &waker).is_pending());
    assert!(ran.get());
}

/// Two executors, one driven inside a task of the other.
#[test]
fn nested_executors() {
    on_own_thread(|| {
        let (outer, inner) = (leaked(), leaked());
        let log = Rc::new(Cell::new(0));
        let bump = {
            let log = log.clone();
            move |by: u32| {
                let log = log.clone();
                async move {
                    yield_now().await;
                    log.set(log.get() + by);
                }
            }
        };
        block_on(outer.run(async {
            let across = outer.spawn(bump(1));
            inner.spawn(bump(1000)).detach();
            let task = outer.spawn(inner.run(async move {
                inner.spawn(bump(10)).await;
                outer.spawn(bump(100)).await;
            }));
            task.await;
            across.await;
            inner.run(yield_now()).await;
        }));
        while inner.try_tick() || outer.try_tick() {}
        assert_eq!(log.get(), 1111);
    });
}

#[test]
fn a_run_dropped_unfinished_strands_nothing() {
    on_own_thread(|| {
        let executor = LocalExecutor::new();
        for n in 0..500 {
            let task = executor.spawn(async {
                for _ in 0..3 {
                    yield_now().await;
                }
            });
            for _ in 0..n % 4 {
                block_on(or(executor.run(pending()), async {}));
                block_on(poll_once(executor.tick()));
            }
            block_on(executor.run(task));
        }
    });
}

#[test]
fn a_busy_task_starves_neither_its_sibling_nor_the_future_of_run() {
    on_own_thread(|| {
        let executor = leaked();
        executor
            .spawn(async {
                loop {
                    yield_now().await;
                }
            })
            .detach();
        let mut turns = 0;
        block_on(executor.run(async {
            executor.spawn(async { yield_now().await }).await;
            while turns < 10 {
                turns += 1;
                yield_now().await;
            }
        }));
        assert_eq!(turns, 10);
    });
}

/// When there is nothing to do a driver does not ask to be polled again.
#[test]
fn idle_drivers_sleep() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let (task_waker, task) = waiting(&executor);
    let wakes = Arc::<Wakes>::default();
    let waker = Waker::from(wakes.clone());
    let mut context = Context::from_waker(&waker);
    let mut run = pin!(executor.run(task));
    assert!(run.as_mut().poll(&mut context).is_pending());
    assert_eq!(wakes.taken(), 0);
    task_waker.wake();
    assert_eq!(wakes.taken(), 1);
    assert!(run.as_mut().poll(&mut context).is_ready());
    assert_eq!(wakes.taken(), 1, "of the task's own end");
}
