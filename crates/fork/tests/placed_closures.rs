//! Closures as children of scopes whose thread is chosen: a worker, the scope's thread, every worker.

mod pools;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, sleep};
use std::time::Duration;

use pools::{WORKERS, with_each};
use terrace_executor::{Broadcast, Builder, Worker, block_on};
use terrace_fork::{MemberScope, scope};
use terrace_testing::{OnDrop, completed_elsewhere, text_of, watchdog};

#[test]
fn a_child_runs_on_the_worker_that_it_was_spawned_on() {
    let _watchdog = watchdog();
    for workers in [1, 2, 5] {
        let executor = &Builder::new().workers(workers).build();
        let ids: Vec<_> = executor
            .worker_spawners()
            .iter()
            .map(|worker| worker.thread_id())
            .collect();
        let calls = &AtomicUsize::new(0);
        let count = |own| {
            assert_eq!(terrace_thread::id(), own);
            calls.fetch_add(1, Ordering::Relaxed);
        };
        let count = &count;
        let in_scope = || {
            scope(executor, |s| {
                for (worker, &id) in ids.iter().enumerate() {
                    s.spawn_on(worker, move |_: &Worker| count(id));
                    s.spawn_on(worker, async move {
                        completed_elsewhere().await;
                        count(id);
                    });
                }
            });
        };
        in_scope();
        // A worker waits for what it has sent to itself.
        let in_scope = &in_scope;
        scope(executor, |outer| {
            outer.spawn_on(0, move |_: &Worker| in_scope())
        });
        thread::scope(|threads| _ = threads.spawn(in_scope));
        assert_eq!(calls.load(Ordering::Relaxed), 3 * 2 * workers);
    }
}

#[test]
fn without_that_worker_the_spawn_panics_and_the_scope_ends() {
    let _watchdog = watchdog();
    with_each(|executor| {
        let ran = &AtomicUsize::new(0);
        let workers = executor.workers();
        let message = text_of(|| {
            scope(executor, |s| {
                s.spawn(move |_: &Worker| _ = ran.fetch_add(1, Ordering::Relaxed));
                s.spawn_on(workers, |_: &Worker| unreachable!());
            });
        });
        let expected = format!("spawn_on: there is no worker {workers}, the pool has {workers}");
        assert_eq!(message, expected);
        assert!(ran.load(Ordering::Relaxed) <= 1);
    });
}

#[test]
fn local_children_stay_on_their_thread() {
    let _watchdog = watchdog();
    with_each(|executor| {
        let calls = &AtomicUsize::new(0);
        // Borrows what is neither Send nor Sync.
        let own = Cell::new(0);
        scope(executor, |s| {
            let rc = Rc::new(1);
            s.spawn_local(move |_: &Worker| {
                let _ = rc.clone();
                calls.fetch_add(*rc, Ordering::Relaxed);
            });
            s.spawn_local(async {
                completed_elsewhere().await;
                own.set(own.get() + 1);
            });
            // Also out of a child that stays there.
            s.spawn_local(move |_: &Worker| {
                s.spawn_local(move |_: &Worker| _ = calls.fetch_add(2, Ordering::Relaxed));
            });
        });
        assert_eq!((own.get(), calls.load(Ordering::Relaxed)), (1, 3));
    });
}

#[test]
fn another_thread_spawns_no_local_children() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(1).build();
    let message = text_of(|| {
        scope(&executor, |s| {
            s.spawn_on(0, |_: &Worker| s.spawn_local(async {}));
        });
    });
    assert!(message.starts_with("spawn_local: this is not the thread of the scope"));
}

/// The scope is opened inside of a task of its thread: the wait still runs what the scope has sent to the thread.
#[test]
fn local_children_run_where_a_local_task_opens_the_scope() {
    let _watchdog = watchdog();
    for workers in WORKERS {
        let executor = Builder::new().workers(workers).build();
        let task = terrace_thread::spawn_local(async move {
            let calls = Cell::new(0);
            scope(&executor, |s| {
                s.spawn_local(|_: &Worker| calls.set(calls.get() + 1));
                s.spawn_local(async { calls.set(calls.get() + 1) });
            });
            calls.get()
        });
        assert_eq!(block_on(task), 2);
    }
}

#[test]
fn a_broadcast_calls_on_every_worker() {
    let _watchdog = watchdog();
    with_each(|executor| {
        let parts = executor.workers().max(1);
        let calls: Vec<_> = (0..parts).map(|_| AtomicUsize::new(0)).collect();
        let note = |part: Broadcast<'_>| {
            assert_eq!((part.participants, part.worker.is_in_pool()), (parts, true));
            calls[part.index].fetch_add(1, Ordering::Relaxed);
        };
        let note = &note;
        scope(executor, |s| s.spawn_broadcast(note));
        scope(executor, |outer| {
            outer.spawn(move |worker: &Worker| worker.scope(|s| s.spawn_broadcast(note)));
        });
        let calls = calls.into_iter().map(AtomicUsize::into_inner);
        assert!(calls.eq(std::iter::repeat_n(2, parts)));
    });
}

#[test]
fn a_panic_of_a_broadcast_is_the_scopes() {
    let _watchdog = watchdog();
    with_each(|executor| {
        let message = text_of(|| {
            scope(executor, |s| {
                s.spawn_broadcast(|part| panic!("part {}", part.index));
            });
        });
        assert_eq!(message, "part 0");
    });
}

/// The parts have ended before the caller has told all workers of them.
#[test]
fn a_panic_of_a_broadcasts_destructor_is_the_scopes() {
    let _watchdog = watchdog();
    for workers in 0..=2 {
        let executor = Builder::new()
            .workers(workers)
            // The one who tells a worker calls this.
            .on_thread_start(|| terrace_thread::set_on_ready(|| sleep(Duration::from_millis(20))))
            .build();
        executor.broadcast(|_| ());
        let message = text_of(|| {
            scope(&executor, |s| {
                let bomb = OnDrop(|| panic!("destructor"));
                let spawn = || s.spawn_broadcast(move |_| _ = &bomb);
                catch_unwind(AssertUnwindSafe(spawn)).expect("a part drops the closure");
            });
        });
        assert_eq!(message, "destructor");
    }
}
