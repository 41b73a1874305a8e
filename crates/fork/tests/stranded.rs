//! Jobs of which no thread was told, and that only a sleeping joiner, or a thread that is not there yet, would run.

use std::hint;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use terrace_executor::{Builder, Executor, Worker, block_on};
use terrace_fork::scope;
use terrace_testing::{signal, watchdog};

fn until(flag: &AtomicBool) {
    while !flag.load(Ordering::SeqCst) {
        hint::spin_loop();
    }
}

/// A join of one call-site. With a flag, its inline half spins until the forked half has run.
fn tiny(worker: &Worker, flag: Option<&AtomicBool>) {
    worker.join(
        |_| {
            flag.iter()
                .for_each(|flag| flag.store(true, Ordering::SeqCst))
        },
        |_| flag.iter().for_each(|flag| until(flag)),
    );
}

/// The call-site has always been tiny, so its push tells no thread. The only worker is inside of the join, and uses its processor. The
/// joiner of that sleeps. The watch starts a spare.
#[test]
fn a_tiny_job_is_taken_while_its_joiner_sleeps_and_no_worker_is_left() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(1).build();
    for _ in 0..4 {
        executor.with_worker(|worker| (0..2_000).for_each(|_| tiny(worker, None)));
        let (began, ran) = (AtomicBool::new(false), AtomicBool::new(false));
        executor.with_worker(|worker| {
            worker.join(
                |worker| {
                    began.store(true, Ordering::SeqCst);
                    // The joiner goes to sleep.
                    thread::sleep(Duration::from_millis(3));
                    tiny(worker, Some(&ran));
                },
                |_| until(&began),
            );
        });
    }
}

/// The outer join has given its job away, so the deque is empty, when its inline half waits. The inner join is not the first push of its
/// call-site in that half, yet it is the first one after the wait: it tells at least that the thread forks.
#[test]
fn the_first_push_after_a_wait_inside_of_a_half_is_told() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(1).build();
    for _ in 0..8 {
        let (waits, wakes) = signal();
        let waker = thread::spawn(move || {
            // No worker watches any more.
            thread::sleep(Duration::from_millis(20));
            wakes.set();
        });
        let (sender, receiver) = channel();
        executor.with_worker(|worker| {
            worker.join(
                |_| (),
                |worker| {
                    block_on(waits);
                    worker.join(
                        move |_| sender.send(()).unwrap(),
                        move |_| receiver.recv().unwrap(),
                    );
                },
            );
        });
        waker.join().unwrap();
    }
}

/// Joins until the flag is up, and calls `begun` in the middle of the first join. At nearly each look from outside a job is queued, and
/// another one than at the last.
fn join_until(worker: &Worker, over: &AtomicBool, begun: impl FnOnce() + Send) {
    let mut begun = Some(begun);
    while !over.load(Ordering::SeqCst) {
        let begun = begun.take();
        let inline = move |_: &Worker| {
            begun.into_iter().for_each(|begun| begun());
            (0..20_000).for_each(|_| hint::spin_loop());
        };
        worker.join(|_| (), inline);
    }
}

/// Calls `f` with a pool whose only worker is blocked until a message comes, while another thread waits in a scope for the worker. The
/// flag goes up when that wait has ended.
fn with_a_blocked_worker(f: impl FnOnce(&Executor<'static>, Sender<()>, &AtomicBool)) {
    let executor = Builder::new().workers(1).build();
    executor.with_worker(|worker| (0..2_000).for_each(|_| tiny(worker, None)));
    let (frees, blocks) = channel::<()>();
    let (begins, began) = channel();
    let (done, end) = signal();
    executor
        .spawn(async move {
            begins.send(()).unwrap();
            blocks.recv().unwrap();
            end.set();
        })
        .detach();
    began.recv().unwrap();
    let over = AtomicBool::new(false);
    thread::scope(|threads| {
        threads.spawn(|| {
            scope(&executor, |scope| {
                scope.spawn(done);
            });
            over.store(true, Ordering::SeqCst);
        });
        f(&executor, frees, &over);
    });
}

/// A task frees the worker. A guest that joins all the time pops its own jobs: that moves no task. The watch starts a spare.
#[test]
fn a_guest_that_joins_hides_no_blocked_worker() {
    let _watchdog = watchdog();
    with_a_blocked_worker(|executor, frees, over| {
        let free = || {
            executor
                .spawn(async move { frees.send(()).unwrap() })
                .detach();
        };
        executor.with_worker(|worker| join_until(worker, over, free));
    });
}

/// A guest frees the worker when its job has run, of which no thread was told. Another guest pops its own jobs all the time: that does not
/// move this one.
#[test]
fn a_guest_that_joins_hides_no_job_of_another() {
    let _watchdog = watchdog();
    with_a_blocked_worker(|executor, frees, over| {
        thread::scope(|threads| {
            threads.spawn(move || {
                let ran = AtomicBool::new(false);
                executor.with_worker(|worker| tiny(worker, Some(&ran)));
                frees.send(()).unwrap();
            });
            executor.with_worker(|worker| join_until(worker, over, || ()));
        });
    });
}

/// Both workers wait, and no spare may start. The job lies inside of the first one's wait, so the second one has to run it.
#[test]
fn the_last_resort_leaves_its_own_job_to_the_other_waiter() {
    fn join(worker: &Worker, forked: impl FnOnce() + Send, inline: impl FnOnce() + Send) {
        worker.join(|_| forked(), |_| inline());
    }

    let _watchdog = watchdog();
    let executor = Builder::new().workers(2).spares(false).build();
    executor.with_worker(|worker| (0..2_000).for_each(|_| join(worker, || (), || ())));
    for _ in 0..20 {
        let (begins, began) = channel();
        let (ended, end) = signal();
        let (ran, run) = signal();
        let second = executor.spawn(async move {
            begins.send(()).unwrap();
            block_on(ended);
        });
        began.recv().unwrap();
        let first = executor.spawn(async move {
            Worker::with_current(|worker| join(worker, || run.set(), || block_on(ran)));
            end.set();
        });
        block_on(first);
        block_on(second);
    }
}

/// So long that no sentinel is left which would look at the scope's children.
const PAUSE: Duration = Duration::from_millis(150);

/// The body of a scope blocks its thread until a child has run, which another child spawns, or which a thread of no pool wakes.
#[test]
fn a_worker_is_woken_for_a_child_beside_a_body_that_blocks() {
    for spawned in [false, true] {
        let _watchdog = watchdog();
        let executor = Builder::new().workers(2).build();
        let (runs, ran) = channel();
        scope(&executor, |s| {
            if spawned {
                s.spawn(async move {
                    thread::sleep(PAUSE);
                    let (inner, inner_ran) = channel();
                    s.spawn(async move { inner.send(()).unwrap() });
                    inner_ran.recv().unwrap();
                    runs.send(()).unwrap();
                });
            } else {
                let (future, wake) = signal();
                s.spawn(async move {
                    future.await;
                    runs.send(()).unwrap();
                });
                thread::spawn(move || {
                    thread::sleep(PAUSE);
                    wake.set();
                });
            }
            ran.recv().unwrap();
        });
    }
}
