//! In hooks, destructors and wakers.

use std::cell::Cell;
use std::future::{Future, pending};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, OnceLock};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

use terrace_executor::{Builder, Shutdown, StaticExecutor, block_on};
use terrace_testing::in_own_process;

use crate::{BOTH, goes_on, start};

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
    in_own_process("inside::in_hooks", || {
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
    in_own_process("inside::in_pinned_tasks_and_their_destructors", || {
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

#[test]
fn in_destructors_of_thread_locals() {
    thread_local! {
        static AT_END: Cell<Option<InDrop>> = const { Cell::new(None) };
    }
    in_own_process("inside::in_destructors_of_thread_locals", || {
        for how in BOTH {
            let executor = start(Builder::new().workers(3));
            let together = Arc::new(Barrier::new(3));
            let tasks: Vec<_> = (0..3)
                .map(|_| {
                    let together = together.clone();
                    executor.spawn(async move {
                        together.wait();
                        AT_END.set(Some(InDrop(executor, how)));
                    })
                })
                .collect();
            tasks.into_iter().for_each(block_on);
            executor.shutdown(how, None).unwrap();
            goes_on(executor);
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
    in_own_process("inside::in_a_waker_behind_the_stop_hook", || {
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

/// A task shuts its executor down, and gives up soon: how many threads it has left.
fn gives_up(executor: &'static StaticExecutor) -> usize {
    let limit = Some(Duration::from_millis(1));
    let shuts = executor.spawn(async move {
        let end = executor.shutdown(Shutdown::DropQueued, limit);
        end.unwrap_err().threads()
    });
    block_on(shuts)
}

#[test]
fn a_call_that_gives_up_counts_the_threads_beside_its_own() {
    let name = "inside::a_call_that_gives_up_counts_the_threads_beside_its_own";
    in_own_process(name, || {
        let executor = start(Builder::new().workers(2));
        let (release, blocked) = channel::<()>();
        let (started, starts) = channel();
        let blocks = executor.spawn(async move {
            started.send(()).unwrap();
            let _released = blocked.recv();
        });
        starts.recv().unwrap();
        assert_eq!(gives_up(executor), 1);
        drop(release);
        block_on(blocks);
        goes_on(executor);
    });
}

/// Nor does it count as inside after its call.
#[test]
fn a_thread_that_has_left_its_call_is_waited_for() {
    in_own_process(
        "inside::a_thread_that_has_left_its_call_is_waited_for",
        || {
            let (executor, other) = (start(Builder::new().workers(2)), start(Builder::new()));
            let ((release, blocked), (started, starts)) = (channel::<()>(), channel());
            let blocks = executor.spawn(async move {
                other.shutdown(BOTH[0], None).unwrap();
                started.send(()).unwrap();
                let _released = blocked.recv();
            });
            starts.recv().unwrap();
            assert_eq!(gives_up(executor), 1);
            drop(release);
            block_on(blocks);
            goes_on(executor);
        },
    );
}
