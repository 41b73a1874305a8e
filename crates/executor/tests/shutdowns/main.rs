//! Calls of `shutdown` from every place on an executor's own threads, and from several of them at
//! once.

mod inside;
mod taken_back;

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Barrier};
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

/// As above, and the second worker's thread comes as late as on Windows, which begins no thread while a destructor of a thread-local runs.
#[test]
fn a_thread_locals_destructor_waits_where_a_worker_has_not_begun() {
    struct Waits(&'static StaticExecutor);
    impl Drop for Waits {
        fn drop(&mut self) {
            block_on(self.0.spawn(async {}).fallible());
        }
    }
    /// Holds up the starts and ends of threads until the shutdown has begun.
    struct HoldsUp(&'static StaticExecutor, Sender<()>);
    impl Drop for HoldsUp {
        fn drop(&mut self) {
            self.1.send(()).unwrap();
            while self.0.workers() > 0 {
                thread::yield_now();
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
    thread_local! {
        static WAITS: RefCell<Option<Waits>> = const { RefCell::new(None) };
        static HOLDS_UP: RefCell<Option<HoldsUp>> = const { RefCell::new(None) };
    }
    let name = "a_thread_locals_destructor_waits_where_a_worker_has_not_begun";
    in_own_process(name, || {
        for round in 0..20 {
            let executor = start(Builder::new().workers(1));
            block_on(executor.spawn(async move {
                WAITS.with(|waits| *waits.borrow_mut() = Some(Waits(executor)));
            }));
            let (send, holds_up) = channel();
            let thread = thread::spawn(move || {
                HOLDS_UP.with(|cell| *cell.borrow_mut() = Some(HoldsUp(executor, send)));
            });
            holds_up.recv().unwrap();
            executor.set_workers(2).unwrap();
            executor.shutdown(BOTH[round % 2], None).unwrap();
            thread.join().unwrap();
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

/// It joins its threads, so the destructors of their thread-locals have run.
#[test]
fn nothing_of_its_threads_is_left_behind_it() {
    static HAVE_RUN: AtomicBool = AtomicBool::new(false);
    struct Slow;
    impl Drop for Slow {
        fn drop(&mut self) {
            thread::sleep(Duration::from_millis(50));
            HAVE_RUN.store(true, Ordering::Relaxed);
        }
    }
    thread_local! {
        static SLOW: Slow = const { Slow };
    }
    in_own_process("nothing_of_its_threads_is_left_behind_it", || {
        for how in BOTH {
            HAVE_RUN.store(false, Ordering::Relaxed);
            let executor = start(Builder::new().workers(1));
            block_on(executor.spawn(async { SLOW.with(|_| ()) }));
            executor.shutdown(how, None).unwrap();
            assert!(HAVE_RUN.load(Ordering::Relaxed), "{how:?}");
        }
    });
}

/// The task lies in the slot of the worker that calls it.
#[test]
fn what_the_caller_has_just_woken_is_run() {
    in_own_process("what_the_caller_has_just_woken_is_run", || {
        for _ in 0..20 {
            let executor = start(Builder::new().workers(2));
            let (future, wake) = terrace_testing::signal();
            let woken = executor.spawn(future);
            let (begins, begun) = channel();
            let shuts = executor.spawn(async move {
                begins.send(()).unwrap();
                wake.set();
                let limit = Some(Duration::from_secs(3600));
                executor.shutdown(Shutdown::RunQueued, limit).unwrap();
                woken.is_finished()
            });
            begun.recv().unwrap();
            assert!(block_on(shuts));
        }
    });
}
