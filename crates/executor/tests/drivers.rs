//! Async drivers: `run`, `tick` and `try_tick`, nested, dropped, forgotten and never polled again.

use std::cell::Cell;
use std::future::{Future, pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;

use terrace_executor::{Builder, Executor, StaticExecutor, block_on, current};
use terrace_testing::{Wakes, Yields, on_own_thread, poll_once, signal, watchdog};

/// A driver that was notified and is dropped passes the notification on.
#[test]
fn a_notification_is_passed_on_by_a_dropped_driver() {
    let _watchdog = watchdog();
    for dropped_is_tick in [true, false] {
        let executor = Executor::new();
        let [first, second] = [(); 2].map(|()| Wakes::new());
        let mut one: Pin<Box<dyn Future<Output = ()> + '_>> = if dropped_is_tick {
            Box::pin(executor.tick())
        } else {
            Box::pin(executor.run(pending::<()>()))
        };
        let mut two = Box::pin(executor.run(pending::<()>()));
        for (driver, wakes) in [(two.as_mut() as _, &second), (one.as_mut(), &first)] {
            assert!(wakes.poll(driver).is_pending());
        }
        let task = executor.spawn(async {});
        let wakes = || [&first, &second].map(|wakes| wakes.count());
        assert_eq!(wakes(), [1, 0], "the one that slept last is notified");
        drop(one);
        assert_eq!(wakes(), [1, 1]);
        assert!(poll_once(two.as_mut()).is_pending());
        assert!(task.is_finished());
    }
}

/// A driver that was notified and is never polled costs one notification: the next publish reaches another.
#[test]
fn a_driver_that_is_not_polled_delays_until_the_next_publish() {
    let _watchdog = watchdog();
    let executor = Executor::new();
    let wakes = Wakes::new();
    let mut polled = Box::pin(executor.run(pending::<()>()));
    assert!(wakes.poll(polled.as_mut()).is_pending());
    let mut stalled = Box::pin(executor.run(pending::<()>()));
    assert!(poll_once(stalled.as_mut()).is_pending());
    let first = executor.spawn(async {});
    assert_eq!(wakes.count(), 0);
    let second = executor.spawn(async {});
    assert_eq!(wakes.count(), 1);
    assert!(poll_once(polled.as_mut()).is_pending());
    assert!(first.is_finished() && second.is_finished());
}

/// A thread that waits in a `run` may be inside of a future beside another `run` that sleeps. The wake goes to the inner one: the outer one
/// cannot be polled before it ends.
#[test]
fn a_wake_reaches_the_innermost_run_of_a_thread() {
    let _watchdog = watchdog();
    let executor = Executor::new();
    let (set, signal) = signal();
    let task = executor.spawn(set);
    let [outer_wakes, inner_wakes] = [(); 2].map(|()| Wakes::new());
    let mut outer = pin!(executor.run(pending::<()>()));
    // It runs the task up to its wait, and sleeps.
    assert!(outer_wakes.poll(outer.as_mut()).is_pending());
    let mut inner = pin!(executor.run(task));
    assert!(inner_wakes.poll(inner.as_mut()).is_pending());
    signal.set();
    assert_eq!((outer_wakes.count(), inner_wakes.count()), (0, 1));
    assert!(inner_wakes.poll(inner.as_mut()).is_ready());
}

/// A future that queues a task in each of its polls, and waits for something else, lets its thread sleep.
#[test]
fn a_future_that_spawns_in_each_poll_is_not_polled_without_end() {
    let _watchdog = watchdog();
    let executor = Executor::new();
    let polls = Cell::new(0);
    let mut run = pin!(executor.run(poll_fn(|_| {
        polls.set(polls.get() + 1);
        executor.spawn(async {}).detach();
        Poll::<()>::Pending
    })));
    let wakes = Wakes::new();
    assert!(wakes.poll(run.as_mut()).is_pending());
    assert!(executor.is_empty());
    assert!(polls.get() < 100, "{} polls", polls.get());
    assert_eq!(wakes.count(), 0);
}

/// What a `run` adds to the size of its future is a pinned copy of it, and little else.
#[test]
fn a_run_holds_its_future_twice_at_most() {
    let executor = Executor::new();
    let future = async {
        let large = [0_u8; 10_000];
        pending::<()>().await;
        std::hint::black_box(&large);
    };
    let size = size_of_val(&future);
    assert!(size_of_val(&executor.run(future)) < size * 5 / 2);
}

