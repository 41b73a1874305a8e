//! Runnables of cells that the executor did not make.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use async_task::{Builder as Cell, Runnable, ScheduleInfo, Task, WithInfo};
use terrace_executor::{Builder, Executor, Scheduler, StaticExecutor, block_on};
use terrace_testing::{Dropped, Drops, WakerSlot, Yields, watchdog};

/// A plain cell on the executor.
fn cell<T: Send + 'static>(
    scheduler: &Scheduler,
    future: impl Future<Output = T> + Send + 'static,
) -> (Runnable, Task<T>) {
    let scheduler = scheduler.clone();
    let schedule = move |runnable: Runnable, info: ScheduleInfo| scheduler.schedule(runnable, info);
    Cell::new()
        .propagate_panic(true)
        .spawn(|()| future, WithInfo(schedule))
}

fn start<T: Send + 'static>(
    executor: &Executor<'_>,
    future: impl Future<Output = T> + Send + 'static,
) -> Task<T> {
    let scheduler = executor.scheduler();
    let (runnable, task) = cell(&scheduler, scheduler.track(future));
    scheduler.start(runnable);
    task
}

/// An executor that no thread of another test drives while it waits.
fn executor(workers: usize) -> Executor<'static> {
    match workers {
        0 => Executor::new(),
        workers => Builder::new().workers(workers).build(),
    }
}

/// The order in which tasks did something, a letter for each.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl Log {
    fn add(&self, letter: char) {
        self.0.lock().expect("no panic").push(letter);
    }

    fn text(&self) -> String {
        self.0.lock().expect("no panic").clone()
    }
}

/// Waits without end, and keeps a value.
async fn keeps(value: Dropped, waker: WakerSlot) {
    let _value = value;
    std::future::poll_fn(|context| {
        waker.leave(context);
        std::task::Poll::<()>::Pending
    })
    .await;
}

#[test]
fn they_run_beside_own_tasks() {
    let _watchdog = watchdog();
    for workers in [0, 1, 2, 5] {
        let executor = Builder::new().workers(workers).build();
        let tasks: Vec<_> = (0..500)
            .map(|i| {
                let own = executor.spawn(Yields(i % 3));
                let foreign = start(&executor, async move {
                    Yields(i % 3).await;
                    own.await;
                    i
                });
                executor.spawn(foreign)
            })
            .collect();
        let sum: u32 = tasks.into_iter().map(block_on).sum();
        assert_eq!(sum, 500 * 499 / 2);
        assert!(executor.is_empty());
    }
}

#[test]
fn a_batch_runs() {
    let _watchdog = watchdog();
    for workers in [0, 2] {
        let executor = Builder::new().workers(workers).build();
        let scheduler = executor.scheduler();
        let mut starts = scheduler.start_many();
        let tasks: Vec<_> = (0..1_000)
            .map(|i| {
                let (runnable, task) = cell(&scheduler, async move { i });
                starts.start(runnable);
                task
            })
            .collect();
        drop(starts);
        assert_eq!(
            tasks.into_iter().map(block_on).sum::<u32>(),
            1_000 * 999 / 2
        );
    }
}

#[test]
fn a_static_executor_takes_them() {
    static EXECUTOR: StaticExecutor = StaticExecutor::new();
    let _watchdog = watchdog();
    let scheduler = EXECUTOR.scheduler();
    let schedule = move |runnable: Runnable, info: ScheduleInfo| scheduler.schedule(runnable, info);
    let (runnable, task) = async_task::spawn(Yields(3), WithInfo(schedule));
    scheduler.start_many().start(runnable);
    block_on(EXECUTOR.run(task));
}

/// One worker runs a yielding task and another one in turn, whichever cells they have.
#[test]
fn a_yield_goes_behind_the_others() {
    let _watchdog = watchdog();
    let executor = Arc::new(Builder::new().workers(1).build());
    let turns = Log::default();
    let takes_turns = |name: char| {
        let turns = turns.clone();
        async move {
            for _ in 0..3 {
                turns.add(name);
                Yields(1).await;
            }
        }
    };
    let (own, foreign) = (takes_turns('o'), takes_turns('f'));
    let (scheduler, spawner) = (executor.scheduler(), Arc::clone(&executor));
    // On the worker, so that both are queued before it polls the first one.
    let both = executor.spawn(async move {
        let (runnable, foreign) = cell(&scheduler, foreign);
        scheduler.start(runnable);
        let own = spawner.spawn(own);
        drop(spawner);
        foreign.await;
        own.await;
    });
    block_on(both);
    assert_eq!(turns.text(), "fofofo");
}

/// Also behind one that it has woken before.
#[test]
fn a_yield_goes_behind_a_task_that_was_woken() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(1).build();
    let (order, waker) = (Log::default(), WakerSlot::default());
    let (first, second) = (order.clone(), order.clone());
    let slot = waker.clone();
    let woken = start(&executor, async move {
        let mut polled = false;
        std::future::poll_fn(|context| {
            slot.leave(context);
            match std::mem::replace(&mut polled, true) {
                false => std::task::Poll::Pending,
                true => std::task::Poll::Ready(()),
            }
        })
        .await;
        first.add('w');
    });
    block_on(executor.spawn(async {}));
    let yields = start(&executor, async move {
        waker.waker().wake();
        Yields(1).await;
        second.add('y');
    });
    block_on(yields);
    block_on(woken);
    assert_eq!(order.text(), "wy");
}

