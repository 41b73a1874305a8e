//! Joins on the threads of a pool: results, panics, who takes part, and halves that wait for each other.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread::{panicking, yield_now};

use terrace_executor::{Builder, Executor, Worker, block_on, join};
use terrace_testing::{payload_of, watchdog};

fn pool(workers: usize) -> Executor<'static> {
    Builder::new().workers(workers).build()
}

fn fib(worker: &Worker, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = worker.join(|worker| fib(worker, n - 1), |worker| fib(worker, n - 2));
    a + b
}

/// As `fib`, by the free function.
fn free_fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| free_fib(n - 1), |_: &Worker| free_fib(n - 2));
    a + b
}

#[test]
fn a_tree_of_joins_is_what_the_serial_program_is() {
    let _watchdog = watchdog();
    for workers in [0, 1, 2, 4, 33] {
        let executor = pool(workers);
        assert_eq!(executor.with_worker(|worker| fib(worker, 22)), 17_711);
        assert_eq!(block_on(executor.spawn(async { free_fib(22) })), 17_711);
        assert_eq!(executor.with_worker(|_| free_fib(15)), 610);
    }
    assert_eq!(free_fib(15), 610);
}

#[test]
fn the_forked_half_is_taken_while_the_other_one_waits_for_it() {
    let _watchdog = watchdog();
    // A guest and a worker; two workers; the same deep in a tree.
    for workers in [1, 2] {
        let executor = pool(workers);
        for _ in 0..200 {
            let (send, receive) = channel();
            executor.join(
                move |_| send.send(7).expect("the other half waits"),
                move |_| {
                    assert_eq!(receive.recv(), Ok(7));
                },
            );
        }
    }
    let executor = pool(2);
    for _ in 0..200 {
        let (send, receive) = channel();
        block_on(executor.spawn(async move {
            join(
                move || send.send(7).expect("the other half waits"),
                move || assert_eq!(receive.recv(), Ok(7)),
            )
        }));
    }
}

/// The halves wait for each other after the call-site has been tiny for long, and while no worker is awake: no push tells
/// a thread of the job.
#[test]
fn halves_of_a_tiny_call_site_may_wait_for_each_other_all_the_same() {
    fn halves(worker: &Worker, wait: bool) {
        let (to_b, from_a) = channel();
        let (to_a, from_b) = channel();
        worker.join(
            move |_| {
                let sent = to_b.send(1);
                if wait {
                    assert!(sent.is_ok(), "b waits");
                    assert_eq!(from_b.recv(), Ok(2));
                }
            },
            move |_| {
                let sent = to_a.send(2);
                if wait {
                    assert!(sent.is_ok(), "a was not run");
                    assert_eq!(from_a.recv(), Ok(1));
                }
            },
        );
    }

    let _watchdog = watchdog();
    let executor = pool(2);
    for _ in 0..5 {
        executor.with_worker(|worker| {
            for _ in 0..5_000 {
                halves(worker, false);
            }
            halves(worker, true);
        });
        block_on(executor.spawn(async {
            Worker::with_current(|worker| {
                for _ in 0..5_000 {
                    halves(worker, false);
                }
                halves(worker, true);
            });
        }));
    }
}

/// rayon 592: a joiner that holds a lock runs nothing that wants the lock.
#[test]
fn a_lock_is_held_across_joins() {
    fn rows(worker: &Worker, lock: &Mutex<u64>, from: u64, to: u64) {
        if to - from > 1 {
            let middle = from.midpoint(to);
            worker.join(
                |worker| rows(worker, lock, from, middle),
                |worker| rows(worker, lock, middle, to),
            );
            return;
        }
        let mut sum = lock.lock().expect("no panic");
        *sum += fib(worker, 8);
    }

    let _watchdog = watchdog();
    let executor = pool(2);
    let lock = Mutex::new(0);
    for _ in 0..20 {
        executor.with_worker(|worker| rows(worker, &lock, 0, 500));
    }
    assert_eq!(lock.into_inner().ok(), Some(20 * 500 * 21));
}