/// Of many sleeping `run`s, the one that fell asleep last is woken, also after later ones have gone.
#[test]
fn a_wake_reaches_the_innermost_of_many_runs() {
    let _watchdog = watchdog();
    let executor = Executor::new();
    let sleeping = || {
        let (mut run, wakes) = (Box::pin(executor.run(pending::<()>())), Wakes::new());
        assert!(wakes.poll(run.as_mut()).is_pending());
        (run, wakes)
    };
    let mut runs: Vec<_> = (0..40).map(|_| sleeping()).collect();
    while let Some((mut run, wakes)) = runs.pop() {
        let task = executor.spawn(async {});
        assert_eq!(wakes.count(), 1, "{} others sleep", runs.len());
        assert!(wakes.poll(run.as_mut()).is_pending());
        assert!(task.is_finished());
    }
}

/// A task that keeps waking itself lies in the queue of a `run`, inside of which the thread ticks. The ticks run what other threads spawn, too.
#[test]
fn ticks_inside_of_a_run_starve_no_task_from_outside() {
    let _watchdog = watchdog();
    let done = AtomicBool::new(false);
    let executor = Executor::new();
    let ticks = |once: bool| {
        let (executor, done) = (&executor, &done);
        async move {
            let spinner = executor.spawn(poll_fn(|context| {
                context.waker().wake_by_ref();
                Poll::<()>::Pending
            }));
            thread::scope(|threads| {
                let spawn = || executor.spawn(async { done.store(true, Ordering::Release) });
                threads.spawn(move || spawn().detach());
            });
            while !done.swap(false, Ordering::Acquire) {
                if once {
                    executor.try_tick();
                } else {
                    executor.tick().await;
                }
            }
            drop(spinner);
        }
    };
    block_on(executor.run(ticks(true)));
    block_on(executor.run(ticks(false)));
}

/// A task that keeps waking itself lies in the queue of the first `run`, inside of which the thread ticks. The ticks run what lies in the queue of
/// another `run`, too, whose thread waits for it.
#[test]
fn ticks_inside_of_a_run_starve_no_task_of_another_run() {
    let _watchdog = watchdog();
    let done = AtomicBool::new(false);
    let executor = Executor::new();
    let (spins, spinning) = channel();
    thread::scope(|threads| {
        let (executor, done) = (&executor, &done);
        threads.spawn(move || {
            block_on(executor.run(async {
                let _spinner = executor.spawn(poll_fn(|context| {
                    context.waker().wake_by_ref();
                    Poll::<()>::Pending
                }));
                spins.send(()).expect("it is waited for");
                while !done.load(Ordering::Relaxed) {
                    executor.try_tick();
                }
            }));
        });
        threads.spawn(move || {
            spinning.recv().expect("it begins");
            block_on(executor.run(async {
                let (ran, wait) = channel();
                let own = async move { ran.send(()).expect("it is waited for") };
                executor.spawn(own).detach();
                wait.recv().expect("the other thread runs the task");
                done.store(true, Ordering::Relaxed);
            }));
        });
    });
}

/// Sixteen futures sleep in `run`, and no thread polls them while 199 tasks come. Publishers wake few of them: one with
/// every doubling of the waiting tasks, and one for each 64. The first of those that is polled runs all tasks.
#[test]
fn a_burst_calls_few_drivers() {
    let _watchdog = watchdog();
    let executor = Executor::new();
    let wakes = Wakes::new();
    let waker = wakes.waker();
    let mut runs: Vec<_> = (0..16)
        .map(|_| Box::pin(executor.run(pending::<()>())))
        .collect();
    let mut context = Context::from_waker(&waker);
    for run in &mut runs {
        assert!(run.as_mut().poll(&mut context).is_pending());
    }
    let woken_after: Vec<_> = (0..199)
        .map(|_| {
            executor.spawn(async {}).detach();
            wakes.count()
        })
        .collect();
    let doublings = |tasks: usize| tasks.min(64).ilog2() as usize + 1;
    let called = |tasks: usize| doublings(tasks) + (tasks / 64).saturating_sub(1);
    assert_eq!(woken_after, (1..=199).map(called).collect::<Vec<_>>());
    assert!(runs[15].as_mut().poll(&mut context).is_pending());
    assert!(executor.is_empty());
    // It has served all notifications: the next task notifies a driver again.
    let before = wakes.count();
    executor.spawn(async {}).detach();
    assert_eq!(wakes.count(), before + 1);
}

