//! Start hooks, stop hooks and all other code that runs on a worker's thread beside its loop: all of it may wait.

use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

use terrace_executor::scope::{OpenScope, ScopeKind, To};
use terrace_executor::{Builder, Executor, Shutdown, block_on};
use terrace_testing::{completed_elsewhere, in_own_process, on_own_thread, show_static};

/// An executor that its own hooks find.
#[derive(Clone, Default)]
struct Own(Arc<OnceLock<&'static Executor<'static>>>);

impl Own {
    /// Waits until it is there.
    fn get(&self) -> &'static Executor<'static> {
        loop {
            if let Some(executor) = self.0.get() {
                return executor;
            }
            thread::yield_now();
        }
    }

    fn start(&self, builder: Builder) -> &'static Executor<'static> {
        let executor: &Executor<'static> = Box::leak(Box::new(builder.build()));
        assert!(self.0.set(executor).is_ok());
        show_static(executor);
        executor
    }
}

/// What a hook may wait for.
fn wait_in_every_way(own: &'static Executor<'static>) {
    block_on(completed_elsewhere());
    assert_eq!(block_on(own.spawn(async { 1 })), 1);
    assert_eq!(
        block_on(own.spawn(async { block_on(own.spawn(async { 2 })) })),
        2
    );
    block_on(terrace_thread::spawn_local(completed_elsewhere()));
    let scope = OpenScope::open(own, ScopeKind::of::<()>());
    // SAFETY: the child borrows nothing, and `wait` below waits for the scope.
    unsafe { scope.handle().spawn(completed_elsewhere()) };
    // SAFETY: the child borrows nothing, and `wait` below waits for the scope.
    unsafe { scope.handle().send(To::Owner, completed_elsewhere()) };
    assert!(scope.wait(&[]).is_none());
}

#[test]
fn a_start_hook_waits() {
    in_own_process("a_start_hook_waits", || {
        for workers in [1, 2, 5] {
            let hooks = Arc::new(AtomicUsize::new(0));
            let (own, done) = (Own::default(), hooks.clone());
            let theirs = own.clone();
            let executor = own.start(Builder::new().workers(workers).on_thread_start(move || {
                wait_in_every_way(theirs.get());
                done.fetch_add(1, Ordering::Relaxed);
            }));
            assert_eq!(block_on(executor.spawn(async { 3 })), 3);
            executor.shutdown(Shutdown::RunQueued, None).unwrap();
            assert!(hooks.load(Ordering::Relaxed) >= workers);
        }
    });
}

/// So does the start hook of a spare, which a worker starts because all workers wait: no number of spares would do.
#[test]
fn the_start_hook_of_a_spare_waits() {
    in_own_process("the_start_hook_of_a_spare_waits", || {
        let hooks = Arc::new(AtomicUsize::new(0));
        let (own, counted) = (Own::default(), hooks.clone());
        let theirs = own.clone();
        let executor = own.start(Builder::new().workers(2).on_thread_start(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            assert_eq!(block_on(theirs.get().spawn(async { 1 })), 1);
        }));
        let tasks: Vec<_> = (0..4)
            .map(|_| {
                executor.spawn(async {
                    block_on(executor.spawn(async { block_on(executor.spawn(async { 1 })) }))
                })
            })
            .collect();
        assert_eq!(tasks.into_iter().map(block_on).sum::<i32>(), 4);
        executor.shutdown(Shutdown::RunQueued, None).unwrap();
        assert!(hooks.load(Ordering::Relaxed) < 100, "spares start spares");
    });
}

#[test]
fn a_stop_hook_waits() {
    in_own_process("a_stop_hook_waits", || {
        for workers in [1, 2, 5] {
            for how in [Shutdown::RunQueued, Shutdown::DropQueued] {
                let hooks = Arc::new(AtomicUsize::new(0));
                let (own, done) = (Own::default(), hooks.clone());
                let theirs = own.clone();
                let executor =
                    own.start(Builder::new().workers(workers).on_thread_stop(move || {
                        wait_in_every_way(theirs.get());
                        done.fetch_add(1, Ordering::Relaxed);
                    }));
                assert_eq!(block_on(executor.spawn(async { 3 })), 3);
                executor.shutdown(how, None).unwrap();
                assert!(hooks.load(Ordering::Relaxed) >= workers);
                executor.set_workers(workers).unwrap();
                executor.set_workers(0).unwrap();
                assert_eq!(block_on(executor.spawn(async { 3 })), 3);
                executor.shutdown(how, None).unwrap();
                assert!(hooks.load(Ordering::Relaxed) >= 2 * workers);
            }
        }
    });
}

