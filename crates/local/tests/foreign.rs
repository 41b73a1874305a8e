//! `LocalScheduler`: runnables of cells that the executor did not make.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::pin::pin;
use std::rc::Rc;
use std::sync::mpsc::channel;
use std::task::{Poll, Waker};
use std::thread;

use async_task::{Builder, Runnable, ScheduleInfo, Task, WithInfo};
use futures_lite::future::{block_on, poll_fn, poll_once, yield_now};
use static_assertions::assert_impl_all;
use terrace_local::{LocalExecutor, LocalScheduler};
use terrace_testing::{Drops, Homebody, on_own_thread};

assert_impl_all!(LocalScheduler: Send, Sync, Clone, std::fmt::Debug);

/// The schedule function that passes everything on.
fn schedule(
    scheduler: &LocalScheduler,
) -> WithInfo<impl Fn(Runnable, ScheduleInfo) + Send + Sync + 'static> {
    let scheduler = scheduler.clone();
    WithInfo(move |runnable: Runnable, info: ScheduleInfo| scheduler.schedule(runnable, info))
}

/// Spawns a future that stays on this thread.
fn spawn<T: 'static>(
    executor: &LocalExecutor<'_>,
    future: impl Future<Output = T> + 'static,
) -> Task<T> {
    let scheduler = executor.scheduler();
    let (runnable, task) = async_task::spawn_local(future, schedule(&scheduler));
    scheduler.start(runnable);
    task
}

#[test]
fn they_take_turns_with_the_executors_own() {
    on_own_thread(|| {
        let executor = LocalExecutor::new();
        let seen = Rc::new(RefCell::new(Vec::new()));
        let turns = |name: &'static str| {
            let seen = Rc::clone(&seen);
            async move {
                for turn in 0..3 {
                    seen.borrow_mut().push((turn, name));
                    yield_now().await;
                }
            }
        };
        let tasks = (
            executor.spawn(turns("own")),
            spawn(&executor, turns("foreign")),
        );
        while executor.try_tick() {}
        let wanted = (0..3).flat_map(|turn| [(turn, "own"), (turn, "foreign")]);
        assert!(seen.borrow().iter().copied().eq(wanted));
        block_on(tasks.0);
        block_on(tasks.1);
        assert!(executor.is_empty());
    });
}

/// A wake by another thread brings the runnable to the executor's thread and ends the sleep of its driver.
#[test]
fn they_run_on_the_executors_thread_only() {
    on_own_thread(|| {
        let executor = LocalExecutor::new();
        let home = Homebody::new();
        let (sender, wakers) = channel::<Waker>();
        let thread = thread::spawn(move || wakers.iter().for_each(Waker::wake));
        let mut polls = 0;
        let task = spawn(
            &executor,
            poll_fn(move |context| {
                home.check();
                polls += 1;
                if polls == 100 {
                    return Poll::Ready(polls);
                }
                sender
                    .send(context.waker().clone())
                    .expect("the thread waits");
                Poll::Pending
            }),
        );
        assert_eq!(block_on(executor.run(task)), 100);
        thread.join().expect("it ends with the sender");
    });
}

#[test]
fn a_panic_goes_to_the_handle_or_to_the_handler() {
    on_own_thread(|| {
        let executor = LocalExecutor::new();
        let (sender, payloads) = channel();
        executor.set_panic_handler(move |payload| sender.send(payload).expect("it is read"));
        for propagates in [true, false] {
            let scheduler = executor.scheduler();
            let builder = Builder::new().propagate_panic(propagates);
            let (runnable, task) =
                builder.spawn_local(|()| async { panic_any(7) }, schedule(&scheduler));
            scheduler.start(runnable);
            assert!(executor.try_tick());
            let task: Task<()> = task;
            let of_handle = catch_unwind(AssertUnwindSafe(|| block_on(task.fallible())));
            assert_eq!(of_handle.is_err(), propagates);
            let handled = payloads.try_recv().ok();
            assert_eq!(
                handled.and_then(|payload| payload.downcast_ref().copied()),
                (!propagates).then_some(7)
            );
        }
    });
}

/// The drop of the executor drops what is queued. It leaves a cell that waits, which a wake of the same thread drops.
#[test]
fn the_drop_of_the_executor_drops_what_is_queued() {
    on_own_thread(|| {
        let drops = Drops::new();
        let executor = LocalExecutor::new();
        let waker = Rc::new(Cell::new(None));
        let waits = {
            let (value, waker) = (drops.value(), Rc::clone(&waker));
            spawn(&executor, async move {
                let _value = value;
                poll_fn(|context| {
                    waker.set(Some(context.waker().clone()));
                    Poll::<()>::Pending
                })
                .await;
            })
        };
        assert!(executor.try_tick());
        let queued = spawn(&executor, drops.never());
        drop(executor);
        assert_eq!(drops.count(), 1);
        assert_eq!(block_on(queued.fallible()), None);
        waker.take().expect("it was polled").wake();
        assert_eq!(drops.count(), 2);
        assert_eq!(block_on(waits.fallible()), None);
    });
}

/// No other thread drops the future, also after the executor's end.
#[test]
fn a_late_wake_of_another_thread_leaks_the_runnable() {
    on_own_thread(|| {
        let drops = Drops::new();
        let executor = LocalExecutor::new();
        let (sender, wakers) = channel::<Waker>();
        let (home, value) = (Homebody::new(), drops.value());
        let task = spawn(
            &executor,
            poll_fn(move |context| {
                let _kept = (&home, &value);
                sender.send(context.waker().clone()).expect("it is read");
                Poll::<()>::Pending
            }),
        );
        assert!(executor.try_tick());
        drop(executor);
        thread::spawn(move || wakers.recv().expect("it was polled").wake())
            .join()
            .expect("nothing panics there");
        assert_eq!(drops.count(), 0);
        let mut task = pin!(task.fallible());
        assert_eq!(block_on(poll_once(&mut task)), None);
    });
}