/// The only worker blocks, with a task in its slot and one in its ring. Publishers notify two drivers for them, and the
/// test polls one of the two. It takes the task in the ring, which blocks as well, but first notifies a third driver
/// for the slot.
#[test]
fn a_driver_hands_on_what_is_in_a_slot() {
    on_own_thread(|| {
        let executor: &StaticExecutor = Builder::new().workers(1).try_build_static().unwrap();
        let (ready, wake) = signal();
        let woken = executor.spawn(ready);
        // Afterwards the worker is at rest, and it has polled the other task before.
        block_on(executor.spawn(async {}));
        let wakes = [(); 3].map(|()| Wakes::new());
        let [mut second, _unpolled, mut first] = wakes.each_ref().map(|wakes| {
            let mut run = Box::pin(executor.run(pending::<()>()));
            assert!(wakes.poll(run.as_mut()).is_pending());
            run
        });
        let called = || wakes.each_ref().map(|wakes| wakes.count());

        let [(started, both_queued), (blocks, blocked)] = [(); 2].map(|()| channel());
        let [
            (release_worker, worker_waits),
            (release_driver, driver_waits),
        ] = [(); 2].map(|()| channel::<()>());
        executor
            .spawn(async move {
                wake.set();
                let in_ring = async move {
                    blocks.send(()).expect("it is waited for");
                    driver_waits.recv().expect("it is released");
                };
                executor.spawn(in_ring).detach();
                started.send(()).expect("it is waited for");
                worker_waits.recv().expect("it is released");
            })
            .detach();
        both_queued.recv().unwrap();
        assert_eq!(called(), [0, 1, 1]);
        thread::scope(|threads| {
            threads.spawn(|| assert!(poll_once(first.as_mut()).is_pending()));
            blocked.recv().unwrap();
            assert_eq!(called(), [1, 1, 1]);
            assert!(poll_once(second.as_mut()).is_pending());
            assert!(woken.is_finished());
            release_driver.send(()).unwrap();
            release_worker.send(()).unwrap();
        });
        executor.set_workers(0).unwrap();
    });
}

/// Workers come first: a publisher notifies a driver only if no worker is asleep.
#[test]
fn workers_are_preferred_to_drivers() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(1).build();
    let mut run = Box::pin(executor.run(pending::<()>()));
    let wakes = Wakes::new();
    assert!(wakes.poll(run.as_mut()).is_pending());
    let (release, blocked) = channel::<()>();
    let (started, wait) = channel();
    executor
        .spawn(async move {
            started.send(()).unwrap();
            blocked.recv().unwrap();
        })
        .detach();
    wait.recv().unwrap();
    let before = wakes.count();
    let task = executor.spawn(async { current().unwrap().is_driver() });
    // The only worker is busy, so the publisher notified the driver, now or when the worker stopped searching.
    assert!(wakes.count() + before > 0);
    assert!(poll_once(run.as_mut()).is_pending());
    assert!(task.is_finished());
    assert!(block_on(task));
    release.send(()).unwrap();
}

/// Forty threads that drive one executor, by `run` and by `tick`, and spawn into it.
#[test]
fn many_threads_drive_one_executor() {
    on_own_thread(|| {
        let executor = Arc::new(Executor::new());
        let (stop, _) = async_stop();
        thread::scope(|s| {
            for thread in 0..40 {
                let (executor, stop) = (&executor, stop.clone());
                s.spawn(move || match thread % 2 {
                    0 => block_on(executor.run(stop.wait())),
                    _ => {
                        let mut stopped = pin!(stop.wait());
                        block_on(poll_fn(|context| {
                            loop {
                                if stopped.as_mut().poll(context).is_ready() {
                                    return Poll::Ready(());
                                }
                                let tick = pin!(executor.tick());
                                if tick.poll(context).is_pending() {
                                    // A tick that is dropped while it waits: the next poll makes another.
                                    let mut tick = Box::pin(executor.tick());
                                    if tick.as_mut().poll(context).is_pending() {
                                        drop(tick);
                                        context.waker().wake_by_ref();
                                        thread::yield_now();
                                        return Poll::Pending;
                                    }
                                }
                            }
                        }));
                    }
                });
            }
            for round in 0..200 {
                let tasks: Vec<_> = (0..round % 20)
                    .map(|i| {
                        let inner = Arc::clone(&executor);
                        executor.spawn(async move {
                            inner.spawn(Yields(i % 4)).await;
                            i
                        })
                    })
                    .collect();
                for (i, task) in tasks.into_iter().enumerate() {
                    assert_eq!(block_on(task), i as u32);
                }
            }
            assert!(executor.is_empty());
            stop.stop();
        });
    });
}

