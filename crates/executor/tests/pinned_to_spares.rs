//! Tasks that are pinned to a spare worker: the spare stays until they have ended.

use std::sync::Arc;
use std::thread::{self, ThreadId};

use terrace_executor::{Builder, Executor, RunnerMetrics, Shutdown, Task, block_on};
use terrace_testing::{Signal, on_own_thread, signal};

/// A task that is pinned to the spare of its pool.
struct Pinned {
    executor: Arc<Executor<'static>>,
    /// The task, which returns on which thread it ends.
    task: Task<ThreadId>,
    spare: ThreadId,
    /// Lets the task end.
    go: Signal,
}

/// A pool of one worker and a spare that has a pinned task and no other work. The worker waits no longer.
fn pinned_to_a_spare(builder: Builder) -> Pinned {
    let executor = Arc::new(builder.workers(1).build());
    let inner = Arc::clone(&executor);
    let (sender, receiver) = smol::channel::bounded(1);
    let (worker, spare, task, go) = block_on(executor.spawn(async move {
        let pins = async move {
            let (gone, go) = signal();
            let task = terrace_thread::spawn_local(async move {
                gone.await;
                thread::current().id()
            });
            let sent = sender.send((thread::current().id(), task, go)).await;
            assert!(sent.is_ok(), "the worker waits");
        };
        inner.spawn(pins).detach();
        let (spare, task, go) = block_on(receiver.recv()).expect("is sent");
        (thread::current().id(), spare, task, go)
    }));
    assert_ne!(worker, spare, "the worker waited, so a spare came");
    until(&executor, |spares, parks| spares == 0 || parks > 0);
    Pinned {
        executor,
        task,
        spare,
        go,
    }
}

/// Waits for a number of spares, and of sleeps of all spares.
fn until(executor: &Executor<'static>, has_come: impl Fn(usize, usize) -> bool) {
    let has_come = || {
        let metrics = executor.metrics();
        let spares = metrics.workers().iter().skip(1);
        let parks = spares.map(RunnerMetrics::park_count).sum();
        has_come(metrics.num_spares(), parks)
    };
    while !has_come() {
        thread::yield_now();
    }
}

fn in_each_loop(test: impl Fn(Pinned) + Send + 'static) {
    on_own_thread(move || {
        test(pinned_to_a_spare(Builder::new()));
        let polled = Builder::new().worker_main(|worker| block_on(worker));
        test(pinned_to_a_spare(polled));
    });
}

#[test]
fn a_spare_stays_for_them_and_ends_after_the_last_one() {
    in_each_loop(|pinned| {
        let executor = &pinned.executor;
        // The spare may take some of these.
        for number in 0..100 {
            assert_eq!(block_on(executor.spawn(async move { number })), number);
        }
        pinned.go.set();
        assert_eq!(block_on(pinned.task), pinned.spare);
        until(executor, |spares, _| spares == 0);
    });
}

#[test]
fn a_spare_ends_when_the_last_one_is_cancelled() {
    in_each_loop(|pinned| {
        drop(pinned.task);
        until(&pinned.executor, |spares, _| spares == 0);
    });
}

/// The worker waits again, and the spare takes part. If the watch starts another one, that one ends soon.
#[test]
fn a_spare_that_sleeps_runs_what_the_worker_waits_for() {
    in_each_loop(|pinned| {
        let executor = &pinned.executor;
        for round in 0..20 {
            let inner = Arc::clone(executor);
            let (sender, receiver) = smol::channel::bounded(1);
            let outer = executor.spawn(async move {
                let sends = async move { sender.send(round).await.expect("the other waits") };
                inner.spawn(sends).detach();
                block_on(receiver.recv()).expect("is sent")
            });
            assert_eq!(block_on(outer), round);
        }
        until(executor, |spares, _| spares == 1);
        pinned.go.set();
        assert_eq!(block_on(pinned.task), pinned.spare);
    });
}

#[test]
fn a_pool_that_ends_drops_them() {
    in_each_loop(|pinned| {
        pinned.executor.set_workers(0).expect("none is started");
        until(&pinned.executor, |spares, _| spares == 0);
        assert_eq!(block_on(pinned.task.fallible()), None);
    });
    in_each_loop(|pinned| {
        let executor = &pinned.executor;
        executor
            .shutdown(Shutdown::FinishAll, None)
            .expect("no limit");
        assert_eq!(executor.threads(), 0);
        assert_eq!(block_on(pinned.task.fallible()), None);
    });
    in_each_loop(|pinned| {
        drop(pinned.executor);
        assert_eq!(block_on(pinned.task.fallible()), None);
    });
}
