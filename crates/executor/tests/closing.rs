//! Executors that are dropped at odd places: inside their own tasks, also while a waiting thread polls one. Or by the
//! destructor of a worker's thread-local, or when the process exits inside a task.

use std::future::{Future, pending, poll_fn};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier};
use std::task::Poll;
use std::time::{Duration, Instant};

use terrace_executor::scope::{OpenScope, ScopeKind, To};
use terrace_executor::{Builder, Executor, StaticExecutor, ThreadExecutor, block_on};
use terrace_testing::{Yields, completed_elsewhere, on_own_thread, signal, this_program, watchdog};

/// Sends its number when dropped.
struct Note(Sender<u32>, u32);

impl Drop for Note {
    fn drop(&mut self) {
        // The test may have failed and receive no more.
        let _unheard = self.0.send(self.1);
    }
}

/// A future that keeps `note` and never ends.
async fn keeps(note: Note) {
    let _note = note;
    pending::<()>().await;
}

/// Waits until all of `numbers` were received, in any order.
fn expect_all(dropped: &Receiver<u32>, mut numbers: Vec<u32>) {
    while !numbers.is_empty() {
        let number = dropped.recv().expect("a future was leaked");
        numbers.retain(|&other| other != number);
    }
}

/// Polled once, it wakes itself; polled again, it calls `end` and never ends.
fn ends_in_second_poll(note: Note, end: impl FnOnce()) -> impl Future<Output = ()> {
    let mut end = Some(end);
    let mut polled = false;
    poll_fn(move |context| {
        let _note = &note;
        if !polled {
            polled = true;
            context.waker().wake_by_ref();
        } else if let Some(end) = end.take() {
            end();
        }
        Poll::<()>::Pending
    })
}

#[test]
fn the_last_reference_goes_in_a_task_that_a_wait_runs() {
    on_own_thread(|| {
        for first_poll in [false, true] {
            let executor = Arc::new(Builder::new().workers(0).build());
            let (sender, dropped) = channel();
            let (wait, gone) = signal();
            executor.spawn(keeps(Note(sender.clone(), 0))).detach();
            let last = Arc::clone(&executor);
            let end = move || {
                drop(last);
                gone.set();
            };
            let note = Note(sender.clone(), 1);
            if first_poll {
                let future = async move {
                    let _note = note;
                    end();
                    pending::<()>().await;
                };
                executor.spawn(future).detach();
            } else {
                executor.spawn(ends_in_second_poll(note, end)).detach();
            }
            drop((executor, sender));
            block_on(wait);
            expect_all(&dropped, vec![0, 1]);
        }
    });
}

#[test]
fn a_task_in_its_first_poll_by_a_wait_is_dropped_with_its_executor() {
    on_own_thread(|| {
        let executor = Builder::new().workers(0).build();
        let (sender, dropped) = channel();
        let polled = Arc::new(Barrier::new(2));
        let closed = Arc::new(Barrier::new(2));
        let (wait, called) = signal();
        let note = Note(sender, 0);
        let future = {
            let (polled, closed) = (Arc::clone(&polled), Arc::clone(&closed));
            async move {
                let _note = note;
                polled.wait();
                closed.wait();
                called.set();
                pending::<()>().await;
            }
        };
        executor.spawn(future).detach();
        let waiter = std::thread::spawn(move || block_on(wait));
        polled.wait();
        drop(executor);
        closed.wait();
        waiter.join().unwrap();
        expect_all(&dropped, vec![0]);
    });
}

#[test]
fn the_last_reference_goes_in_a_workers_thread_local() {
    use std::cell::Cell;
    thread_local! {
        static KEPT: Cell<Option<Arc<Executor<'static>>>> = const { Cell::new(None) };
    }
    on_own_thread(|| {
        for workers in [1, 3] {
            let executor = Arc::new(Builder::new().workers(workers).build());
            if cfg!(windows) {
                // No thread begins there while a destructor of a thread-local waits for its end.
                assert_eq!(executor.worker_spawners().len(), workers);
            }
            let (sender, dropped) = channel();
            for number in 0..4 {
                executor.spawn(keeps(Note(sender.clone(), number))).detach();
            }
            let kept = Arc::clone(&executor);
            block_on(executor.spawn(async move {
                KEPT.set(Some(kept));
            }));
            executor.set_workers(0).unwrap();
            drop((executor, sender));
            expect_all(&dropped, vec![0, 1, 2, 3]);
        }
    });
}

/// A task drops its executor, while a peer waits for a task that is queued behind both.
#[test]
fn a_worker_drops_its_executor_while_a_peer_waits() {
    on_own_thread(|| {
        for _ in 0..20 {
            let executor = Arc::new(Builder::new().workers(2).build());
            let (last, inner) = (Arc::clone(&executor), Arc::clone(&executor));
            let waits = Arc::new(Barrier::new(2));
            let begun = Arc::clone(&waits);
            let (wait, ended) = signal();
            executor
                .spawn(async move {
                    let queued = inner.spawn(async {});
                    drop(inner);
                    begun.wait();
                    // It may be cancelled.
                    block_on(queued.fallible());
                })
                .detach();
            executor
                .spawn(async move {
                    waits.wait();
                    drop(last);
                    ended.set();
                })
                .detach();
            drop(executor);
            block_on(wait);
        }
    });
}