/// Says when it was dropped.
struct Noted<'a>(&'a AtomicUsize);

impl Drop for Noted<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn both_halves_end_before_a_join_unwinds() {
    let _watchdog = watchdog();
    for workers in [0, 1, 2] {
        let executor = pool(workers);
        for round in 0..300 {
            for (a_panics, b_panics) in [(true, false), (false, true), (true, true)] {
                let ended = AtomicUsize::new(0);
                let dropped = AtomicUsize::new(0);
                let unwound = catch_unwind(AssertUnwindSafe(|| {
                    executor.join(
                        |worker| {
                            fib(worker, round % 7);
                            ended.fetch_add(1, Ordering::Relaxed);
                            let result = Noted(&dropped);
                            if a_panics {
                                std::panic::resume_unwind(Box::new("a"));
                            }
                            result
                        },
                        |worker| {
                            fib(worker, round % 9);
                            ended.fetch_add(1, Ordering::Relaxed);
                            let result = Noted(&dropped);
                            if b_panics {
                                std::panic::resume_unwind(Box::new("b"));
                            }
                            result
                        },
                    )
                }));
                let payload = unwound.err().expect("a half panics");
                let expected = if b_panics { "b" } else { "a" };
                assert_eq!(payload.downcast_ref(), Some(&expected));
                assert_eq!(ended.into_inner(), 2);
                assert_eq!(dropped.into_inner(), 2);
            }
        }
        assert_eq!(executor.with_worker(|worker| fib(worker, 10)), 55);
    }
}

/// Both panic by `panic!`, the second one in the guard of the first.
#[test]
fn a_forked_half_may_panic_while_the_inline_half_unwinds() {
    let _watchdog = watchdog();
    let executor = pool(1);
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        executor.join(|_| panic!("the forked half"), |_| panic!("the inline half"))
    }));
    let payload = unwound.map(|_: ((), ())| ()).expect_err("both panic");
    assert_eq!(payload.downcast_ref(), Some(&"the inline half"));
}

#[test]
fn any_number_of_foreign_threads_takes_part() {
    let _watchdog = watchdog();
    for workers in [1, 2, 33] {
        let executor = pool(workers);
        std::thread::scope(|scope| {
            for _ in 0..64 {
                scope.spawn(|| assert_eq!(executor.with_worker(|worker| fib(worker, 15)), 610));
            }
        });
    }
}

#[test]
fn a_thread_forks_in_two_pools_at_once() {
    let _watchdog = watchdog();
    let (one, two) = (pool(2), pool(2));
    let nested = |n| {
        one.with_worker(|outer| {
            outer.join(
                |outer| two.with_worker(|inner| fib(inner, n) + fib(outer, n)),
                |outer| two.with_worker(|inner| fib(outer, n) + fib(inner, n)),
            )
        })
    };
    for _ in 0..50 {
        assert_eq!(nested(12), (288, 288));
    }
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(nested(15), (1220, 1220)));
        }
    });
}

/// A deeper tree than a deque has slots: the rest runs in order.
#[test]
fn joins_without_a_slot_run_in_order() {
    fn chain(worker: &Worker, depth: u32) -> u32 {
        match depth {
            0 => 0,
            _ => {
                let (one, rest) = worker.join(|_| 1, |worker| chain(worker, depth - 1));
                one + rest
            }
        }
    }

    let _watchdog = watchdog();
    let deep = std::thread::Builder::new().stack_size(256 << 20);
    let thread = deep.spawn(|| {
        let executor = pool(2);
        for _ in 0..3 {
            assert_eq!(executor.with_worker(|worker| chain(worker, 20_000)), 20_000);
        }
    });
    thread.expect("starts").join().expect("ends");
}

