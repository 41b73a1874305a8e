//! Waiting for the end of all tasks, and shutdowns that do.

use std::future::{Future, pending};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use terrace_executor::{Builder, Executor, Shutdown, StillRunning, Task, block_on};
use terrace_testing::{
    Random, Signal, Yields, completed_elsewhere, on_own_thread, signal, text_of, watchdog,
};
use terrace_thread::ThreadSpawner;

/// Long enough for no machine: a test that comes to its end has failed.
const LONG: Option<Duration> = Some(Duration::from_secs(3600));
const SHORT: Option<Duration> = Some(Duration::from_millis(1));

fn requests(executor: &Executor<'static>, count: usize) -> (Vec<Task<()>>, Vec<Signal>) {
    (0..count)
        .map(|_| {
            let (answer, signal) = signal();
            (executor.spawn(answer), signal)
        })
        .unzip()
}

/// An executor with so many workers. Without workers, the waiting threads of other tests do not drive it, either.
fn alone(workers: usize) -> Executor<'static> {
    match workers {
        0 => Executor::new(),
        workers => Builder::new().workers(workers).build(),
    }
}

/// Five requests wait for their answers. `FinishAll` ends the threads after the last of them.
#[test]
fn a_shutdown_finishes_tasks_that_wait() {
    let _watchdog = watchdog();
    for workers in [0, 1, 3] {
        for limit in [None, LONG] {
            let executor = alone(workers);
            let (tasks, signals) = requests(&executor, 5);
            let answers = thread::spawn(move || {
                for signal in signals {
                    thread::yield_now();
                    signal.set();
                }
            });
            executor.shutdown(Shutdown::FinishAll, limit).unwrap();
            assert!(tasks.iter().all(Task::is_finished));
            assert_eq!(executor.threads(), 0);
            answers.join().unwrap();
        }
    }
}

/// The limit is over before: the executor goes on as it was, and the error says how many tasks are left.
#[test]
fn a_shutdown_that_finishes_too_late_ends_no_thread() {
    let _watchdog = watchdog();
    for workers in [0, 2] {
        let executor = alone(workers);
        let (tasks, signals) = requests(&executor, 5);
        for limit in [SHORT, Some(Duration::ZERO)] {
            let left = executor.shutdown(Shutdown::FinishAll, limit).unwrap_err();
            assert_eq!((left.tasks(), left.threads()), (5, 0));
            let text = left.to_string();
            assert!(
                text.starts_with("5 tasks of the executor have not ended in time"),
                "{text}"
            );
        }
        assert_eq!((executor.workers(), executor.threads()), (workers, workers));
        assert_eq!(block_on(executor.run(executor.spawn(async { 1 }))), 1);
        signals.iter().for_each(Signal::set);
        executor.shutdown(Shutdown::FinishAll, None).unwrap();
        assert!(tasks.iter().all(Task::is_finished));
    }
}

/// `RunQueued` leaves tasks that wait, and they run later.
#[test]
fn a_shutdown_that_runs_the_queue_leaves_tasks_that_wait() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(1).build();
    let (tasks, signals) = requests(&executor, 5);
    executor.shutdown(Shutdown::RunQueued, None).unwrap();
    assert!(!tasks.iter().any(Task::is_finished));
    signals.iter().for_each(Signal::set);
    executor.wait_idle(None).unwrap();
    tasks.into_iter().for_each(block_on);
}

/// A worker is blocked: the error, `threads` and the metrics count it. It serves the executor no more, so `workers` does not.
#[test]
fn a_thread_that_has_not_ended_counts() {
    let _watchdog = watchdog();
    for how in [Shutdown::RunQueued, Shutdown::DropQueued] {
        let executor = Builder::new().workers(2).build();
        let (hold, held) = channel::<()>();
        let (began, begun) = channel();
        executor
            .spawn(async move {
                began.send(()).unwrap();
                let _end = held.recv();
            })
            .detach();
        begun.recv().unwrap();
        let left = loop {
            let left = executor.shutdown(how, SHORT).unwrap_err();
            if left.threads() == 1 {
                break left;
            }
        };
        assert_eq!(left.tasks(), 1);
        assert!(
            left.to_string()
                .starts_with("1 thread of the executor has not ended"),
            "{left}"
        );
        assert_eq!((executor.workers(), executor.threads()), (0, 1));
        assert_eq!(executor.metrics().num_workers(), 1);
        drop(hold);
        executor.shutdown(how, None).unwrap();
        assert_eq!((executor.workers(), executor.threads()), (0, 0));
        assert_eq!(executor.metrics().num_workers(), 0);
    }
}

