//! Calls of `shutdown` from every place on an executor's own threads, and from several of them at
//! once.

use std::cell::{Cell, RefCell};
use std::future::{Future, pending};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, OnceLock};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

use terrace_executor::{Builder, Shutdown, StaticExecutor, block_on};
use terrace_testing::in_own_process;

const BOTH: [Shutdown; 2] = [Shutdown::RunQueued, Shutdown::DropQueued];

fn start(builder: Builder) -> &'static StaticExecutor {
    builder.try_build_static().unwrap()
}

/// It still works, and can be shut down as usual.
fn goes_on(executor: &'static StaticExecutor) {
    executor.set_workers(2).unwrap();
    assert_eq!(block_on(executor.spawn(async { 1 })), 1);
    executor.shutdown(Shutdown::RunQueued, None).unwrap();
    assert_eq!(block_on(executor.spawn(async { 2 })), 2);
}

/// All workers at once, in tasks, with a thread of the program beside them or not.
#[test]
fn all_workers_at_once() {
    in_own_process("all_workers_at_once", || {
        for workers in [2, 3, 5] {
            for kinds in [[BOTH[0], BOTH[0]], [BOTH[0], BOTH[1]], [BOTH[1], BOTH[1]]] {
                for beside in [false, true] {
                    let executor = start(Builder::new().workers(workers));
                    let together = Arc::new(Barrier::new(workers + usize::from(beside)));
                    let tasks: Vec<_> = (0..workers)
                        .map(|i| {
                            let together = together.clone();
                            executor.spawn(async move {
                                together.wait();
                                executor.shutdown(kinds[i % 2], None).unwrap();
                            })
                        })
                        .collect();
                    if beside {
                        together.wait();
                        executor.shutdown(kinds[1], None).unwrap();
                        assert!(tasks.iter().all(terrace_executor::Task::is_finished));
                    }
                    tasks.into_iter().for_each(block_on);
                    goes_on(executor);
                }
            }
        }
    });
}

/// The callers return one after the other, and each then goes on for a while. The first to return has seen the others
/// inside. The others do not wait for what it does later.
#[test]
fn the_first_out_waits_for_the_others() {
    in_own_process("the_first_out_waits_for_the_others", || {
        for how in BOTH {
            let executor = start(Builder::new().workers(2));
            let together = Arc::new(Barrier::new(2));
            let outs = Arc::new(Barrier::new(2));
            let tasks: Vec<_> = (0..2)
                .map(|_| {
                    let (together, outs) = (together.clone(), outs.clone());
                    executor.spawn(async move {
                        together.wait();
                        executor.shutdown(how, None).unwrap();
                        outs.wait();
                    })
                })
                .collect();
            tasks.into_iter().for_each(block_on);
            goes_on(executor);
        }
    });
}

/// Workers of two executors shut each other down.
#[test]
fn two_executors_shut_each_other_down() {
    in_own_process("two_executors_shut_each_other_down", || {
        for kinds in [[BOTH[0], BOTH[0]], [BOTH[0], BOTH[1]], [BOTH[1], BOTH[0]]] {
            let pools = [
                start(Builder::new().workers(1)),
                start(Builder::new().workers(1)),
            ];
            let together = Arc::new(Barrier::new(2));
            let tasks = [0, 1].map(|i| {
                let together = together.clone();
                pools[i].spawn(async move {
                    together.wait();
                    pools[1 - i].shutdown(kinds[i], None).unwrap();
                })
            });
            tasks.into_iter().for_each(block_on);
            pools.into_iter().for_each(goes_on);
        }
    });
}

