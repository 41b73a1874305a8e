//! Threads that already wait when a pool loses its last worker drive it from then on.

mod alone;

use std::future::{Future, poll_fn};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::thread::{self, ThreadId};
use std::time::Duration;

use alone::alone;
use terrace_executor::scope::{OpenScope, ScopeKind};
use terrace_executor::{Builder, Executor, Shutdown, block_on};
use terrace_testing::{show, signal};

/// A future that waits until the count reaches a number. It sends when its wait begins, and returns the thread that
/// polled it last.
fn reaches(
    count: &Arc<Step>,
    number: usize,
    waits: Sender<()>,
) -> impl Future<Output = ThreadId> + use<> {
    let count = Arc::clone(count);
    poll_fn(move |context| {
        *count.waker.lock().unwrap() = Some(context.waker().clone());
        if count.number.load(Ordering::SeqCst) >= number {
            return Poll::Ready(thread::current().id());
        }
        // The test receives only the first message.
        let _first = waits.send(());
        Poll::Pending
    })
}

#[derive(Default)]
struct Step {
    number: AtomicUsize,
    waker: Mutex<Option<Waker>>,
}

impl Step {
    fn next(&self) {
        self.number.fetch_add(1, Ordering::SeqCst);
        let waker = self.waker.lock().unwrap().take();
        waker.into_iter().for_each(Waker::wake);
    }
}

/// Long enough for a thread to fall asleep; too short only makes a test easier.
fn let_sleep() {
    thread::sleep(Duration::from_millis(20));
}