/// A task runs a runnable by hand, whose future yields, and then blocks its thread until that has gone on.
#[test]
fn one_that_yields_where_the_program_runs_it_is_taken_by_others() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(2).build();
    for pause in [0, 150] {
        let scheduler = executor.scheduler();
        let blocks = executor.spawn(async move {
            let (sender, receiver) = std::sync::mpsc::channel();
            let (runnable, task) = cell(&scheduler, async move {
                Yields(1).await;
                sender.send(()).unwrap();
            });
            // After it, the other worker sleeps.
            thread::sleep(std::time::Duration::from_millis(pause));
            runnable.run();
            receiver.recv().unwrap();
            (task,)
        });
        block_on(async {
            let (foreign,) = blocks.await;
            foreign.await;
        });
    }
}

/// A task that is woken by a running one runs next on that worker, before it goes back to the shared queue.
#[test]
fn a_woken_one_runs_next() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(1).build();
    let waker = WakerSlot::default();
    let order = Log::default();
    let push = |name: char| {
        let order = order.clone();
        move || order.add(name)
    };
    let (woken, wakes, last) = (push('w'), push('a'), push('l'));
    let slot = waker.clone();
    let foreign = start(&executor, async move {
        let mut first = true;
        std::future::poll_fn(|context| {
            if std::mem::take(&mut first) {
                slot.leave(context);
                return std::task::Poll::Pending;
            }
            std::task::Poll::Ready(())
        })
        .await;
        woken();
    });
    // The worker has polled it once when a later task has run.
    block_on(executor.spawn(async {}));
    let scheduler = executor.scheduler();
    let waking = executor.spawn(async move {
        waker.waker().wake();
        wakes();
        let (runnable, task) = cell(&scheduler, async move { last() });
        scheduler.start(runnable);
        (task,)
    });
    block_on(async {
        let (last,) = waking.await;
        foreign.await;
        last.await;
    });
    assert_eq!(order.text(), "awl");
}

#[test]
fn a_tracked_one_is_counted_and_dropped_with_the_executor() {
    let _watchdog = watchdog();
    for workers in [0, 2] {
        let drops = Drops::new();
        let executor = executor(workers);
        assert!(executor.is_empty());
        let tasks: Vec<_> = (0..10)
            .map(|_| start(&executor, keeps(drops.value(), WakerSlot::default())))
            .collect();
        assert!(!executor.is_empty());
        if workers == 0 {
            while executor.try_tick() {}
        }
        drop(executor);
        assert_eq!(drops.count(), 10);
        for task in tasks {
            assert_eq!(block_on(task.fallible()), None);
        }
    }
}

/// A runnable of a cell that outlives its executor goes in the call that schedules it.
#[test]
fn a_wake_after_the_end_drops_the_future() {
    let _watchdog = watchdog();
    for workers in [0, 1] {
        let drops = Drops::new();
        let executor = executor(workers);
        let waker = WakerSlot::default();
        let scheduler = executor.scheduler();
        let (runnable, task) = cell(&scheduler, keeps(drops.value(), waker.clone()));
        runnable.run();
        drop(executor);
        assert_eq!(drops.count(), 0);
        waker.waker().wake();
        assert_eq!(drops.count(), 1);
        assert_eq!(block_on(task.fallible()), None);

        let (runnable, task) = cell(&scheduler, keeps(drops.value(), waker.clone()));
        scheduler.start(runnable);
        assert_eq!(drops.count(), 2);
        assert_eq!(block_on(task.fallible()), None);

        let (runnable, task) = cell(&scheduler, keeps(drops.value(), waker));
        scheduler.start_many().start(runnable);
        assert_eq!(drops.count(), 3);
        assert_eq!(block_on(task.fallible()), None);
    }
}

#[test]
fn a_panic_ends_no_worker() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(1).build();
    let kept = start(&executor, async { panic!("a kept panic") });
    let caught = catch_unwind(AssertUnwindSafe(|| block_on(kept)));
    assert!(caught.is_err());

    let scheduler = executor.scheduler();
    let schedule = {
        let scheduler = scheduler.clone();
        move |runnable| scheduler.start(runnable)
    };
    let (runnable, let_out) =
        async_task::spawn(async { panic!("a panic that is let out") }, schedule);
    scheduler.start(runnable);
    let none: Option<()> = block_on(let_out.fallible());
    assert_eq!(none, None);
    assert_eq!(block_on(executor.spawn(async { 3 })), 3);
}

/// Threads wake tasks while the executor is dropped: each future is dropped once, and before the drop returns.
#[test]
fn wakes_race_with_the_end() {
    const TASKS: usize = 50;
    let _watchdog = watchdog();
    for round in 0..50 {
        let drops = Drops::new();
        let executor = executor(round % 3);
        let wakers: Vec<WakerSlot> = (0..TASKS).map(|_| WakerSlot::default()).collect();
        for waker in &wakers {
            start(&executor, keeps(drops.value(), waker.clone())).detach();
        }
        while executor.try_tick() {}
        let woken = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                for waker in &wakers {
                    if let Some(waker) = waker.take() {
                        woken.fetch_add(1, Ordering::Relaxed);
                        waker.wake();
                    }
                }
            });
            while round % 2 == 0 && woken.load(Ordering::Relaxed) == 0 {
                thread::yield_now();
            }
            drop(executor);
            assert_eq!(drops.count(), TASKS);
        });
        drop(wakers);
        assert_eq!(drops.count(), TASKS);
    }
}

/// A future that never saw a poll goes with the queue.
#[test]
fn a_queued_one_is_dropped_with_the_executor() {
    let _watchdog = watchdog();
    let drops = Drops::new();
    let executor = Executor::new();
    let scheduler = executor.scheduler();
    let (runnable, task) = cell(&scheduler, drops.never());
    scheduler.start(runnable);
    drop((executor, scheduler));
    assert_eq!(drops.count(), 1);
    assert_eq!(block_on(task.fallible()), None);
}
