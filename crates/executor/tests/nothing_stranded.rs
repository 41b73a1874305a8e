//! Every task in a driver's own queue runs: for every driver, for every spawner, and after every end of the driver.

use std::future::{Future, pending};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::task::Poll;
use std::thread;

use terrace_executor::{Builder, Executor, Task, block_on};
use terrace_testing::{Yields, on_own_thread, poll_once, watchdog};

/// How the executor under test is driven.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Driver {
    Run,
    Tick,
    TryTick,
    /// A scope's wait: it drives executors that have no workers.
    Wait,
    Worker,
}

/// The spawner of the tasks.
#[derive(Clone, Copy, Debug)]
enum Spawner {
    /// The thread that drives, before it does.
    DriversThread,
    /// A task that the driver polls.
    DriversTask,
    Another,
    /// A task polled by a `run` that was dropped afterwards.
    DroppedRun,
    /// A task polled by a `run` that was forgotten afterwards.
    ForgottenRun,
    /// A task polled by a `run` that is kept and never polled again.
    StalledRun,
}

const DRIVERS: [Driver; 5] = [
    Driver::Run,
    Driver::Tick,
    Driver::TryTick,
    Driver::Wait,
    Driver::Worker,
];
const SPAWNERS: [Spawner; 6] = [
    Spawner::DriversThread,
    Spawner::DriversTask,
    Spawner::Another,
    Spawner::DroppedRun,
    Spawner::ForgottenRun,
    Spawner::StalledRun,
];
/// More than one, so that some lie in a ring when its holder stops; less than a ring holds.
const TASKS: usize = 100;

fn executor(driver: Driver) -> Arc<Executor<'static>> {
    Arc::new(match driver {
        Driver::Worker => Builder::new().workers(1).build(),
        Driver::Wait => Builder::new().workers(0).build(),
        Driver::Run | Driver::Tick | Driver::TryTick => Executor::new(),
    })
}

fn spawn_all(executor: &Executor<'static>) -> Vec<Task<usize>> {
    (0..TASKS)
        .map(|i| {
            executor.spawn(async move {
                Yields(i as u32 % 3).await;
                i
            })
        })
        .collect()
}

/// Lets a `run`, or a worker, poll a task that spawns all tasks, and some of these tasks.
fn spawn_in_run(
    executor: &Arc<Executor<'static>>,
    run: Pin<&mut impl Future<Output = ()>>,
) -> Vec<Task<usize>> {
    let (send, receive) = channel();
    let inner = Arc::clone(executor);
    executor
        .spawn(async move {
            send.send(spawn_all(&inner)).unwrap();
            // A poll of `run` ends after 200 tasks, so most of the spawned tasks stay in its ring.
            for _ in 0..150 {
                inner.spawn(async {}).detach();
            }
        })
        .detach();
    // So that they are polled first.
    for _ in 0..150 {
        executor.spawn(async {}).detach();
    }
    assert!(poll_once(run).is_pending());
    receive.recv().expect("the task was polled")
}

fn spawn(spawner: Spawner, executor: &Arc<Executor<'static>>) -> Vec<Task<usize>> {
    match spawner {
        Spawner::DriversThread => spawn_all(executor),
        Spawner::Another => thread::scope(|s| s.spawn(|| spawn_all(executor)).join().unwrap()),
        Spawner::DriversTask => {
            let inner = Arc::clone(executor);
            let all = executor.spawn(async move {
                let mut sum = Vec::new();
                for task in spawn_all(&inner) {
                    sum.push(task.await);
                }
                sum
            });
            let outer = executor.spawn(async move { all.await.len() });
            vec![executor.spawn(async move {
                assert_eq!(outer.await, TASKS);
                TASKS * (TASKS - 1) / 2
            })]
        }
        Spawner::DroppedRun => {
            let mut run = Box::pin(executor.run(pending::<()>()));
            spawn_in_run(executor, run.as_mut())
        }
        Spawner::ForgottenRun => {
            let kept = Box::leak(Box::new(Arc::clone(executor)));
            let mut run = Box::pin(kept.run(pending::<()>()));
            let tasks = spawn_in_run(executor, run.as_mut());
            std::mem::forget(run);
            tasks
        }
        Spawner::StalledRun => {
            let kept: &'static Arc<_> = Box::leak(Box::new(Arc::clone(executor)));
            let run: &'static mut _ = Box::leak(Box::new(kept.run(pending::<()>())));
            // SAFETY: leaked, so it never moves and is never dropped.
            let run = unsafe { Pin::new_unchecked(run) };
            spawn_in_run(executor, run)
        }
    }
}

