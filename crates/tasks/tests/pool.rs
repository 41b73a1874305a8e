//! The life of a pool: its threads, its tasks, its end.
#![cfg(feature = "multi_threaded")]

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::thread;

use terrace_tasks::{TaskPool, TaskPoolBuilder, ThreadSpawner, block_on};
use terrace_testing::{on_own_thread, signal, sole, text, text_of, watchdog};

#[test]
fn eager_tasks_are_polled_where_they_are_spawned() {
    on_own_thread(|| {
        for threads in [0, 1, 2] {
            let pool = TaskPoolBuilder::new().num_threads(threads).build();
            let here = thread::current().id();
            let mut task = pool.spawn_eager(async { thread::current().id() });
            assert_eq!(task.try_take(), Some(here));
            let (sender, receiver) = async_channel();
            let task = pool.spawn_eager(receiver);
            assert!(!task.is_finished());
            sender.send("later").expect("it waits");
            assert_eq!(block_on(task), "later");
            let task = pool.spawn_eager(async { panic!("first poll") });
            assert!(task.is_finished());
            assert_eq!(text_of(|| block_on::<()>(task)), "first poll");
        }
    });
}

/// A channel for one value.
fn async_channel<T: Send + 'static>() -> (mpsc::Sender<T>, impl Future<Output = T> + Send) {
    let (sender, receiver) = mpsc::channel();
    let receive = std::future::poll_fn(move |context| match receiver.try_recv() {
        Ok(value) => std::task::Poll::Ready(value),
        Err(_) => {
            context.waker().wake_by_ref();
            std::task::Poll::Pending
        }
    });
    (sender, receive)
}

#[test]
fn callbacks_run_once_on_each_thread_even_if_the_pool_goes_at_once() {
    on_own_thread(|| {
        for threads in [0, 1, 3, 10] {
            let started = Arc::new(AtomicUsize::new(0));
            let ended = Arc::new(AtomicUsize::new(0));
            let (start, end) = (Arc::clone(&started), Arc::clone(&ended));
            let pool = TaskPoolBuilder::new()
                .num_threads(threads)
                .on_thread_spawn(move || {
                    start.fetch_add(1, SeqCst);
                })
                .on_thread_destroy(move || {
                    end.fetch_add(1, SeqCst);
                })
                .build();
            assert_eq!(pool.thread_num(), threads);
            drop(pool);
            assert_eq!(
                (started.load(SeqCst), ended.load(SeqCst)),
                (threads, threads)
            );
        }
    });
}

#[test]
fn threads_are_named_by_their_index() {
    on_own_thread(|| {
        for name in [Some("Physics"), None] {
            let names = Arc::new(std::sync::Mutex::new(BTreeSet::new()));
            let seen = Arc::clone(&names);
            let mut builder = TaskPoolBuilder::new()
                .num_threads(2)
                .on_thread_spawn(move || {
                    let name = thread::current().name().unwrap().to_owned();
                    seen.lock().unwrap().insert(name);
                });
            if let Some(name) = name {
                builder = builder.thread_name(name.to_owned());
            }
            drop(builder.build());
            let name = name.unwrap_or("TaskPool");
            let expected = BTreeSet::from([format!("{name} (0)"), format!("{name} (1)")]);
            assert_eq!(*names.lock().unwrap(), expected);
        }
    });
}

#[test]
fn a_new_pool_has_a_thread_for_each_core() {
    let _watchdog = watchdog();
    assert_eq!(
        TaskPool::new().thread_num(),
        terrace_tasks::available_parallelism()
    );
}

#[test]
fn a_thread_that_cannot_be_spawned_is_reported_with_what_to_do() {
    on_own_thread(|| {
        let builder = || {
            TaskPoolBuilder::new()
                .num_threads(2)
                .stack_size(usize::MAX / 4)
                .thread_name("Huge".into())
        };
        assert!(builder().try_build().is_err());
        let panic = text_of(|| builder().build());
        for part in [
            "\"Huge\"",
            "cannot be spawned",
            "num_threads",
            "stack_size",
            "try_build",
        ] {
            assert!(panic.contains(part), "{part} in {panic}");
        }
    });
}

#[test]
fn tasks_run_are_cancelled_and_detached() {
    on_own_thread(|| {
        let pool = TaskPoolBuilder::new().num_threads(2).build();
        assert_eq!(block_on(pool.spawn(async { 5 })), 5);
        let (sender, receiver) = mpsc::channel();
        pool.spawn(async move { sender.send(6).unwrap() }).detach();
        assert_eq!(receiver.recv(), Ok(6));
        let endless = pool.spawn(std::future::pending::<()>());
        assert!(!endless.is_finished());
        assert_eq!(block_on(endless.cancel()), None);
        let fallible = pool.spawn(async { 7 }).fallible();
        assert_eq!(block_on(fallible), Some(7));
    });
}

#[test]
fn a_panic_reaches_the_handle_and_the_threads_go_on() {
    on_own_thread(|| {
        let pool = TaskPoolBuilder::new().num_threads(1).build();
        for _ in 0..5 {
            pool.spawn(async { panic!("detached") }).detach();
            let task = pool.spawn(async { panic!("awaited") });
            let panic = catch_unwind(AssertUnwindSafe(|| block_on(task))).unwrap_err();
            assert_eq!(text(&*panic), "awaited");
        }
        assert_eq!(block_on(pool.spawn(async { 8 })), 8);
    });
}