#[derive(Clone, Default)]
struct Own(Arc<OnceLock<&'static StaticExecutor>>);

impl Own {
    fn shutdown(&self, how: Shutdown) {
        let executor = loop {
            if let Some(executor) = self.0.get() {
                break executor;
            }
            thread::yield_now();
        };
        executor.shutdown(how, None).unwrap();
    }
}

#[test]
fn in_hooks() {
    in_own_process("in_hooks", || {
        for how in BOTH {
            for workers in [1, 2, 4] {
                for at_start in [false, true] {
                    let own = Own::default();
                    let theirs = own.clone();
                    let calls = Arc::new(AtomicUsize::new(0));
                    let counted = calls.clone();
                    let hook = move || {
                        // The hooks of the workers that the executor gets afterwards do nothing.
                        if counted.fetch_add(1, Ordering::Relaxed) < workers {
                            theirs.shutdown(how);
                        }
                    };
                    let builder = Builder::new().workers(workers);
                    let executor = start(if at_start {
                        builder.on_thread_start(hook)
                    } else {
                        builder.on_thread_stop(hook)
                    });
                    assert!(own.0.set(executor).is_ok());
                    let task = executor.spawn(async { 1 });
                    executor.shutdown(how, None).unwrap();
                    let expected = (how == Shutdown::RunQueued).then_some(1);
                    let got = block_on(task.fallible());
                    assert!(got == expected || got == Some(1));
                    assert_eq!(calls.load(Ordering::Relaxed), workers);
                    goes_on(executor);
                }
            }
        }
    });
}

/// Shuts an executor down when it is dropped.
struct InDrop(&'static StaticExecutor, Shutdown);

impl Drop for InDrop {
    fn drop(&mut self) {
        self.0.shutdown(self.1, None).unwrap();
    }
}

#[test]
fn in_pinned_tasks_and_their_destructors() {
    in_own_process("in_pinned_tasks_and_their_destructors", || {
        for how in BOTH {
            for in_drop in [false, true] {
                let executor = start(Builder::new().workers(2));
                let together = Arc::new(Barrier::new(2));
                let tasks: Vec<_> = (0..2)
                    .map(|_| {
                        let together = together.clone();
                        executor.spawn(async move {
                            together.wait();
                            terrace_thread::spawn_local(async move {
                                let value = InDrop(executor, how);
                                if in_drop {
                                    std::future::pending::<()>().await;
                                }
                                drop(value);
                            })
                            .detach();
                        })
                    })
                    .collect();
                tasks.into_iter().for_each(block_on);
                executor.shutdown(how, None).unwrap();
                goes_on(executor);
            }
        }
    });
}

thread_local! {
    static AT_END: RefCell<Option<InDrop>> = const { RefCell::new(None) };
}

#[test]
fn in_destructors_of_thread_locals() {
    in_own_process("in_destructors_of_thread_locals", || {
        for how in BOTH {
            let executor = start(Builder::new().workers(3));
            let together = Arc::new(Barrier::new(3));
            let tasks: Vec<_> = (0..3)
                .map(|_| {
                    let together = together.clone();
                    executor.spawn(async move {
                        together.wait();
                        AT_END.with(|end| *end.borrow_mut() = Some(InDrop(executor, how)));
                    })
                })
                .collect();
            tasks.into_iter().for_each(block_on);
            executor.shutdown(how, None).unwrap();
            goes_on(executor);
        }
    });
}

/// The first of three threads that end joins the others, which come to their own shutdowns later. They are known as threads of
/// the pool all the same, and do not join the first.
#[test]
fn by_threads_that_another_one_joins() {
    struct Joined(&'static StaticExecutor, Arc<[AtomicUsize; 2]>);
    impl Drop for Joined {
        fn drop(&mut self) {
            let [begun, done] = &*self.1;
            if begun.fetch_add(1, Ordering::Relaxed) > 0 {
                thread::sleep(Duration::from_millis(30));
            }
            self.0.shutdown(Shutdown::RunQueued, None).unwrap();
            done.fetch_add(1, Ordering::Relaxed);
        }
    }
    thread_local! {
        static JOINED: RefCell<Option<Joined>> = const { RefCell::new(None) };
    }
    in_own_process("by_threads_that_another_one_joins", || {
        let executor = start(Builder::new().workers(3));
        let (together, counts) = (Arc::new(Barrier::new(3)), Arc::<[_; 2]>::default());
        let tasks: Vec<_> = (0..3)
            .map(|_| {
                let (together, counts) = (together.clone(), counts.clone());
                executor.spawn(async move {
                    together.wait();
                    JOINED.with(|joined| *joined.borrow_mut() = Some(Joined(executor, counts)));
                })
            })
            .collect();
        tasks.into_iter().for_each(block_on);
        executor.set_workers(0).unwrap();
        let [_, done] = &*counts;
        while done.load(Ordering::Relaxed) < 3 {
            thread::yield_now();
        }
        goes_on(executor);
    });
}

/// The destructor of a thread-local waits for a task while the executor is shut down: the wait runs
/// the task.
#[test]
fn a_thread_locals_destructor_waits_during_it() {
    struct Waits(&'static StaticExecutor, Shutdown);
    impl Drop for Waits {
        fn drop(&mut self) {
            let result = block_on(self.0.spawn(async { 1 }).fallible());
            // It may be queued, and so be cancelled.
            assert!(result == Some(1) || self.1 == Shutdown::DropQueued);
        }
    }
    thread_local! {
        static WAITS: RefCell<Option<Waits>> = const { RefCell::new(None) };
    }
    in_own_process("a_thread_locals_destructor_waits_during_it", || {
        for how in BOTH {
            let executor = start(Builder::new().workers(2));
            for _ in 0..4 {
                block_on(executor.spawn(async move {
                    WAITS.with(|waits| *waits.borrow_mut() = Some(Waits(executor, how)));
                }));
            }
            executor.shutdown(how, None).unwrap();
            goes_on(executor);
        }
    });
}

/// On a spare, while the only worker waits for something else.
#[test]
fn on_a_spare() {
    in_own_process("on_a_spare", || {
        for how in BOTH {
            let executor = start(Builder::new().workers(1));
            let (send, event) = channel::<()>();
            let event = executor.spawn(async move {
                // A wait of the worker that a thread of the program ends.
                let done = Arc::new(AtomicUsize::new(0));
                let waker = Arc::new(std::sync::Mutex::new(None::<std::task::Waker>));
                let (theirs, wake) = (done.clone(), waker.clone());
                thread::spawn(move || {
                    event.recv().unwrap();
                    thread::sleep(Duration::from_millis(20));
                    theirs.store(1, Ordering::Relaxed);
                    let waker: Option<std::task::Waker> = wake.lock().unwrap().take();
                    if let Some(waker) = waker {
                        waker.wake();
                    }
                });
                block_on(std::future::poll_fn(|context| {
                    *waker.lock().unwrap() = Some(context.waker().clone());
                    if done.load(Ordering::Relaxed) == 0 {
                        std::task::Poll::Pending
                    } else {
                        std::task::Poll::Ready(())
                    }
                }));
            });
            let spare = executor.spawn(async move {
                send.send(()).unwrap();
                executor.shutdown(how, None).unwrap();
            });
            block_on(spare);
            block_on(event.fallible());
            goes_on(executor);
        }
    });
}

/// A worker in a `shutdown` waits as all waiters do: it runs the task that the last other worker
/// waits for.
#[test]
fn what_others_wait_for_is_run() {
    in_own_process("what_others_wait_for_is_run", || {
        for how in BOTH {
            for _ in 0..20 {
                let executor = start(Builder::new().workers(2));
                let together = Arc::new(Barrier::new(2));
                let theirs = together.clone();
                let waits = executor.spawn(async move {
                    theirs.wait();
                    block_on(executor.spawn(async { block_on(executor.spawn(async { 1 })) }))
                });
                let shuts = executor.spawn(async move {
                    together.wait();
                    executor.shutdown(how, None).unwrap();
                });
                block_on(shuts);
                assert_eq!(block_on(waits), 1);
                goes_on(executor);
            }
        }
    });
}

thread_local! {
    /// Whether the stop hook of this thread has returned.
    static STOPPED: Cell<bool> = const { Cell::new(false) };
}

/// Shuts an executor down in its wake, on a worker's thread whose stop hook has run.
struct InWake {
    own: Own,
    how: Shutdown,
    calls: AtomicUsize,
}

impl Wake for InWake {
    fn wake(self: Arc<Self>) {
        if STOPPED.get() && self.calls.fetch_add(1, Ordering::Relaxed) == 0 {
            self.own.shutdown(self.how);
        }
    }
}

/// A worker has given its place up, and moves the tasks that its stop hook has queued to where a sleeping `run` finds
/// them. The worker's thread, which the pool still counts, wakes that `run`.
#[test]
fn in_a_waker_behind_the_stop_hook() {
    in_own_process("in_a_waker_behind_the_stop_hook", || {
        for how in BOTH {
            let own = Own::default();
            let theirs = own.clone();
            let executor = start(Builder::new().workers(1).on_thread_stop(move || {
                let executor = theirs.0.get().expect("stops after the test has begun");
                for _ in 0..3 {
                    executor.spawn(async {}).detach();
                }
                STOPPED.set(true);
            }));
            assert!(own.0.set(executor).is_ok());
            let wakes = Arc::new(InWake {
                own,
                how,
                calls: AtomicUsize::new(0),
            });
            let waker = Waker::from(wakes.clone());
            let mut runs: Vec<_> = (0..8)
                .map(|_| Box::pin(executor.run(pending::<()>())))
                .collect();
            for run in &mut runs {
                assert!(
                    run.as_mut()
                        .poll(&mut Context::from_waker(&waker))
                        .is_pending()
                );
            }
            executor.shutdown(Shutdown::DropQueued, None).unwrap();
            assert!(
                wakes.calls.load(Ordering::Relaxed) > 0,
                "no wake came that late"
            );
        }
    });
}
