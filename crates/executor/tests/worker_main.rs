//! `Builder::worker_main`: a function of the program blocks on the worker's loop.
// ThreadSanitizer sees nothing of the system calls that reactors make.
#![cfg(not(any(terrace_shuttle, terrace_tsan, miri)))]

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use terrace_executor::{Builder, Executor, Shutdown, block_on};
use terrace_testing::{Random, completed_elsewhere, watchdog};

/// Unparks a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// A reactor that waits for nothing but wakers.
fn park_on(worker: impl Future<Output = ()>) {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut worker = pin!(worker);
    while worker.as_mut().poll(&mut context).is_pending() {
        thread::park();
    }
}

/// Yields once.
async fn yield_now() {
    let mut yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// The same pool with each kind of reactor.
fn each_reactor(test: impl Fn(Builder)) {
    let builder = || Builder::new().workers(2);
    test(builder().worker_main(|worker| park_on(worker)));
    test(builder().worker_main(|worker| async_io::block_on(worker)));
    test(builder().worker_main(|worker| block_on(worker)));
    test(builder().worker_main(|worker| block_on(beside_another(worker))));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    test(builder().worker_main(move |worker| runtime.block_on(worker)));
    // One reactor a thread.
    test(builder().worker_main(|worker| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(worker);
    }));
}

/// The loop of a worker, with a waker of its own that wakes the outer one, as in the combinators of `futures`. It is polled only if its
/// own waker was called.
async fn beside_another(worker: impl Future<Output = ()>) {
    struct Inner(AtomicBool, Mutex<Option<Waker>>);
    impl Wake for Inner {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Release);
            // Not under the lock: the outer waker may wake the worker, and so call this one.
            let outer = self.1.lock().unwrap().take();
            if let Some(outer) = outer {
                outer.wake();
            }
        }
    }
    let inner = Arc::new(Inner(AtomicBool::new(true), Mutex::new(None)));
    let mut worker = pin!(worker);
    poll_fn(|outer| {
        *inner.1.lock().unwrap() = Some(outer.waker().clone());
        if !inner.0.swap(false, Ordering::AcqRel) {
            return Poll::Pending;
        }
        let waker = Waker::from(Arc::clone(&inner));
        worker.as_mut().poll(&mut Context::from_waker(&waker))
    })
    .await;
}

/// Payloads as text.
fn collect(builder: Builder) -> (Builder, Arc<Mutex<Vec<String>>>) {
    let said = Arc::new(Mutex::new(Vec::new()));
    let theirs = said.clone();
    let builder = builder.panic_handler(move |payload| {
        let text = payload.downcast_ref::<String>().cloned().or_else(|| {
            payload
                .downcast_ref::<&str>()
                .map(|text| (*text).to_owned())
        });
        theirs.lock().unwrap().push(text.unwrap_or_default());
    });
    (builder, said)
}

#[test]
fn tasks_run_wait_and_nest() {
    let _watchdog = watchdog();
    each_reactor(|builder| {
        let executor = Arc::new(builder.build());
        let tasks: Vec<_> = (0..100)
            .map(|i| {
                executor.spawn(async move {
                    yield_now().await;
                    completed_elsewhere().await;
                    i
                })
            })
            .collect();
        for (i, task) in tasks.into_iter().enumerate() {
            assert_eq!(block_on(task), i);
        }
        assert_eq!(executor.join(|_| 1, |_| 2), (1, 2));
        let pinned = executor.spawn(async {
            let here = thread::current().id();
            let task = terrace_thread::spawn_local(async move {
                completed_elsewhere().await;
                thread::current().id()
            });
            (here, task.await)
        });
        let (here, there) = block_on(pinned);
        assert_eq!(here, there);
        let (here, there) = block_on(executor.spawn(async {
            let here = thread::current().id();
            (
                here,
                block_on(terrace_thread::spawn_local(async {
                    thread::current().id()
                })),
            )
        }));
        assert_eq!(here, there);
        // Both workers wait in a task: a spare runs what they wait for, also in the reactor.
        let waits: Vec<_> = (0..4)
            .map(|i| {
                let inner = executor.clone();
                executor.spawn(async move { block_on(inner.spawn(async move { i })) })
            })
            .collect();
        for (i, task) in waits.into_iter().enumerate() {
            assert_eq!(block_on(task), i);
        }
        executor.wait_idle(None).unwrap();
        assert_eq!(executor.metrics().num_alive_tasks(), 0);
        executor.shutdown(Shutdown::FinishAll, None).unwrap();
        assert_eq!(executor.threads(), 0);
    });
}