#[test]
fn dropping_a_pool_cancels_what_is_not_finished() {
    on_own_thread(|| {
        let live = Arc::new(());
        let pool = TaskPoolBuilder::new().num_threads(2).build();
        for _ in 0..50 {
            let live = Arc::clone(&live);
            pool.spawn(async move {
                std::future::pending::<()>().await;
                drop(live);
            })
            .detach();
        }
        drop(pool);
        assert_eq!(Arc::strong_count(&live), 1);
    });
}

#[test]
fn a_pool_dropped_by_its_own_task_does_not_wait_for_itself() {
    on_own_thread(|| {
        let pool = Arc::new(TaskPoolBuilder::new().num_threads(2).build());
        let (sender, receiver) = mpsc::channel();
        let owned = Arc::clone(&pool);
        let (go, wait) = mpsc::channel::<()>();
        pool.spawn(async move {
            wait.recv().unwrap();
            drop(owned);
            sender.send(()).unwrap();
        })
        .detach();
        drop(pool);
        go.send(()).unwrap();
        receiver
            .recv()
            .expect("the task went on after dropping its pool");
    });
}

#[test]
fn local_tasks_stay_on_their_thread_and_run_when_it_waits() {
    on_own_thread(|| {
        for threads in [0, 2] {
            let pool = TaskPoolBuilder::new().num_threads(threads).build();
            let here = thread::current().id();
            let owned = Rc::new(1);
            let first = pool.spawn_local(async move { (*owned, thread::current().id()) });
            assert!(!first.is_finished());
            assert!(pool.with_local_executor(|executor| executor.try_tick()));
            assert!(first.is_finished());
            assert_eq!(block_on(first), (1, here));
            assert_eq!(block_on(pool.spawn_local(async { 2 })), 2);
            let inner = pool.with_local_executor(|executor| executor.spawn(async { 3 }));
            assert_eq!(block_on(inner), 3);
        }
    });
}

#[test]
fn local_tasks_of_a_pool_thread_run_between_its_others() {
    on_own_thread(|| {
        let pool = Arc::new(TaskPoolBuilder::new().num_threads(1).build());
        let own = Arc::clone(&pool);
        let (sender, receiver) = mpsc::channel();
        pool.spawn(async move {
            let spawner = thread::current().id();
            own.spawn_local(async move { sender.send((spawner, thread::current().id())).unwrap() })
                .detach();
        })
        .detach();
        let (spawner, runner) = receiver.recv().expect("a detached local task runs");
        assert_eq!(spawner, runner);
    });
}

/// The pool's only thread waits for a task that a further one has to run.
#[test]
fn further_threads_call_the_callbacks_too() {
    on_own_thread(|| {
        let (started, starts) = mpsc::channel();
        let (ended, ends) = mpsc::channel();
        let name = || thread::current().name().map(str::to_owned);
        let pool = TaskPoolBuilder::new()
            .num_threads(1)
            .on_thread_spawn(move || started.send(name()).unwrap())
            .on_thread_destroy(move || ended.send(name()).unwrap())
            .build();
        let pool = Arc::new(pool);
        let own = Arc::clone(&pool);
        let outer = pool.spawn(async move {
            let (is_sent, sent) = signal();
            own.spawn(async move { sent.set() }).detach();
            block_on(is_sent);
        });
        block_on(outer);
        assert_eq!(pool.thread_num(), 1);
        drop(sole(pool));
        let [started, ended] = [starts, ends].map(|names| {
            let names = names.try_iter().map(Option::unwrap);
            names.collect::<BTreeSet<_>>()
        });
        assert!(started.contains("TaskPool (0)") && started.contains("TaskPool (1)"));
        assert_eq!(started, ended);
    });
}

/// The pool's only thread waits in a scope, so a further one polls the task that spawns the local one.
#[test]
fn a_local_task_outlasts_the_scope_that_its_thread_was_started_for() {
    on_own_thread(|| {
        let pool = Arc::new(TaskPoolBuilder::new().num_threads(1).build());
        let (is_sent, sent) = signal();
        let (sender, receiver) = mpsc::channel();
        let own = Arc::clone(&pool);
        let outer = pool.spawn(async move {
            let mut locals = own.scope(|scope| {
                scope.spawn(async move {
                    is_sent.await;
                    receiver.recv().ok()
                });
            });
            locals.pop().flatten()
        });
        let (gone, go) = signal();
        let own = Arc::clone(&pool);
        let spawns = pool.spawn(async move {
            let local = own.spawn_local(async move {
                gone.await;
                7
            });
            sender.send(local).unwrap();
            sent.set();
        });
        let local = block_on(outer).expect("is sent");
        block_on(spawns);
        // The further thread has ended, or it sleeps.
        let rests = || {
            let metrics = pool.metrics();
            metrics.num_spares() == 0 || metrics.workers()[1].park_count() > 0
        };
        while !rests() {
            thread::yield_now();
        }
        go.set();
        assert_eq!(block_on(local), 7);
    });
}

#[test]
fn a_thread_spawner_reaches_its_thread_from_anywhere() {
    on_own_thread(|| {
        let pool = TaskPoolBuilder::new().num_threads(1).build();
        let spawner: ThreadSpawner = block_on(pool.spawn(async { ThreadSpawner::current() }));
        let there = block_on(pool.spawn(async { thread::current().id() }));
        assert_ne!(there, thread::current().id());
        assert_eq!(
            block_on(spawner.spawn(async { thread::current().id() })),
            there
        );
        let not_send = spawner.spawn_with(|| {
            let local = Rc::new(thread::current().id());
            async move { *local }
        });
        assert_eq!(block_on(not_send), there);
    });
}