/// Closures of a builder whose captures panic when they are dropped, on each thread that may drop the last reference to
/// the pool.
#[test]
fn closures_that_panic_when_dropped_go_no_further() {
    struct Panics;
    fn keep(_: &Panics) {}
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("on purpose, in a destructor");
        }
    }
    on_own_thread(|| {
        for on_worker in [false, true] {
            let (name, start, stop, handler) = (Panics, Panics, Panics, Panics);
            let executor = Arc::new(
                Builder::new()
                    .workers(1)
                    .thread_name(move |index| {
                        keep(&name);
                        format!("worker {index}")
                    })
                    .on_thread_start(move || keep(&start))
                    .on_thread_stop(move || keep(&stop))
                    .panic_handler(move |_| keep(&handler))
                    .build(),
            );
            if on_worker {
                let last = Arc::clone(&executor);
                let (wait, ended) = signal();
                executor
                    .spawn(async move {
                        drop(last);
                        ended.set();
                    })
                    .detach();
                drop(executor);
                block_on(wait);
            } else {
                drop(executor);
            }
        }
    });
}

/// The ways in which a thread may be in the middle of a task of an executor that lies in one of its thread-locals, or in a static.
const EXITS: [(&str, fn()); 8] = [
    ("try_tick", || {
        LOCAL.with(|executor| {
            executor.spawn(exits()).detach();
            while executor.try_tick() {}
        });
    }),
    ("tick", || {
        LOCAL.with(|executor| {
            executor.spawn(exits()).detach();
            block_on(async {
                loop {
                    executor.tick().await;
                }
            });
        });
    }),
    ("run", || {
        LOCAL.with(|executor| {
            executor.spawn(exits()).detach();
            block_on(executor.run(pending::<()>()));
        });
    }),
    ("ticker", || {
        TICKED.with(|executor| {
            executor.spawn(exits()).detach();
            let ticker = executor.ticker().expect("made on this thread");
            while ticker.try_tick() {}
        });
    }),
    // After a task inside of that one.
    ("nested ticker", || {
        TICKED.with(|executor| {
            let ticks = async {
                Yields(1).await;
                TICKED.with(|executor| {
                    let inner = executor.spawn(async {});
                    let ticker = executor.ticker().expect("made on this thread");
                    assert!(ticker.try_tick() && inner.is_finished());
                });
                std::process::exit(42);
            };
            executor.spawn::<()>(ticks).detach();
            let ticker = executor.ticker().expect("made on this thread");
            while ticker.try_tick() {}
        });
    }),
    // The exit destroys this thread's locals while another thread spawns the scope's first child, onto this thread.
    ("scope", || {
        let executor = Builder::new().workers(1).build();
        let scope = OpenScope::open(&executor, ScopeKind::of::<()>());
        let (handle, exits) = (scope.handle(), AtomicBool::new(false));
        std::thread::scope(|threads| {
            threads.spawn(|| {
                while !exits.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
                // SAFETY: the child borrows nothing, and the process ends in the scope's body.
                unsafe { handle.send(To::Owner, completed_elsewhere()) };
            });
            exits.store(true, Ordering::Relaxed);
            std::process::exit(42);
        });
    }),
    // The exit comes while workers of a static pool run other tasks, in one of its tasks or outside of them.
    ("task of a static pool", || {
        go_on_in_the_static_pool();
        block_on(POOL.spawn(exits()));
    }),
    ("beside a static pool", || {
        go_on_in_the_static_pool();
        std::process::exit(42);
    }),
];

static POOL: StaticExecutor = StaticExecutor::new();

/// Workers of the static pool run tasks that never end.
fn go_on_in_the_static_pool() {
    POOL.set_workers(2).expect("the system starts threads");
    let began = Arc::new(Barrier::new(3));
    for _ in 0..2 {
        let began = Arc::clone(&began);
        let goes_on = async move {
            began.wait();
            loop {
                Yields(1).await;
            }
        };
        POOL.spawn(goes_on).detach();
    }
    began.wait();
}

thread_local! {
    static LOCAL: Executor<'static> = const { Executor::new() };
    static TICKED: ThreadExecutor<'static> = ThreadExecutor::new();
}

/// Registers, and exits the process in its second poll.
async fn exits() {
    let mut polled = false;
    poll_fn(|context| {
        if std::mem::replace(&mut polled, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
    std::process::exit(42);
}

const CHILD: &str = "TERRACE_TEST_EXIT";

/// Each way in a process of its own, which has to end.
#[test]
fn the_process_exits_beside_tasks() {
    let _watchdog = watchdog();
    if let Ok(name) = std::env::var(CHILD) {
        let (_, exit) = EXITS.iter().find(|(way, _)| *way == name).expect("a way");
        exit();
        unreachable!("the task exits");
    }
    for (name, _) in EXITS {
        let mut child = this_program()
            .args(["--exact", "the_process_exits_beside_tasks"])
            .env(CHILD, name)
            .spawn()
            .unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > deadline {
                child.kill().unwrap();
                panic!("{name}: the process does not end");
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        assert_eq!(status.code(), Some(42), "{name}");
    }
}