async fn sum(tasks: Vec<Task<usize>>) -> usize {
    let mut sum = 0;
    for task in tasks {
        sum += task.await;
    }
    sum
}

fn drive(driver: Driver, executor: &Executor<'static>, tasks: Vec<Task<usize>>) -> usize {
    match driver {
        Driver::Run => block_on(executor.run(sum(tasks))),
        Driver::Tick => {
            let mut sum = pin!(sum(tasks));
            loop {
                if let Poll::Ready(sum) = poll_once(sum.as_mut()) {
                    return sum;
                }
                block_on(executor.tick());
            }
        }
        Driver::TryTick => {
            let mut sum = pin!(sum(tasks));
            loop {
                if let Poll::Ready(sum) = poll_once(sum.as_mut()) {
                    return sum;
                }
                assert!(executor.try_tick(), "unfinished tasks are queued");
            }
        }
        Driver::Wait | Driver::Worker => block_on(sum(tasks)),
    }
}

/// No task is stuck in a private queue, for each driver of the pool and each spawner.
fn matrix(nest: impl Fn(&Executor<'static>, &dyn Fn()) + Copy + Send + 'static) {
    on_own_thread(move || {
        for driver in DRIVERS {
            for spawner in SPAWNERS {
                let executor = executor(driver);
                nest(&executor, &|| {
                    let tasks = spawn(spawner, &executor);
                    let sum = drive(driver, &executor, tasks);
                    assert_eq!(sum, TASKS * (TASKS - 1) / 2, "{driver:?}, {spawner:?}");
                });
            }
        }
    });
}

#[test]
fn nothing_is_stuck_alone() {
    let _watchdog = watchdog();
    matrix(|_, test| test());
}

/// Inside a task that another executor's `run` polls.
#[test]
fn nothing_is_stuck_inside_another_executors_run() {
    let _watchdog = watchdog();
    matrix(|_, test| {
        let outer = Executor::new();
        // A task cannot borrow `test` without being Send; the future beside which `run` drives can.
        block_on(outer.run(async {
            let around = outer.spawn(Yields(3));
            test();
            around.await;
        }));
    });
}

/// Inside the future of a `run` of the same executor, on the same thread.
#[test]
fn nothing_is_stuck_inside_a_run_of_the_same_executor() {
    let _watchdog = watchdog();
    matrix(|executor, test| {
        block_on(executor.run(async {
            let around = executor.spawn(Yields(3));
            test();
            around.await;
        }));
    });
}

/// Beside a `run` of the same executor that waits and is dropped before, or after, another one.
#[test]
fn nothing_is_stuck_between_runs_dropped_in_either_order() {
    let _watchdog = watchdog();
    for first in [true, false] {
        matrix(move |executor, test| {
            let mut one = Some(Box::pin(executor.run(pending::<()>())));
            let mut two = Some(Box::pin(executor.run(pending::<()>())));
            assert!(poll_once(one.as_mut().unwrap().as_mut()).is_pending());
            assert!(poll_once(two.as_mut().unwrap().as_mut()).is_pending());
            let around = executor.spawn(async {});
            if first {
                one = None;
            } else {
                two = None;
            }
            test();
            drop((one, two));
            block_on(executor.run(around));
        });
    }
}