/// A thread waits, by `wait`, for a task of a pool with two workers. Then `end` takes the workers away, and the test
/// wakes the task: the waiting thread has to run it.
fn waits_already(
    wait: impl FnOnce(&Arc<Executor<'static>>, terrace_executor::Task<ThreadId>) -> ThreadId
    + Send
    + 'static,
    end: impl FnOnce(&Executor<'static>),
) {
    let executor = Arc::new(Builder::new().workers(2).build());
    show(&executor);
    let step = Arc::new(Step::default());
    let (waits, waiting) = channel();
    let task = executor.spawn(reaches(&step, 1, waits));
    waiting.recv().unwrap();
    let waiter = thread::spawn({
        let executor = Arc::clone(&executor);
        move || (wait(&executor, task), thread::current().id())
    });
    let_sleep();
    end(&executor);
    let_sleep();
    step.next();
    let (ran_on, waited_on) = waiter.join().unwrap();
    assert_eq!(ran_on, waited_on);
}

#[test]
fn block_on_drives_a_pool_that_is_resized_to_nothing() {
    alone(|| {
        waits_already(
            |_, task| block_on(task),
            |executor| executor.set_workers(0).unwrap(),
        )
    });
}

#[test]
fn block_on_drives_a_pool_that_was_shut_down() {
    alone(|| {
        waits_already(
            |_, task| block_on(task),
            |executor| executor.shutdown(Shutdown::RunQueued, None).unwrap(),
        );
    });
    alone(|| {
        waits_already(
            |_, task| block_on(task),
            |executor| executor.shutdown(Shutdown::DropQueued, None).unwrap(),
        );
    });
}

/// A worker still blocks when the time of the shutdown is up; it is the last one, and ends later.
#[test]
fn block_on_drives_a_pool_whose_shutdown_took_too_long() {
    alone(|| {
        let executor = Builder::new().workers(1).build();
        let step = Arc::new(Step::default());
        let (waits, waiting) = channel();
        let task = executor.spawn(reaches(&step, 1, waits));
        waiting.recv().unwrap();
        let (started, start) = channel();
        let (release, released) = channel::<()>();
        executor
            .spawn(async move {
                started.send(()).unwrap();
                released.recv().unwrap();
            })
            .detach();
        start.recv().unwrap();
        let waiter = thread::spawn(move || (block_on(task), thread::current().id()));
        let_sleep();
        let late = executor.shutdown(Shutdown::RunQueued, Some(Duration::from_millis(1)));
        assert_eq!(late.unwrap_err().threads(), 1);
        step.next();
        let (ran_on, waited_on) = waiter.join().unwrap();
        assert_eq!(ran_on, waited_on);
        release.send(()).unwrap();
    });
}

/// A waiting worker of another pool drives it, too.
#[test]
fn a_waiting_worker_of_another_pool_drives_it() {
    alone(|| {
        waits_already(
            |_, task| {
                let other = Builder::new().workers(1).build();
                let here = thread::current().id();
                let (ran_on, worker) =
                    block_on(other.spawn(async move { (block_on(task), thread::current().id()) }));
                // On the worker, or on this thread, which waits as well.
                assert!([here, worker].contains(&ran_on));
                here
            },
            |executor| executor.set_workers(0).unwrap(),
        );
    });
}

/// A scope off the pool, one of whose children waits for a task of the pool.
#[test]
fn a_scope_drives_the_pool_it_is_open_on() {
    use terrace_executor::scope::{OpenScope, ScopeKind};

    alone(|| {
        waits_already(
            |executor, task| {
                let result = Mutex::new(None);
                let scope = OpenScope::open(executor, ScopeKind::of::<()>());
                let child = async {
                    *result.lock().unwrap() = Some(task.await);
                };
                // SAFETY: the scope is open, and waited for in the next statement, before what the child borrows ends.
                unsafe { scope.handle().spawn(child) };
                assert!(scope.wait(&[]).is_none());
                result.into_inner().unwrap().unwrap()
            },
            |executor| executor.set_workers(0).unwrap(),
        );
    });
}

/// While threads wait, pools lose their workers, many times, at random moments. Each thread waits for a task that only
/// a waiting thread can run.
#[test]
fn workers_go_at_any_moment() {
    const ROUNDS: usize = 300;
    alone(|| {
        let executor = Arc::new(Builder::new().workers(1).build());
        let stop = Arc::new(AtomicBool::new(false));
        let resizer = {
            let (executor, stop) = (Arc::clone(&executor), Arc::clone(&stop));
            thread::spawn(move || {
                for round in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    executor.set_workers(round % 2).unwrap();
                    thread::sleep(Duration::from_micros(round as u64 % 7 * 50));
                }
                executor.set_workers(0).unwrap();
            })
        };
        let waiters: Vec<_> = (0..2)
            .map(|_| {
                let executor = Arc::clone(&executor);
                thread::spawn(move || {
                    for _ in 0..ROUNDS {
                        let step = Arc::new(Step::default());
                        let (waits, waiting) = channel();
                        let task = executor.spawn(reaches(&step, 1, waits));
                        let waker = thread::spawn(move || {
                            waiting.recv().unwrap();
                            step.next();
                        });
                        block_on(task);
                        waker.join().unwrap();
                    }
                })
            })
            .collect();
        for waiter in waiters {
            waiter.join().unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        resizer.join().unwrap();
    });
}

/// Context switches of the threads of this process whose names begin with `name`.
#[cfg(target_os = "linux")]
fn switches(name: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let switches = tasks.filter_map(|task| {
        let path = task.unwrap().path();
        if !std::fs::read_to_string(path.join("comm"))
            .ok()?
            .starts_with(name)
        {
            return None;
        }
        let status = std::fs::read_to_string(path.join("status")).ok()?;
        let line = status.lines().find(|line| line.starts_with("voluntary"))?;
        line.split_whitespace().last()?.parse::<usize>().ok()
    });
    switches.sum()
}

/// A task for a pool without workers wakes one waiting thread, which does not wake the next one when it goes to sleep
/// again.
#[test]
#[cfg(target_os = "linux")]
fn a_push_wakes_one_of_many_that_wait() {
    const THREADS: usize = 8;
    const TASKS: usize = 200;
    /// The woken thread, and others by chance: that one has just been busy, or is woken while it
    /// looks.
    const SWITCHES_A_TASK: usize = 10;
    alone(|| {
        let executor = Builder::new().workers(0).build();
        let waiters: Vec<_> = (0..THREADS)
            .map(|i| {
                let (waits, waiting) = channel();
                // Each thread waits for a step of its own.
                let own = Arc::new(Step::default());
                let until = reaches(&own, 1, waits);
                let thread = thread::Builder::new().name(format!("waiter-{i}"));
                let thread = thread.spawn(move || block_on(until)).unwrap();
                waiting.recv().unwrap();
                (own, thread)
            })
            .collect();
        let_sleep();
        let before = switches("waiter-");
        for _ in 0..TASKS {
            let task = executor.spawn(async {});
            while !task.is_finished() {
                thread::yield_now();
            }
        }
        let_sleep();
        let per_task = (switches("waiter-") - before) / TASKS;
        for (own, thread) in waiters {
            own.next();
            thread.join().unwrap();
        }
        assert!(per_task <= SWITCHES_A_TASK, "{per_task} switches a task");
    });
}

/// Two threads wait beside a pool without workers. A publish of a task notifies the first, whose own future is woken,
/// too. That future ends with `acts`, which receives a message when the task has run. The second thread runs the task.
fn the_second_runs_it(acts: impl FnOnce(Receiver<()>) + Send + 'static) {
    let executor = Builder::new().workers(0).build();
    let (first_waits, wake_first) = signal();
    let (second_waits, wake_second) = signal();
    let (tell, has_run) = channel();
    let first = thread::spawn(move || {
        block_on(async move {
            first_waits.await;
            acts(has_run);
        });
    });
    let_sleep();
    let second = thread::spawn(move || block_on(second_waits));
    let_sleep();
    let (ran, runs) = channel();
    wake_first.set();
    executor
        .spawn(async move {
            ran.send(()).unwrap();
            // If the first thread panicked, it has ended.
            let _unheard = tell.send(());
        })
        .detach();
    runs.recv().unwrap();
    wake_second.set();
    second.join().unwrap();
    // In one of the tests it panics.
    let _ended = first.join();
}

#[test]
fn a_notified_thread_whose_future_panics_passes_the_notification_on() {
    alone(|| {
        for _ in 0..20 {
            the_second_runs_it(|_| panic!("on purpose"));
        }
    });
}

#[test]
fn a_notified_thread_whose_future_blocks_passes_the_notification_on() {
    alone(|| {
        for _ in 0..20 {
            the_second_runs_it(|has_run| has_run.recv().unwrap());
        }
    });
}

/// It waits up to a point in time, and so runs nothing while there are workers.
#[test]
fn a_wait_for_the_end_of_all_tasks_drives_a_pool_that_has_lost_its_workers() {
    let ends: [fn(&Executor<'static>); 2] = [
        |executor| executor.set_workers(0).unwrap(),
        |executor| executor.shutdown(Shutdown::RunQueued, None).unwrap(),
    ];
    for end in ends {
        alone(move || {
            let executor = Builder::new().workers(1).build();
            let (future, wake) = signal();
            executor.spawn(future).detach();
            thread::scope(|threads| {
                let waits = threads.spawn(|| executor.wait_idle(Some(Duration::from_secs(3600))));
                let_sleep();
                end(&executor);
                while executor.threads() > 0 {
                    thread::yield_now();
                }
                let_sleep();
                wake.set();
                assert_eq!(waits.join().unwrap(), Ok(()));
            });
        });
    }
}

/// Its wait in the middle of a task adopts none of its own pool, which has lost its workers by then. A spare comes.
#[test]
fn a_worker_that_is_to_end_does_not_drive_its_own_pool() {
    alone(|| {
        let executor = Builder::new().workers(1).build();
        let ((begins, begun), (go_on, goes_on)) = (channel(), channel());
        let (sender, threads) = channel();
        let (future, wake) = signal();
        executor
            .spawn(async move {
                begins.send(thread::current().id()).unwrap();
                goes_on.recv().unwrap();
                block_on(future);
            })
            .detach();
        let worker = begun.recv().unwrap();
        executor.set_workers(0).unwrap();
        executor
            .spawn(async move {
                sender.send(thread::current().id()).unwrap();
                wake.set();
            })
            .detach();
        go_on.send(()).unwrap();
        assert_ne!(threads.recv().unwrap(), worker);
    });
}

/// A thread has begun its wait before they came.
#[test]
fn tasks_of_a_pool_that_has_got_workers_are_theirs() {
    for in_scope in [false, true] {
        alone(move || {
            let executor = Arc::new(Builder::new().workers(0).build());
            let (inner, here) = (Arc::clone(&executor), thread::current().id());
            let (sender, threads) = channel();
            let waits = async move {
                inner.set_workers(1).unwrap();
                let ((begins, begun), (release, released)) = (channel(), channel());
                let blocks = async move {
                    begins.send(()).unwrap();
                    released.recv().unwrap();
                };
                inner.spawn(blocks).detach();
                begun.recv().unwrap();
                let (future, wake) = signal();
                let theirs = async move {
                    sender.send(thread::current().id()).unwrap();
                    wake.set();
                };
                inner.spawn(theirs).detach();
                thread::spawn(move || {
                    let_sleep();
                    release.send(()).unwrap();
                });
                future.await;
            };
            if in_scope {
                let scope = OpenScope::open(&executor, ScopeKind::of::<()>());
                // SAFETY: the scope is waited for, and the child borrows nothing.
                unsafe { scope.handle().spawn(waits) };
                assert!(scope.wait(&[]).is_none());
            } else {
                block_on(executor.spawn(waits));
            }
            assert_ne!(threads.recv().unwrap(), here);
        });
    }
}
