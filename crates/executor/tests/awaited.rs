//! A worker that blocks on a task runs that very task, if nothing else can wake its wait and the task is at hand.

use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::{self, ThreadId};

use terrace_executor::{Builder, Executor, Task, block_on};
use terrace_local::task::awaited::asking;
use terrace_testing::{Yields, poll_once, signal, watchdog};

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

/// Which task a poll awaits: the one whose handle it polled last, as long as there is that handle. A wait in the middle of
/// the poll awaits tasks of its own.
#[test]
fn a_poll_awaits_what_it_polled_last() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(0).build();
    let elsewhere = pool(1);
    let mut kept = executor.spawn(pending::<()>());
    let mut awaits_in = |then: &mut dyn FnMut()| {
        let poll = || {
            assert!(poll_once(&mut kept).is_pending());
            then();
        };
        asking(poll).1
    };
    let mut dropped = Some(executor.spawn(pending::<()>()));
    let mut polls_and_drops = || {
        if let Some(mut task) = dropped.take() {
            assert!(poll_once(&mut task).is_pending());
        }
    };
    let mut waits = || assert_eq!(block_on(elsewhere.spawn(Yields(1))), ());
    let awaited = [
        awaits_in(&mut || {}),
        awaits_in(&mut waits),
        awaits_in(&mut polls_and_drops),
    ];
    assert_eq!(asking(|| ()).1, None);
    assert_eq!(awaited, [kept.id(), kept.id(), None]);
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
