//! A worker or driver that blocks on a task runs that very task, if nothing else can wake its wait and the task is at hand.

use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::task::{Context, Waker};
use std::thread::{self, ThreadId};

use terrace_executor::{Builder, Executor, Lane, Task, block_on};
use terrace_local::task::awaited::asking;
use terrace_testing::{Wakes, Yields, in_own_process, poll_once, signal, watchdog};

fn pool(workers: usize) -> Arc<Executor<'static>> {
    Arc::new(Builder::new().workers(workers).build())
}

/// The thread on which a new task of `executor` runs, and suspends so many times before.
fn where_it_runs(executor: &Executor<'static>, turns: u32) -> Task<ThreadId> {
    executor.spawn(async move {
        Yields(turns).await;
        thread::current().id()
    })
}

#[test]
fn the_waiting_worker_runs_the_task() {
    let _watchdog = watchdog();
    let executor = pool(1);
    for turns in [0, 1, 5] {
        let own = Arc::clone(&executor);
        let (waits, runs) = block_on(executor.spawn(async move {
            let direct = block_on(where_it_runs(&own, turns));
            let inside = block_on(async { where_it_runs(&own, turns).await });
            (thread::current().id(), [direct, inside])
        }));
        assert_eq!(runs, [waits; 2], "{turns} turns");
    }
}

/// The pool's only worker is blocked, so no other thread could run the task.
#[test]
fn a_driver_that_waits_runs_the_task() {
    let _watchdog = watchdog();
    let executor = pool(1);
    let (started, starts) = channel();
    let (go_on, blocks) = channel::<()>();
    let blocked = executor.spawn(async move {
        started.send(()).unwrap();
        blocks.recv()
    });
    starts.recv().unwrap();
    let own = Arc::clone(&executor);
    let inside = executor.run(async move {
        let task = where_it_runs(&own, 1);
        // In the poll of the driver's own future, and in that of a task of the pool.
        let direct = block_on(task);
        let inner = Arc::clone(&own);
        let task = own.spawn(async move { block_on(where_it_runs(&inner, 1)) });
        [direct, task.await]
    });
    assert_eq!(block_on(inside), [thread::current().id(); 2]);
    drop(go_on);
    block_on(blocked).unwrap_err();
}

/// Something else may wake the future, and the task blocks its thread until that has happened. So the waiting worker leaves
/// the task to another thread.
#[test]
fn a_future_that_something_else_can_wake_runs_no_task() {
    let _watchdog = watchdog();
    let executor = pool(1);
    let own = Arc::clone(&executor);
    let (signalled, wake) = signal();
    let (started, starts) = channel();
    let waiter = executor.spawn(async move {
        let (sender, receiver) = channel();
        let mut task = own.spawn(async move {
            started.send(()).unwrap();
            receiver.recv().unwrap()
        });
        let mut sender = Some(sender);
        let mut signalled = pin!(signalled);
        block_on(poll_fn(|context| {
            if sender.is_some() && signalled.as_mut().poll(context).is_ready() {
                sender.take().unwrap().send(7).unwrap();
            }
            pin!(&mut task).poll(context)
        }))
    });
    // The task has begun, on a spare: the waiter's thread would never come here.
    starts.recv().unwrap();
    wake.set();
    assert_eq!(block_on(waiter), 7);
}

/// Another task at hand is none that the wait may run, and it is not lost.
#[test]
fn the_only_task_at_hand_is_another_one() {
    let _watchdog = watchdog();
    let (executor, other) = (pool(1), pool(1));
    let own = Arc::clone(&executor);
    let waiter = executor.spawn(async move {
        let (sender, receiver) = channel();
        let unrelated = own.spawn(async move {
            sender.send(thread::current().id()).unwrap();
        });
        unrelated.detach();
        let runs = block_on(other.spawn(async move { receiver.recv().unwrap() }));
        (thread::current().id(), runs)
    });
    let (waits, runs) = block_on(waiter);
    assert_ne!(waits, runs, "it ran in an unrelated wait");
}

/// Which task a poll awaits: the one whose handle it polled last, if that got the poll's waker and the handle is left. A wait in
/// the middle of the poll awaits tasks of its own.
#[test]
fn a_poll_awaits_what_it_polled_last() {
    let _watchdog = watchdog();
    let (executor, elsewhere) = (pool(1), pool(1));
    let (mut kept, other) = (
        executor.spawn(pending::<()>()),
        executor.spawn(pending::<()>()),
    );
    let waker = Waker::from(Arc::new(Wakes::default()));
    let mut awaits_in = |then: &mut dyn FnMut(&mut Context<'_>)| {
        let mut context = Context::from_waker(&waker);
        let poll = |context: &mut Context<'_>| {
            assert!(Pin::new(&mut kept).poll(context).is_pending());
            then(context);
        };
        asking(&mut context, poll).1
    };
    let mut dropped = Some(other);
    let mut polls_and_drops = |context: &mut Context<'_>| {
        let mut task = dropped.take().expect("called once");
        assert!(Pin::new(&mut task).poll(context).is_pending());
    };
    let mut stranger = executor.spawn(pending::<()>());
    let awaited = [
        awaits_in(&mut |_| {}),
        awaits_in(&mut |_| block_on(elsewhere.spawn(Yields(1)))),
        awaits_in(&mut polls_and_drops),
        awaits_in(&mut |_| assert!(poll_once(&mut stranger).is_pending())),
    ];
    assert_eq!(awaited, [kept.id(), kept.id(), None, None]);
}

