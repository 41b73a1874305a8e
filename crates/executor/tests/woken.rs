//! The slot of the task that was just woken: it strands no task, starves no task, and gives out no task twice.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, channel};
use std::task::{Poll, Waker};
use std::time::Duration;

use smol::channel::{bounded, unbounded};
use terrace_executor::{Builder, Executor, Shutdown, StaticExecutor, block_on};
use terrace_testing::{in_own_process, show_static, watchdog};

/// Far longer than any of this takes.
const WATCHDOG: Duration = Duration::from_secs(60);

fn pool(workers: usize) -> &'static StaticExecutor {
    let pool = Builder::new()
        .workers(workers)
        .try_build_static()
        .expect("threads start");
    show_static(pool);
    pool
}

/// A task woken by one that then blocks its worker is run by another.
#[test]
fn a_blocker_strands_no_task() {
    let _watchdog = watchdog();
    let pool = pool(2);
    for _ in 0..20 {
        let (wake, woken) = bounded::<()>(1);
        let (ran, has_run) = channel();
        let waiting = pool.spawn(async move {
            woken.recv().await.expect("is sent");
            ran.send(()).expect("the blocker waits");
        });
        let blocker = pool.spawn(async move {
            wake.send(()).await.expect("there is room");
            // Blocks the worker until the task that was woken has run.
            has_run.recv_timeout(WATCHDOG).is_ok()
        });
        assert!(block_on(blocker));
        block_on(waiting);
    }
}

/// The same for a task that waits in the middle of its poll, also on a pool without another worker.
#[test]
fn a_nested_wait_strands_no_task() {
    let _watchdog = watchdog();
    for workers in [1, 2] {
        let pool = pool(workers);
        let (wake, woken) = bounded::<()>(1);
        let waiting = pool.spawn(async move { woken.recv().await.is_ok() });
        // Lets the other task run first, so that this one wakes it.
        let waiter = pool.spawn(async move {
            smol::future::yield_now().await;
            wake.send(()).await.expect("there is room");
            block_on(waiting)
        });
        assert!(block_on(waiter));
    }
}

/// A future that needs one wake, and a channel that receives its waker when it waits.
fn sleeper() -> (impl Future<Output = ()> + Send, Receiver<Waker>) {
    let (give, given) = channel();
    let mut give = Some(give);
    let future = poll_fn(move |context| match give.take() {
        Some(give) => {
            give.send(context.waker().clone()).expect("is waited for");
            Poll::Pending
        }
        None => Poll::Ready(()),
    });
    (future, given)
}

/// A task wakes another, then ends the threads of its own executor and waits for them. Other workers run the woken
/// task, or the shutdown drops it.
#[test]
fn a_shutdown_strands_no_task() {
    let _watchdog = watchdog();
    for workers in [1, 2, 3] {
        let pool = pool(workers);
        for how in [Shutdown::RunQueued, Shutdown::DropQueued] {
            let (sleeper, waker) = sleeper();
            let woken = pool.spawn(sleeper);
            let waker = waker.recv_timeout(WATCHDOG).expect("is polled");
            // Lets the poll end first: the thread that polls a task queues it if it is woken during
            // the poll.
            std::thread::sleep(Duration::from_millis(1));
            let (woken, ended) = block_on(pool.spawn(async move {
                waker.wake();
                pool.shutdown(how, None).expect("no limit");
                let ended = woken.is_finished();
                (woken, ended)
            }));
            if how == Shutdown::DropQueued || workers > 1 {
                assert!(ended, "{how:?} of {workers} workers");
            }
            pool.shutdown(Shutdown::RunQueued, None).expect("no limit");
            pool.set_workers(workers).expect("threads start");
            if how == Shutdown::RunQueued {
                block_on(woken);
            }
        }
    }
}

/// A worker that is to end when no task is queued first runs the task that its last task has woken.
#[test]
fn a_worker_drains_its_slot() {
    // Alone: a waiting thread of another test would drive the pool, too, while it has no workers.
    in_own_process("a_worker_drains_its_slot", || {
        let pool = pool(1);
        let (sleeper, waker) = sleeper();
        let woken = pool.spawn(sleeper);
        let waker = waker.recv_timeout(WATCHDOG).expect("is polled");
        let (release, released) = channel::<()>();
        let last = pool.spawn(async move {
            let in_time = released.recv_timeout(WATCHDOG).is_ok();
            waker.wake();
            in_time
        });
        pool.shutdown(Shutdown::RunQueued, Some(Duration::from_millis(1)))
            .expect_err("the worker is blocked");
        release.send(()).expect("is waited for");
        pool.shutdown(Shutdown::RunQueued, None).expect("no limit");
        assert!(last.is_finished() && woken.is_finished());
        assert!(block_on(last));
    });
}