/// Executors without workers: the waiter drives them.
#[test]
fn a_waiter_drives_an_executor_without_workers() {
    let _watchdog = watchdog();
    let made: [fn() -> Executor<'static>; 2] =
        [Executor::new, || Builder::new().workers(0).build()];
    for make in made {
        for limit in [None, LONG] {
            let executor = make();
            executor.wait_idle(limit).unwrap();
            for i in 0..300 {
                executor.spawn(Yields(i % 3)).detach();
                executor.spawn(completed_elsewhere()).detach();
            }
            executor.wait_idle(limit).unwrap();
            assert!(executor.is_empty());
        }
    }
}

/// The last worker ends while a thread waits: the waiter goes on in its place.
/// A task waits for one that is pinned to the thread which waits for the end.
#[test]
fn a_waiter_runs_its_pinned_tasks() {
    for workers in [0, 1] {
        on_own_thread(move || {
            let executor = Builder::new().workers(workers).build();
            for ends in [false, true] {
                let here = ThreadSpawner::current();
                executor
                    .spawn(async move { here.spawn(async {}).await })
                    .detach();
                if ends {
                    executor.shutdown(Shutdown::FinishAll, None).unwrap();
                } else {
                    executor.wait_idle(None).unwrap();
                }
            }
        });
    }
}

#[test]
fn a_waiter_goes_on_without_workers() {
    let _watchdog = watchdog();
    for limit in [None, LONG] {
        for _ in 0..50 {
            let executor = Builder::new().workers(1).build();
            let (tasks, signals) = requests(&executor, 3);
            thread::scope(|threads| {
                threads.spawn(|| {
                    executor.set_workers(0).unwrap();
                    signals.iter().for_each(Signal::set);
                });
                executor.wait_idle(limit).unwrap();
            });
            tasks.into_iter().for_each(block_on);
        }
    }
}

fn own() -> (Arc<Executor<'static>>, Arc<Executor<'static>>) {
    let executor = Arc::new(Builder::new().workers(2).build());
    (Arc::clone(&executor), executor)
}

/// A task that waits for its own executor would wait for itself.
#[test]
fn a_task_does_not_wait_for_itself() {
    let _watchdog = watchdog();
    let (inside, executor) = own();
    let task = executor.spawn(async move {
        let wait = text_of(|| inside.wait_idle(None));
        let shutdown = text_of(|| inside.shutdown(Shutdown::FinishAll, None));
        let late = inside.wait_idle(SHORT).map_err(|left| left.tasks());
        (wait, shutdown, late)
    });
    let (wait, shutdown, late) = block_on(task);
    assert!(wait.contains("Pass a limit") && shutdown.contains("Pass a limit"));
    assert_eq!(late, Err(1));

    let executor = Executor::new();
    executor.spawn(async {}).detach();
    let wait = text_of(|| block_on(executor.run(async { executor.wait_idle(None) })));
    assert!(wait.contains("Pass a limit"), "{wait}");

    // Polled by a thread without a seat, and beneath the `run` future of another executor.
    let executor = Arc::new(Executor::new());
    let inside = Arc::clone(&executor);
    let task = executor.spawn(async move { text_of(|| inside.wait_idle(None)) });
    assert!(executor.try_tick());
    let wait = block_on(task);
    assert!(wait.contains("Pass a limit"), "{wait}");
    let (inside, executor) = own();
    let task = executor.spawn(async move {
        let other = Executor::new();
        block_on(other.run(async { text_of(|| inside.wait_idle(None)) }))
    });
    let wait = block_on(task);
    assert!(wait.contains("Pass a limit"), "{wait}");
}

/// A worker waits for another executor.
#[test]
fn a_worker_waits_for_another_executor() {
    let _watchdog = watchdog();
    for workers in [0, 1] {
        let (inside, executor) = own();
        let other = Builder::new().workers(workers).build();
        let task = executor.spawn(async move {
            for i in 0..50 {
                other.spawn(Yields(i)).detach();
                inside.spawn(Yields(i)).detach();
            }
            other.wait_idle(None)
        });
        assert_eq!(block_on(task), Ok::<(), StillRunning>(()));
        executor.wait_idle(None).unwrap();
    }
}

fn life(random: &mut Random) -> impl Future<Output = ()> + Send + use<> {
    let (yields, elsewhere) = (random.below(3) as u32, random.once_in(3));
    async move {
        Yields(yields).await;
        if elsewhere {
            completed_elsewhere().await;
        }
    }
}

/// Many tasks end on workers, in `run` futures, in ticks and by cancellation, while threads wait: none of them sleeps on.
#[test]
fn random_ends_are_all_seen() {
    let _watchdog = watchdog();
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let executor = Builder::new().workers(random.below(3)).build();
        let left = AtomicUsize::new(2);
        thread::scope(|threads| {
            for _ in 0..2 {
                let mut random = random.split();
                let (executor, left) = (&executor, &left);
                threads.spawn(move || {
                    for _ in 0..random.below(30) {
                        match random.below(6) {
                            0 => drop(executor.spawn(pending::<()>())),
                            1 => block_on(executor.run(executor.spawn(life(&mut random)))),
                            2 => drop(executor.try_tick()),
                            3 => {
                                let life = life(&mut random);
                                let spawner = executor.spawner();
                                let child = async move { spawner.spawn(life).await };
                                executor.spawn(child).detach();
                            }
                            _ => executor.spawn(life(&mut random)).detach(),
                        }
                    }
                    left.fetch_sub(1, Ordering::Release);
                    executor
                        .wait_idle(if random.once_in(2) { LONG } else { None })
                        .unwrap();
                });
            }
            while left.load(Ordering::Acquire) > 0 {
                executor.wait_idle(LONG).unwrap();
                thread::yield_now();
            }
            executor.wait_idle(None).unwrap();
        });
        assert!(executor.is_empty(), "seed {seed}");
    }
}

/// Its owner alone runs its tasks, also after a shutdown.
#[test]
fn no_wait_drives_a_bare_executor_that_was_shut_down() {
    let _watchdog = watchdog();
    for how in [Shutdown::RunQueued, Shutdown::DropQueued] {
        let executor = Executor::new();
        executor.shutdown(how, None).unwrap();
        let task = executor.spawn(async {});
        block_on(completed_elsewhere());
        assert!(!task.is_finished());
        assert!(executor.try_tick() && task.is_finished());
    }
}