#[test]
fn resizes_and_ends() {
    let _watchdog = watchdog();
    each_reactor(|builder| {
        let hooks = Arc::new(AtomicUsize::new(0));
        let (starts, stops) = (hooks.clone(), hooks.clone());
        let executor = builder
            .on_thread_start(move || {
                starts.fetch_add(1, Ordering::Relaxed);
            })
            .on_thread_stop(move || {
                stops.fetch_sub(1, Ordering::Relaxed);
            })
            .build();
        for workers in [1, 3, 0, 2] {
            executor.set_workers(workers).unwrap();
            assert_eq!(block_on(executor.spawn(async { 1 })), 1);
        }
        for how in [
            Shutdown::FinishAll,
            Shutdown::RunQueued,
            Shutdown::DropQueued,
        ] {
            executor.spawn(async { yield_now().await }).detach();
            executor.shutdown(how, None).unwrap();
            assert_eq!(executor.threads(), 0);
            executor.set_workers(2).unwrap();
        }
        drop(executor);
        assert_eq!(hooks.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn a_worker_waits_in_the_reactor() {
    let _watchdog = watchdog();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let executor = Builder::new()
        .workers(2)
        .worker_main(move |worker| runtime.block_on(worker))
        .build();
    // No other thread drives this runtime.
    let naps: Vec<_> = (0..8)
        .map(|_| executor.spawn(async { tokio::time::sleep(Duration::from_millis(1)).await }))
        .collect();
    for nap in naps {
        block_on(nap);
    }
}

/// The executor's own `block_on` polls the loop: its sleep ends with the worker, and for everything that the worker runs.
#[test]
fn the_own_block_on_is_a_reactor() {
    let _watchdog = watchdog();
    for end in 0..4 {
        let executor = Builder::new()
            .workers(1)
            .worker_main(|worker| block_on(worker))
            .build();
        for i in 0..20 {
            let task =
                executor.spawn(async move { (thread::current().name().map(String::from), i) });
            // The worker sleeps in between, most likely.
            thread::sleep(Duration::from_micros(300));
            assert_eq!(block_on(task), (Some(String::from("terrace-0")), i));
        }
        // A pool without workers that this thread does not drive: the worker does, while it waits.
        let other = Builder::new().workers(0).build();
        let task = other.spawn(async { 5 });
        while !task.is_finished() {
            thread::yield_now();
        }
        match end {
            0 => drop(executor),
            1 => executor.shutdown(Shutdown::FinishAll, None).unwrap(),
            2 => executor.shutdown(Shutdown::DropQueued, None).unwrap(),
            _ => {
                executor.set_workers(0).unwrap();
                while executor.threads() > 0 {
                    thread::yield_now();
                }
            }
        }
    }
}

/// A worker that watched a busy one would come back to its loop from time to time, and be deaf to its reactor in between.
#[test]
fn a_worker_stays_in_its_reactor_while_another_is_busy() {
    static POLLS: AtomicUsize = AtomicUsize::new(0);

    let _watchdog = watchdog();
    let executor = Builder::new().workers(2).worker_main(|worker| {
        let mut worker = pin!(worker);
        park_on(poll_fn(|context| {
            POLLS.fetch_add(1, Ordering::Relaxed);
            worker.as_mut().poll(context)
        }));
    });
    let executor = executor.build();
    let busy = executor.spawn(async {
        // The other worker has gone to its reactor by then.
        thread::sleep(Duration::from_millis(20));
        let before = POLLS.load(Ordering::Relaxed);
        thread::sleep(Duration::from_millis(100));
        POLLS.load(Ordering::Relaxed) - before
    });
    // `park` may return without a reason.
    assert!(block_on(busy) <= 2);
}

/// The halves of joins wait for each other, at a call-site that has always been tiny.
#[test]
fn a_worker_leaves_its_reactor_for_a_join_whose_halves_wait() {
    let _watchdog = watchdog();
    each_reactor(|builder| {
        let executor = Arc::new(builder.build());
        let inner = executor.clone();
        block_on(executor.spawn(async move {
            for round in 0..100 {
                let waits = round % 10 == 9;
                if waits {
                    // The other worker has gone to its reactor by then.
                    thread::sleep(Duration::from_millis(5));
                }
                let ran = AtomicUsize::new(0);
                inner.join(
                    |_| ran.store(1, Ordering::Release),
                    |_| {
                        while waits && ran.load(Ordering::Acquire) == 0 {
                            std::hint::spin_loop();
                        }
                    },
                );
            }
        }));
    });
}

#[test]
fn a_function_that_returns_at_once_costs_no_work() {
    let _watchdog = watchdog();
    let (builder, said) = collect(Builder::new().workers(2).worker_main(|worker| drop(worker)));
    let executor = builder.build();
    assert_eq!(block_on(executor.spawn(async { 1 })), 1);
    executor.shutdown(Shutdown::FinishAll, None).unwrap();
    let said = said.lock().unwrap();
    assert_eq!(said.len(), 2);
    assert!(
        said.iter().all(|text| text.contains("worker_main")),
        "{said:?}"
    );
}

#[test]
fn a_function_that_panics_costs_no_work() {
    let _watchdog = watchdog();
    let (builder, said) = collect(Builder::new().workers(2).worker_main(|mut worker| {
        // The first poll parks the worker, or runs a task, or finds that the pool ends.
        let mut context = Context::from_waker(Waker::noop());
        let _ = pin!(&mut worker).poll(&mut context);
        panic!("no reactor");
    }));
    let executor = builder.build();
    for i in 0..100 {
        assert_eq!(block_on(executor.spawn(async move { i })), i);
    }
    executor.shutdown(Shutdown::FinishAll, None).unwrap();
    assert_eq!(*said.lock().unwrap(), ["no reactor", "no reactor"]);
}

#[test]
fn a_future_that_is_dropped_in_its_park_leaves_the_worker_at_work() {
    let _watchdog = watchdog();
    let (builder, said) = collect(Builder::new().workers(1).worker_main(|mut worker| {
        let mut context = Context::from_waker(Waker::noop());
        assert!(pin!(&mut worker).poll(&mut context).is_pending());
        drop(worker);
    }));
    let executor = builder.build();
    for i in 0..100 {
        assert_eq!(block_on(executor.spawn(async move { i })), i);
    }
    drop(executor);
    assert_eq!(said.lock().unwrap().len(), 1);
}

/// The function waits for a task of the pool, between two polls of the future.
#[test]
fn a_function_waits_beside_the_future() {
    let _watchdog = watchdog();
    let executor = Arc::new(Mutex::new(None::<Arc<Executor<'static>>>));
    let found = executor.clone();
    let waited = Arc::new(AtomicUsize::new(0));
    let counts = waited.clone();
    let pool = Builder::new().workers(1).worker_main(move |worker| {
        let mut worker = pin!(worker);
        let beside = poll_fn(|context| {
            let polled = worker.as_mut().poll(context);
            let pool = found.lock().unwrap().take();
            if let Some(pool) = pool {
                // No other worker is there: a spare runs it, or this thread.
                counts.store(block_on(pool.spawn(async { 7 })), Ordering::Relaxed);
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            polled
        });
        async_io::block_on(beside);
    });
    let pool = Arc::new(pool.build());
    *executor.lock().unwrap() = Some(pool.clone());
    while waited.load(Ordering::Relaxed) == 0 {
        block_on(pool.spawn(async {}));
    }
    assert_eq!(waited.load(Ordering::Relaxed), 7);
    assert_eq!(block_on(pool.spawn(async { 8 })), 8);
}

/// Tasks, waits, joins, pinned tasks, timers and resizes at random; every task ends.
#[test]
fn random_programs() {
    let _watchdog = watchdog();
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let builder = Builder::new().workers(1 + random.below(3));
        let builder = match seed % 4 {
            0 => builder.worker_main(|worker| park_on(worker)),
            1 => builder.worker_main(|worker| block_on(worker)),
            2 => builder.worker_main(|worker| block_on(beside_another(worker))),
            _ => builder.worker_main(|worker| async_io::block_on(worker)),
        };
        let executor = Arc::new(builder.build());
        let ended = Arc::new(AtomicUsize::new(0));
        let mut spawned = 0;
        for _ in 0..200 {
            let (inner, ended) = (executor.clone(), ended.clone());
            let act = random.below(8);
            if act == 7 {
                executor.set_workers(random.below(4)).unwrap();
                continue;
            }
            spawned += 1;
            let task = executor.spawn(async move {
                match act {
                    0 => yield_now().await,
                    1 => completed_elsewhere().await,
                    2 => block_on(inner.spawn(async { yield_now().await })),
                    3 => drop(inner.join(|_| 1, |_| 2)),
                    4 => {
                        async_io::Timer::after(Duration::from_micros(50)).await;
                    }
                    5 => block_on(terrace_thread::spawn_local(yield_now())),
                    _ => inner.spawn(async { completed_elsewhere().await }).await,
                }
                ended.fetch_add(1, Ordering::Relaxed);
            });
            task.detach();
        }
        executor.wait_idle(None).unwrap();
        assert_eq!(ended.load(Ordering::Relaxed), spawned, "seed {seed}");
    }
}
