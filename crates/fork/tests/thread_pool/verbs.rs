//! What members call: by their handle, and by the functions that find it.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use terrace_fork::{MemberScope, ThreadPool, Worker, Yield, here};
use terrace_testing::{Drops, Yields, text, watchdog};

/// Each size, on a new pool.
fn pools(test: impl Fn(&ThreadPool, usize)) {
    for workers in [0, 1, 2] {
        let pool = ThreadPool::new();
        assert_eq!(pool.resize_to(workers), workers);
        test(&pool, workers);
    }
}

#[test]
fn a_handle_spawns_closures_and_futures() {
    let _watchdog = watchdog();
    pools(|pool, _| {
        let (sender, sums) = channel();
        let (task, other) = pool.with_worker(|worker| {
            let nested = sender.clone();
            worker.spawn(move |worker: &Worker| {
                // Spawned by a closure, wherever it runs.
                worker.spawn(move |_: &Worker| nested.send(1).unwrap());
                let (a, b) = worker.join(|_| 2, |_| 3);
                sender.send(a + b).unwrap();
            });
            let task = worker.spawn(async {
                Yields(2).await;
                7
            });
            (task, here::spawn(async { 8 }))
        });
        assert_eq!(pool.block_on(async { (task.await, other.await) }), (7, 8));
        // Both closures are run by this thread, too, if there are no workers.
        let mut got = Vec::new();
        while got.len() < 2 {
            if pool.yield_now() == Yield::Idle {
                thread::yield_now();
            }
            got.extend(sums.try_iter());
        }
        got.sort();
        assert_eq!(got, [1, 5]);
    });
}

#[test]
fn work_for_one_worker_runs_there() {
    let _watchdog = watchdog();
    pools(|pool, workers| {
        let name = || async { thread::current().id() };
        for worker in 0..workers {
            let one = pool.with_worker(|handle| handle.spawn_on(worker, name()));
            let same = pool.with_worker(|_| here::spawn_on(worker, name()));
            assert_eq!(pool.block_on(one), pool.block_on(same));
        }
        let fails =
            AssertUnwindSafe(|| pool.with_worker(|handle| handle.spawn_on(workers, name())));
        let payload = catch_unwind(fails).expect_err("there is no such worker");
        assert!(text(&*payload).contains("no worker"), "{}", text(&*payload));
    });
}

#[test]
fn local_work_stays_on_its_thread() {
    let _watchdog = watchdog();
    pools(|pool, _| {
        let here = thread::current().id();
        let runs = Rc::new(Cell::new(0));
        pool.with_worker(|worker| {
            let count = runs.clone();
            worker.spawn_local(move |worker: &Worker| {
                assert_eq!(worker.join(|_| 1, |_| 2), (1, 2));
                count.set(count.get() + 1);
            });
            let count = runs.clone();
            let task = here::spawn_local(async move {
                Yields(1).await;
                count.set(count.get() + 1);
                thread::current().id()
            });
            assert_eq!(worker.block_on(task), here);
        });
        let count = runs.clone();
        let task = pool.spawn_local(async move { count.set(count.get() + 1) });
        pool.block_on(task);
        assert_eq!(runs.get(), 3);
        // On a worker, if there is one.
        let elsewhere = pool.spawn(async {
            let task = here::spawn_local(async {
                let five = Rc::new(5);
                Yields(1).await;
                (*five, thread::current().id())
            });
            let here = thread::current().id();
            let (five, there) = here::block_on(task);
            (five, there == here)
        });
        assert_eq!(pool.block_on(elsewhere), (5, true));
    });
}

#[test]
fn a_handle_broadcasts() {
    let _watchdog = watchdog();
    pools(|pool, workers| {
        let participants = workers.max(1);
        let expected: Vec<_> = (0..participants).map(|part| (part, participants)).collect();
        let by_handle =
            pool.with_worker(|worker| worker.broadcast(|part| (part.index, part.participants)));
        assert_eq!(by_handle, expected);
        // Without workers, a thread of another test may poll the task, in its own place.
        if workers > 0 {
            let found = async { here::broadcast(|part| (part.index, part.participants)) };
            assert_eq!(pool.block_on(pool.spawn(found)), expected);
        }
        let (sender, parts) = channel();
        pool.with_worker(|_| here::spawn_broadcast(move |part| sender.send(part.index).unwrap()));
        let mut got = Vec::new();
        while got.len() < participants {
            if pool.yield_now() == Yield::Idle {
                thread::yield_now();
            }
            got.extend(parts.try_iter());
        }
        got.sort();
        assert_eq!(got, (0..participants).collect::<Vec<_>>());
    });
}