/// The executor is dropped: its last worker itself runs the task that it waits for.
#[test]
fn a_stop_hook_waits_while_the_executor_is_dropped() {
    in_own_process("a_stop_hook_waits_while_the_executor_is_dropped", || {
        for workers in [1, 3] {
            let task: Arc<Mutex<Option<terrace_executor::Task<i32>>>> = Arc::default();
            let theirs = task.clone();
            let (send, result) = channel();
            let executor = Builder::new()
                .workers(workers)
                .on_thread_stop(move || {
                    let task = theirs.lock().unwrap().take();
                    if let Some(task) = task {
                        block_on(completed_elsewhere());
                        send.send(block_on(task)).unwrap();
                    }
                })
                .build();
            let (release, blocked) = channel::<()>();
            // Queued behind tasks that keep all workers busy until the executor is being dropped.
            let blocked = Arc::new(Mutex::new(blocked));
            let (started, wait) = channel();
            for _ in 0..workers {
                let (blocked, started) = (blocked.clone(), started.clone());
                executor
                    .spawn(async move {
                        started.send(()).unwrap();
                        let _closed = blocked.lock().unwrap().recv();
                    })
                    .detach();
            }
            (0..workers).for_each(|_| wait.recv().unwrap());
            *task.lock().unwrap() = Some(executor.spawn(async { 7 }));
            let dropping = thread::spawn(move || drop(executor));
            thread::sleep(Duration::from_millis(50));
            drop(release);
            dropping.join().unwrap();
            assert_eq!(result.recv().unwrap(), 7);
        }
    });
}

/// A worker in its stop hook does not keep the others from being the last resort, nor does one that has ended.
#[test]
fn others_wait_while_a_stop_hook_does() {
    in_own_process("others_wait_while_a_stop_hook_does", || {
        let (own, gate) = (Own::default(), Arc::new(Mutex::new(Vec::<Waker>::new())));
        let theirs = gate.clone();
        let opened = Arc::new(AtomicUsize::new(0));
        let open = opened.clone();
        let (send, stops) = channel();
        let executor = own.start(Builder::new().workers(3).on_thread_stop(move || {
            send.send(()).unwrap();
            block_on(poll_fn(|context| {
                theirs.lock().unwrap().push(context.waker().clone());
                if open.load(Ordering::Relaxed) == 0 {
                    Poll::Pending
                } else {
                    Poll::Ready(())
                }
            }));
        }));
        executor.set_workers(2).unwrap();
        stops.recv().unwrap();
        for _ in 0..100 {
            let tasks: Vec<_> = (0..2)
                .map(|_| executor.spawn(async { block_on(executor.spawn(async { 1 })) }))
                .collect();
            assert_eq!(tasks.into_iter().map(block_on).sum::<i32>(), 2);
        }
        opened.store(1, Ordering::Relaxed);
        let wakers = std::mem::take(&mut *gate.lock().unwrap());
        wakers.into_iter().for_each(Waker::wake);
        executor.shutdown(Shutdown::RunQueued, None).unwrap();
    });
}

/// Waits when it is dropped.
struct WaitsInDrop(Own);

impl Drop for WaitsInDrop {
    fn drop(&mut self) {
        block_on(completed_elsewhere());
        assert_eq!(block_on(self.0.get().spawn(async { 1 })), 1);
    }
}

/// A pinned task is dropped with its worker, and its destructor waits for the pool.
#[test]
fn a_pinned_tasks_destructor_waits() {
    in_own_process("a_pinned_tasks_destructor_waits", || {
        for workers in [1, 2] {
            let own = Own::default();
            let executor = own.start(Builder::new().workers(workers));
            let (send, wait) = channel();
            let theirs = own.clone();
            block_on(executor.spawn(async move {
                let value = WaitsInDrop(theirs);
                terrace_thread::spawn_local(async move {
                    let value = value;
                    send.send(()).unwrap();
                    std::future::pending::<()>().await;
                    drop(value);
                })
                .detach();
            }));
            wait.recv().unwrap();
            // The tasks that the other workers wait for also run while the one worker waits.
            let tasks: Vec<_> = (0..4)
                .map(|_| executor.spawn(async { block_on(executor.spawn(async { 1 })) }))
                .collect();
            executor.shutdown(Shutdown::RunQueued, None).unwrap();
            assert_eq!(tasks.into_iter().map(block_on).sum::<i32>(), 4);
        }
    });
}

/// Hooks that panic, also with a payload whose destructor does: the handler hears of it, and the thread lives on.
#[test]
fn panics_of_hooks_reach_the_handler() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            std::panic::resume_unwind(Box::new("in a payload"));
        }
    }
    in_own_process("panics_of_hooks_reach_the_handler", || {
        for handler in [false, true] {
            let heard = Arc::new(AtomicUsize::new(0));
            let theirs = heard.clone();
            let mut builder = Builder::new()
                .workers(2)
                .on_thread_start(|| std::panic::resume_unwind(Box::new(Bomb)))
                .on_thread_stop(|| std::panic::resume_unwind(Box::new(Bomb)));
            if handler {
                builder = builder.panic_handler(move |_payload| {
                    theirs.fetch_add(1, Ordering::Relaxed);
                });
            }
            let executor: Executor<'static> = builder.build();
            assert_eq!(block_on(executor.spawn(async { 1 })), 1);
            drop(executor);
            assert_eq!(heard.load(Ordering::Relaxed), if handler { 4 } else { 0 });
        }
    });
}

/// It is the last thing that the worker does in its place: another one runs the task.
#[test]
fn a_stop_hook_wakes_a_task() {
    on_own_thread(|| {
        for _ in 0..20 {
            let (future, wake) = terrace_testing::signal();
            let executor = Builder::new()
                .workers(2)
                .on_thread_stop(move || wake.set())
                .build();
            let task = executor.spawn(future);
            executor.set_workers(1).unwrap();
            block_on(task);
        }
    });
}