/// The joiner's own future: half of a join blocks on a task of the pool, and both workers wait.
#[test]
fn halves_block_on_tasks() {
    let _watchdog = watchdog();
    for workers in [1, 2, 4] {
        let executor = pool(workers);
        for round in 0..100 {
            let sum = executor.with_worker(|worker| {
                let (a, b) = worker.join(
                    |_| block_on(executor.spawn(async move { free_fib(round % 12) })),
                    |_| block_on(executor.spawn(async move { free_fib(round % 10) })),
                );
                a + b
            });
            assert_eq!(sum, free_fib(round % 12) + free_fib(round % 10));
        }
    }
}

/// `join` calls the halves that it gets, of which the inline one panics. Whether the forked half sees a panic.
fn forked_half_sees_a_panic(join: impl FnOnce(&mut (dyn FnMut() + Send), fn())) -> bool {
    let mut seen = None;
    let payload = payload_of(|| {
        join(&mut || seen = Some(panicking()), || {
            resume_unwind(Box::new(7))
        });
    });
    assert_eq!(payload.downcast_ref(), Some(&7));
    seen.expect("the forked half has run")
}

#[test]
fn the_forked_half_runs_before_the_join_unwinds() {
    fn deep(worker: &Worker, depth: u32, half: &mut (dyn FnMut() + Send), panics: fn()) {
        if depth == 0 {
            worker.join(|_| half(), |_| panics());
            return;
        }
        worker.join(|_| (), |worker| deep(worker, depth - 1, half, panics));
    }

    let _watchdog = watchdog();
    let executor = pool(1);
    for _ in 0..100 {
        assert!(!forked_half_sees_a_panic(|half, panics| {
            executor.join(|_| half(), |_| panics());
        }));
        // Without a pool, both halves run in order.
        assert!(!forked_half_sees_a_panic(|half, panics| {
            join(half, panics);
        }));
    }
    // More joins than a deque has slots.
    terrace_testing::on_stack_of(256 << 20, move || {
        assert!(!forked_half_sees_a_panic(|half, panics| {
            executor.with_worker(|worker| deep(worker, 20_000, half, panics));
        }));
    });
}

/// A worker has taken the forked half, which forks. The joiner, whose inline half has panicked, takes what that half has forked.
#[test]
fn a_joiner_takes_jobs_before_it_unwinds() {
    let _watchdog = watchdog();
    let executor = pool(1);
    let until = |flag: &AtomicBool| {
        while !flag.load(Ordering::Acquire) {
            yield_now();
        }
    };
    for _ in 0..20 {
        let [taken, ran] = [const { AtomicBool::new(false) }; 2];
        let mut seen = None;
        let job = |_: &Worker| {
            seen = Some(panicking());
            ran.store(true, Ordering::Release);
        };
        let forked = |worker: &Worker| {
            taken.store(true, Ordering::Release);
            worker.join(job, |_| until(&ran));
        };
        let inline = |_: &Worker| {
            until(&taken);
            resume_unwind(Box::new(7))
        };
        let payload = payload_of(|| executor.join(forked, inline));
        assert_eq!(payload.downcast_ref(), Some(&7));
        assert_eq!(seen, Some(false));
    }
}

/// Joins of a thread without a pool: `b` runs first, and a panic of it does not keep `a` from running.
#[test]
fn both_halves_run_in_order_where_no_pool_is() {
    let payload = |halves: [Option<&'static str>; 2]| {
        let ran = Mutex::new(Vec::new());
        let half = |index: usize| {
            ran.lock().unwrap().push(index);
            if let Some(payload) = halves[index] {
                std::panic::panic_any(payload);
            }
            index
        };
        let joined = catch_unwind(AssertUnwindSafe(|| join(|| half(0), || half(1))));
        assert_eq!(*ran.lock().unwrap(), [1, 0]);
        joined.map_err(|payload| *payload.downcast::<&str>().expect("the payload of a half"))
    };
    assert_eq!(payload([None, None]), Ok((0, 1)));
    assert_eq!(payload([Some("a"), None]), Err("a"));
    assert_eq!(payload([None, Some("b")]), Err("b"));
    assert_eq!(payload([Some("a"), Some("b")]), Err("b"));
}