/// A task wakes another and then drops its own executor: the woken task ends, one way or the other.
#[test]
fn a_drop_strands_no_task() {
    let _watchdog = watchdog();
    for workers in [1, 2, 3] {
        let executor = Arc::new(Builder::new().workers(workers).build());
        let (sleeper, waker) = sleeper();
        let woken = executor.spawn(sleeper);
        let waker = waker.recv_timeout(WATCHDOG).expect("is polled");
        let (drop_it, dropped) = channel::<Arc<Executor<'_>>>();
        let dropper = executor.spawn(async move {
            let executor = dropped.recv_timeout(WATCHDOG).expect("is sent");
            waker.wake();
            drop(executor);
        });
        drop_it.send(executor).expect("is waited for");
        block_on(dropper);
        let (ended, has_ended) = channel();
        std::thread::spawn(move || ended.send(block_on(woken.fallible())));
        assert!(
            has_ended.recv_timeout(WATCHDOG).is_ok(),
            "{workers} workers"
        );
    }
}

/// Two tasks that wake each other without end leave turns to a third on the same worker, and to tasks of external
/// threads.
#[test]
fn partners_starve_no_task() {
    let _watchdog = watchdog();
    let pool = pool(1);
    let stop = Arc::new(AtomicBool::new(false));
    let (ping, ping_here) = bounded(1);
    let (pong, pong_here) = bounded(1);
    let first = {
        let stop = stop.clone();
        pool.spawn(async move {
            while !stop.load(SeqCst) {
                ping.send(()).await.expect("the partner waits");
                pong_here.recv().await.expect("the partner answers");
            }
        })
    };
    let second = pool.spawn(async move {
        while ping_here.recv().await.is_ok() {
            pong.send(()).await.expect("the partner waits");
        }
    });
    let done = Arc::new(AtomicUsize::new(0));
    let count = |done: &Arc<AtomicUsize>| {
        done.fetch_add(1, SeqCst);
    };
    let inside = {
        let done = done.clone();
        pool.spawn(async move {
            for _ in 0..100 {
                smol::future::yield_now().await;
            }
            // Onto the worker's own ring.
            for _ in 0..10 {
                let done = done.clone();
                pool.spawn(async move { count(&done) }).await;
            }
        })
    };
    let (ended, all_ended) = channel();
    let outside: Vec<_> = (0..10)
        .map(|_| {
            let done = done.clone();
            pool.spawn(async move { count(&done) })
        })
        .collect();
    let watched = pool.spawn(async move {
        inside.await;
        for task in outside {
            task.await;
        }
        ended.send(()).expect("is waited for");
    });
    let in_time = all_ended.recv_timeout(WATCHDOG).is_ok();
    stop.store(true, SeqCst);
    assert!(in_time, "{} of 20 ran", done.load(SeqCst));
    block_on(first);
    block_on(second);
    block_on(watched);
}

/// A task that yields goes behind the queued tasks, not into the slot.
#[test]
fn a_yield_goes_to_the_back() {
    let _watchdog = watchdog();
    let pool = pool(1);
    let order = block_on(pool.spawn(async move {
        let (note, noted) = unbounded();
        for name in ["queued", "queued, too"] {
            let note = note.clone();
            pool.spawn(async move { note.try_send(name) }).detach();
        }
        smol::future::yield_now().await;
        note.try_send("yielded").expect("there is room");
        drop(note);
        let mut order = Vec::new();
        while let Ok(name) = noted.recv().await {
            order.push(name);
        }
        order
    }));
    assert_eq!(order, ["queued", "queued, too", "yielded"]);
}

/// A task that is woken while no task is queued runs before tasks that are queued later. Behind others it waits its
/// turn.
#[test]
fn a_woken_task_runs_next_unless_others_wait() {
    let _watchdog = watchdog();
    let pool = pool(1);
    let order = block_on(pool.spawn(async move {
        let (note, noted) = unbounded();
        // A chain: each wakes the next.
        let links: Vec<_> = (0..3).map(|_| bounded::<()>(1)).collect();
        let start = links[0].0.clone();
        for (number, (_, wait)) in links.iter().enumerate() {
            let (wait, note) = (wait.clone(), note.clone());
            let next = links.get(number + 1).map(|(next, _)| next.clone());
            pool.spawn(async move {
                wait.recv().await.expect("is sent");
                note.try_send(format!("chain {number}"))
                    .expect("there is room");
                if let Some(next) = next {
                    next.send(()).await.expect("there is room");
                }
            })
            .detach();
        }
        // Now they all wait.
        smol::future::yield_now().await;
        start.send(()).await.expect("there is room");
        for name in ["queued", "queued, too"] {
            let note = note.clone();
            pool.spawn(async move { note.try_send(name.to_owned()) })
                .detach();
        }
        drop(note);
        let mut order = Vec::new();
        while let Ok(name) = noted.recv().await {
            order.push(name);
        }
        order
    }));
    assert_eq!(
        order,
        ["chain 0", "queued", "queued, too", "chain 1", "chain 2"]
    );
}