/// What a task queues before it blocks its thread until that has sent.
type Blocks = fn(&Arc<Executor<'static>>, Sender<()>);

/// A task that blocks its thread on a task of its own pool: a spare comes, as it does where the wait sleeps.
#[test]
fn the_awaited_task_may_block_on_its_own_pool() {
    let _watchdog = watchdog();
    let cases: [(&str, Lane, Blocks); 3] = [
        ("a task at hand", Lane::Normal, |executor, sender| {
            executor
                .spawn(async move { sender.send(()).unwrap() })
                .detach();
        }),
        (
            "a background task that needs the permit of the waiter",
            Lane::Background,
            |executor, sender| {
                let task = async move { sender.send(()).unwrap() };
                executor.spawn_on(Lane::Background, task).detach();
            },
        ),
        ("a task from outside", Lane::Normal, |executor, sender| {
            let executor = Arc::clone(executor);
            let outside = move || {
                executor
                    .spawn(async move { sender.send(()).unwrap() })
                    .detach()
            };
            thread::spawn(outside).join().unwrap();
        }),
    ];
    for (name, lane, blocks) in cases {
        println!("{name}");
        let executor = pool(1);
        let own = Arc::clone(&executor);
        let waiter = executor.spawn_on(lane, async move {
            let inner = Arc::clone(&own);
            block_on(own.spawn(async move {
                let (sender, receiver) = channel();
                blocks(&inner, sender);
                receiver.recv().unwrap();
            }));
        });
        block_on(waiter);
    }
}

/// A task that yields until another one has run, wherever that is queued.
#[test]
fn an_awaited_task_that_yields_leaves_others_their_turn() {
    let _watchdog = watchdog();
    for lane in [Lane::Normal, Lane::Background, Lane::High] {
        let executor = pool(1);
        let own = Arc::clone(&executor);
        let (started, starts) = channel();
        let flag = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&flag);
        let waiter = executor.spawn(async move {
            block_on(own.spawn(async move {
                started.send(()).unwrap();
                while !seen.load(Ordering::Relaxed) {
                    Yields(1).await;
                }
            }));
        });
        starts.recv().unwrap();
        let sets = async move { flag.store(true, Ordering::Relaxed) };
        executor.spawn_on(lane, sets).detach();
        block_on(waiter);
    }
}

/// The task blocks its thread for a task that is pinned to the waiting thread, which only the wait can run.
#[test]
fn a_thread_with_tasks_of_its_own_leaves_the_awaited_task_to_others() {
    let _watchdog = watchdog();
    let executor = pool(1);
    let own = Arc::clone(&executor);
    let (signalled, wake) = signal();
    let (started, starts) = channel();
    let waiter = executor.spawn(async move {
        let (sender, receiver) = channel();
        let pinned = terrace_thread::spawn_local(async move {
            signalled.await;
            sender.send(()).unwrap();
        });
        pinned.detach();
        block_on(own.spawn(async move {
            started.send(()).unwrap();
            receiver.recv().unwrap();
        }));
    });
    starts.recv().unwrap();
    wake.set();
    block_on(waiter);
}

/// The same with a task of a pool without workers, which the waiting thread drives.
#[test]
fn pools_without_workers_go_before_the_awaited_task() {
    // No thread of another test drives the pool.
    in_own_process("pools_without_workers_go_before_the_awaited_task", || {
        let (executor, driven) = (pool(1), pool(0));
        let own = Arc::clone(&executor);
        let (ended, ends) = channel();
        let waiter = executor.spawn(async move {
            block_on(own.spawn(async move {
                let (sender, receiver) = channel();
                driven
                    .spawn(async move { sender.send(()).unwrap() })
                    .detach();
                receiver.recv().unwrap();
            }));
            ended.send(()).unwrap();
        });
        waiter.detach();
        ends.recv().unwrap();
    });
}

/// Such runs nest on the stack no deeper than a small stack allows, and the chain ends.
#[test]
fn a_chain_of_waits_may_be_long() {
    fn chain(executor: &Arc<Executor<'static>>, links: usize) -> usize {
        if links == 0 {
            return 0;
        }
        let own = Arc::clone(executor);
        1 + block_on(executor.spawn(async move { chain(&own, links - 1) }))
    }

    let _watchdog = watchdog();
    let executor = Arc::new(Builder::new().workers(1).stack_size(256 * 1024).build());
    let own = Arc::clone(&executor);
    assert_eq!(
        block_on(executor.spawn(async move { chain(&own, 300) })),
        300
    );
}

/// The panic of the task comes out of the wait that ran it, and of nothing else.
#[test]
fn a_panic_comes_out_of_the_wait() {
    let _watchdog = watchdog();
    let executor = pool(1);
    let own = Arc::clone(&executor);
    let caught = executor.spawn(async move {
        let task: Task<()> = own.spawn(async { std::panic::panic_any(5_u8) });
        let wait = std::panic::AssertUnwindSafe(|| block_on(task));
        std::panic::catch_unwind(wait)
            .unwrap_err()
            .downcast::<u8>()
            .ok()
    });
    assert_eq!(block_on(caught), Some(Box::new(5)));
}