/// A flag that futures wait for.
#[derive(Clone, Default)]
struct Stop(Arc<Mutex<(bool, Vec<Waker>)>>);
fn async_stop() -> (Stop, ()) {
    (Stop::default(), ())
}
impl Stop {
    fn stop(&self) {
        let wakers = {
            let mut state = self.0.lock().unwrap();
            state.0 = true;
            std::mem::take(&mut state.1)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    async fn wait(self) {
        poll_fn(|context| {
            let mut state = self.0.lock().unwrap();
            if state.0 {
                return Poll::Ready(());
            }
            state.1.push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

#[test]
fn a_static_executor_in_a_static_is_driven() {
    let _watchdog = watchdog();
    static EXECUTOR: StaticExecutor = StaticExecutor::new();
    let (send, receive): (_, Receiver<_>) = channel();
    EXECUTOR
        .spawn(async move { send.send(1).unwrap() })
        .detach();
    assert!(!EXECUTOR.is_empty());
    assert!(EXECUTOR.try_tick());
    assert!(EXECUTOR.is_empty());
    assert_eq!(receive.recv(), Ok(1));
    let mut word = String::new();
    // SAFETY: the task is awaited before `word` ends.
    let task = unsafe { EXECUTOR.spawn_scoped(async { word.push('x') }) };
    block_on(EXECUTOR.run(task));
    assert_eq!(word, "x");
}

/// Tasks that were active when their executor was leaked go on, and are freed when they end.
#[test]
fn a_leaked_executor_keeps_its_tasks() {
    let _watchdog = watchdog();
    let executor = Executor::new();
    let wakers = Arc::new(Mutex::new(Vec::<Waker>::new()));
    let marker = Arc::new(());
    let task = executor.spawn({
        let (wakers, marker) = (Arc::clone(&wakers), Arc::clone(&marker));
        async move {
            let mut first = true;
            poll_fn(|context| {
                if std::mem::take(&mut first) {
                    wakers.lock().unwrap().push(context.waker().clone());
                    return Poll::Pending;
                }
                Poll::Ready(())
            })
            .await;
            Arc::strong_count(&marker)
        }
    });
    assert!(executor.try_tick());
    let executor = executor.leak();
    assert!(!executor.is_empty());
    wakers.lock().unwrap().drain(..).for_each(Waker::wake);
    assert_eq!(block_on(executor.run(task)), 2);
    assert!(executor.is_empty());
    assert_eq!(Arc::strong_count(&marker), 1);
}

/// `current()` names the innermost executor, and is never stale.
#[test]
fn current_is_right_in_nested_executors() {
    let _watchdog = watchdog();
    assert!(current().is_none());
    let pool = Builder::new().workers(1).build();
    block_on(pool.spawn(async {
        let worker = current().expect("on a worker");
        assert!(!worker.is_driver());
        let inner = Executor::new();
        block_on(inner.run(async {
            let driver = current().expect("in a run");
            assert!(driver.is_driver() && driver.executor() != worker.executor());
            let task = inner.spawn(async { current() });
            assert_eq!(task.await, Some(driver));
        }));
        assert_eq!(current(), Some(worker));
        let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            block_on(inner.run(async { panic!("out of a run") }))
        }));
        assert!(unwound.is_err());
        assert_eq!(current(), Some(worker));
        // A run that is pending has left.
        let mut run = Box::pin(inner.run(pending::<()>()));
        assert!(poll_once(run.as_mut()).is_pending());
        assert_eq!(current(), Some(worker));
    }));
    assert!(current().is_none());
}

/// Off the pool, and in a `run` of another one, `current_or_any` names some worker, always the same one for a thread.
/// In a poll by the pool itself, it is `current`.
#[test]
fn current_or_any_is_current_or_some_worker() {
    let _watchdog = watchdog();
    for workers in [0, 1, 2, 5] {
        let executor = Builder::new().workers(workers).try_build_static().unwrap();
        let outside = executor.current_or_any();
        assert_eq!(outside.is_some(), workers > 0);
        assert_eq!(outside, executor.current_or_any());
        if let Some(outside) = outside {
            assert!(outside.worker() < workers);
            let inside = executor.spawn(async { (current(), executor.current_or_any()) });
            let (here, or_any) = block_on(inside);
            assert_eq!(here.expect("on a worker").executor(), outside.executor());
            assert_eq!(here, or_any);
        }
        let other = Executor::new();
        block_on(other.run(async {
            assert_eq!(executor.current_or_any(), outside);
            assert!(current().is_some());
            assert_eq!(other.current_or_any(), current());
        }));
        assert_eq!(other.current_or_any(), None);
        executor.set_workers(0).unwrap();
    }
}

/// A task that ends wakes the future beside it: the driver polls that future before it would sleep.
#[test]
fn a_run_follows_the_wakes_of_its_tasks_within_one_poll() {
    let _watchdog = watchdog();
    let executor = Executor::new();
    let run = executor.run(async {
        let first = executor.spawn(async { 20 }).await;
        first + executor.spawn(async { 22 }).await
    });
    assert_eq!(poll_once(pin!(run)), Poll::Ready(42));
}