/// Tasks travel over slots, rings and the injector, woken by tasks and by external threads. Each is polled once a wake,
/// and all end.
#[test]
fn each_wake_is_served_once() {
    let _watchdog = watchdog();
    const TASKS: usize = 64;
    const ROUNDS: u32 = 300;
    struct Cell {
        /// Wakes that were asked for and polls that saw them.
        asked: AtomicU32,
        seen: AtomicU32,
        waker: std::sync::Mutex<Option<Waker>>,
    }
    let pool = pool(3);
    let cells: Arc<Vec<Cell>> = Arc::new(
        (0..TASKS)
            .map(|_| Cell {
                asked: AtomicU32::new(0),
                seen: AtomicU32::new(0),
                waker: std::sync::Mutex::new(None),
            })
            .collect(),
    );
    let ask = |cells: &[Cell], number: usize| {
        let cell = &cells[number % TASKS];
        cell.asked.fetch_add(1, SeqCst);
        let waker = cell.waker.lock().expect("not poisoned").take();
        if let Some(waker) = waker {
            waker.wake();
        }
    };
    let polling = Arc::new(
        (0..TASKS)
            .map(|_| AtomicBool::new(false))
            .collect::<Vec<_>>(),
    );
    let tasks: Vec<_> = (0..TASKS)
        .map(|number| {
            let (cells, polling) = (cells.clone(), polling.clone());
            pool.spawn(poll_fn(move |context| {
                assert!(!polling[number].swap(true, SeqCst), "polled twice at once");
                let cell = &cells[number];
                *cell.waker.lock().expect("not poisoned") = Some(context.waker().clone());
                let asked = cell.asked.load(SeqCst);
                let fresh = asked - cell.seen.swap(asked, SeqCst);
                for step in 0..fresh.min(2) {
                    // Two wakes, so the slot is displaced now and then. Tasks that have had enough wakes do not wake
                    // back.
                    if asked < ROUNDS {
                        ask(&cells, number * 7 + 1 + step as usize * 13);
                    }
                }
                polling[number].store(false, SeqCst);
                if asked >= ROUNDS {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            }))
        })
        .collect();
    let (ended, all_ended) = channel();
    let asker = std::thread::spawn({
        let cells = cells.clone();
        move || {
            let mut number = 0;
            while all_ended.recv_timeout(Duration::from_micros(50)).is_err() {
                ask(&cells, number);
                number += 5;
            }
        }
    });
    for task in tasks {
        block_on(task);
    }
    ended.send(()).expect("the asker listens");
    asker.join().expect("no panic");
    assert!(cells.iter().all(|cell| cell.seen.load(SeqCst) >= ROUNDS));
}

/// Two tasks of one worker wake each other again and again. A task from outside does not wait for the turn in which another source goes first,
/// also where a round of the worker's ring has begun.
#[test]
fn few_woken_tasks_run_in_a_row() {
    let _watchdog = watchdog();
    let pool = pool(1);
    let ((serve, served), (answer, answered)) = (bounded::<()>(1), bounded::<()>(1));
    let polls = Arc::new(AtomicUsize::new(0));
    let stop = Arc::new(AtomicBool::new(false));
    let player = |receiver: smol::channel::Receiver<()>, sender: smol::channel::Sender<()>| {
        let (polls, stop) = (Arc::clone(&polls), Arc::clone(&stop));
        async move {
            while receiver.recv().await.is_ok() && !stop.load(SeqCst) {
                polls.fetch_add(1, SeqCst);
                let _gone = sender.try_send(());
            }
        }
    };
    let first = serve.clone();
    let players = [
        pool.spawn(player(served, answer)),
        pool.spawn(player(answered, serve)),
    ];
    let ((begins, begun), (go_on, goes_on)) = (channel(), channel::<()>());
    // In the ring, so that a round begins with it.
    block_on(pool.spawn(async move {
        let begins = pool.spawn(async move {
            begins.send(()).expect("the test waits");
            goes_on.recv().expect("is sent");
            first.try_send(()).expect("there is room");
        });
        begins.detach();
    }));
    begun.recv().expect("is sent");
    let (counts, stops) = (Arc::clone(&polls), Arc::clone(&stop));
    let outside = pool.spawn(async move {
        stops.store(true, SeqCst);
        counts.load(SeqCst)
    });
    go_on.send(()).expect("the task waits");
    let count = block_on(outside);
    assert!(count < 10, "{count}");
    players.into_iter().for_each(block_on);
}