#[test]
fn a_handle_opens_scopes() {
    let _watchdog = watchdog();
    pools(|pool, _| {
        let here = thread::current().id();
        let mut items = vec![0; 40];
        let mut bodies = Vec::new();
        pool.with_worker(|worker| {
            worker.scope(|scope| {
                bodies.push(thread::current().id());
                for item in &mut items {
                    scope.spawn(async move {
                        Yields(1).await;
                        here::scope(|inner| inner.spawn(async { *item += 1 }));
                    });
                }
            });
        });
        assert_eq!((bodies, items), (vec![here], vec![1; 40]));
    });
}

#[test]
fn a_thread_of_no_pool_works_alone() {
    let _watchdog = watchdog();
    let mut items = [0; 4];
    here::scope(|scope| {
        for item in &mut items {
            scope.spawn(async move { *item += 1 });
        }
    });
    assert_eq!(items, [1; 4]);
    assert_eq!(here::join(|| 1, || 2), (1, 2));
    let shares = here::broadcast(|part| (part.index, part.participants, part.worker.is_in_pool()));
    assert_eq!(shares, [(0, 1, false)]);
    assert_eq!(here::block_on(here::spawn_local(async { 3 })), 3);
    for verb in ["spawn", "spawn_on", "spawn_broadcast"] {
        let payload = catch_unwind(|| match verb {
            "spawn" => here::spawn(|_: &Worker| ()),
            "spawn_on" => here::spawn_on(0, |_: &Worker| ()),
            _ => here::spawn_broadcast(|_| ()),
        });
        let payload = payload.expect_err("there is no pool");
        let said = text(&*payload);
        assert!(said.starts_with(&format!("{verb}: this thread")), "{said}");
    }
}

#[test]
fn a_stolen_half_has_migrated() {
    let _watchdog = watchdog();
    let pool = ThreadPool::new();
    pool.resize_to(1);
    pool.with_worker(|worker| {
        assert!(!worker.migrated());
        // Both halves wait for each other, so another thread runs the first.
        let meet = Barrier::new(2);
        let (first, second) = worker.join(
            |worker| {
                meet.wait();
                let (a, b) = worker.join(Worker::migrated, Worker::migrated);
                (worker.migrated(), a, b)
            },
            |worker| {
                meet.wait();
                worker.migrated()
            },
        );
        assert_eq!((first.0, second), (true, false));
        assert!(first.2, "it is a part of the stolen half");
        assert!(!worker.migrated());
        // Nor has what the thief runs afterwards.
        for index in 0..worker.num_members() {
            let (sender, migrated) = channel();
            worker.spawn_on(index, move |worker: &Worker| {
                sender.send(worker.migrated()).unwrap()
            });
            assert_eq!(migrated.recv(), Ok(false));
        }
    });
}

#[test]
fn a_member_of_an_empty_pool_gets_help_when_workers_start() {
    let _watchdog = watchdog();
    let pool = ThreadPool::new();
    pool.with_worker(|worker| {
        assert_eq!(worker.join(|_| 1, |_| 2), (1, 2));
        pool.populate();
        let meet = Barrier::new(2);
        worker.join(|_| meet.wait(), |_| meet.wait());
    });
}

/// A handle with which two halves meet, so another thread runs one of them.
fn meets(worker: &Worker) {
    let meet = Barrier::new(2);
    worker.join(|_| meet.wait(), |_| meet.wait());
}

fn is_of(worker: Option<&Worker>, pool: &ThreadPool) -> bool {
    worker.is_some_and(|worker| worker.executor() == Some(pool.id()))
}

/// The worker takes its place only there. The place of the call in the other pool stays the innermost.
#[test]
fn a_worker_joins_for_the_first_time_inside_of_another_pool() {
    let _watchdog = watchdog();
    static OUTER: ThreadPool = ThreadPool::new();
    static INNER: ThreadPool = ThreadPool::new();
    OUTER.resize_to(2);
    INNER.resize_to(1);
    OUTER.block_on(OUTER.spawn(async {
        INNER.with_worker(|_| {
            OUTER.get_worker(|worker| meets(worker.unwrap()));
            assert!(Worker::with_current(|worker| is_of(Some(worker), &INNER)));
        });
        assert!(Worker::with_current(|worker| is_of(Some(worker), &OUTER)));
        OUTER.get_worker(|worker| meets(worker.unwrap()));
    }));
    OUTER.depopulate();
    INNER.depopulate();
}

#[test]
fn each_pool_finds_its_member_inside_of_another() {
    static OUTER: ThreadPool = ThreadPool::new();
    static INNER: ThreadPool = ThreadPool::new();

    fn check() {
        assert!(INNER.get_worker(|worker| worker.is_none()));
        INNER.with_worker(|worker| {
            assert!(is_of(Some(worker), &INNER));
            assert!(INNER.get_worker(|worker| is_of(worker, &INNER)));
            assert_eq!((worker.num_members(), here::num_members()), (1, 1));
            OUTER.get_worker(|worker| {
                assert!(is_of(worker, &OUTER));
                assert_eq!(worker.unwrap().num_members(), 2);
                meets(worker.unwrap());
            });
            assert!(Worker::with_current(|worker| is_of(Some(worker), &INNER)));
            OUTER.with_worker(|worker| {
                assert!(is_of(Some(worker), &OUTER));
                INNER.get_worker(|worker| meets(worker.unwrap()));
            });
        });
        OUTER.get_worker(|worker| meets(worker.unwrap()));
    }

    let _watchdog = watchdog();
    OUTER.resize_to(2);
    INNER.resize_to(1);
    assert!(OUTER.get_worker(|worker| worker.is_none()));
    assert_ne!(OUTER.id(), INNER.id());
    assert_eq!(Worker::with_current(Worker::executor), None);
    OUTER.with_worker(|_| check());
    for _ in 0..4 {
        // On a worker, which has forked before or not.
        OUTER.block_on(OUTER.spawn(async { check() }));
    }
    assert!(OUTER.get_worker(|worker| worker.is_none()));
    OUTER.depopulate();
    INNER.depopulate();
}

#[test]
fn panics_of_closures_reach_the_handler() {
    let _watchdog = watchdog();
    pools(|pool, workers| {
        let said = Arc::new(Mutex::new(Vec::new()));
        let theirs = said.clone();
        let done = Arc::new(AtomicUsize::new(0));
        pool.set_panic_handler(move |payload| {
            theirs.lock().unwrap().push(text(&*payload).to_owned())
        });
        let ends = done.clone();
        pool.with_worker(|worker| {
            worker.spawn(|_: &Worker| panic!("a closure"));
            worker.spawn_local(|_: &Worker| panic!("a local closure"));
            if workers > 0 {
                worker.spawn_on(0, |_: &Worker| panic!("a pinned closure"));
            }
            worker.spawn(move |_: &Worker| {
                ends.fetch_add(1, Ordering::Relaxed);
            });
        });
        let wanted = 2 + usize::from(workers > 0);
        while said.lock().unwrap().len() < wanted || done.load(Ordering::Relaxed) == 0 {
            if pool.yield_now() == Yield::Idle {
                thread::yield_now();
            }
        }
        said.lock().unwrap().sort();
        let expected = ["a closure", "a local closure", "a pinned closure"];
        assert_eq!(*said.lock().unwrap(), expected[..wanted]);
    });
}

#[test]
fn a_payload_without_a_handler_is_dropped_and_a_handlers_own_panic_stays() {
    let _watchdog = watchdog();
    let (pool, drops) = (ThreadPool::new(), Drops::new());
    pool.handle_panic(Box::new(drops.value()));
    assert_eq!(drops.count(), 1);
    pool.set_panic_handler(|payload| std::panic::resume_unwind(payload));
    pool.handle_panic(Box::new(drops.value()));
    assert_eq!(drops.count(), 2);
}
