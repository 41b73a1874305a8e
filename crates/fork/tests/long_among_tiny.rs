//! Long children among tiny ones: a child never waits for a long one beside it while another thread is free.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use terrace_executor::{Builder, Executor, WorkerLoop};
use terrace_fork::scope;
use terrace_testing::watchdog;

/// Scopes of four empty children: enough to make the pool believe that all children are tiny.
fn tiny_scopes(pool: &Executor<'static>) {
    for _ in 0..200 {
        scope(pool, |scope| {
            for _ in 0..4 {
                scope.spawn(async {});
            }
        });
    }
}

/// Unparks a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// A reactor that waits for nothing but wakers.
fn park_on(worker: WorkerLoop<'_>) {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut worker = pin!(worker);
    while worker.as_mut().poll(&mut context).is_pending() {
        thread::park();
    }
}

/// Pools whose workers wait outside of a reactor, and in one each.
fn pools(workers: usize) -> [Executor<'static>; 2] {
    let builder = || Builder::new().workers(workers);
    [builder().build(), builder().worker_main(park_on).build()]
}

/// The first child of each scope computes until its sibling runs. So the sibling has to run on another thread, which nothing
/// but the sentinel can find out.
#[test]
fn a_sibling_of_a_child_that_computes_runs_beside_it() {
    let _watchdog = watchdog();
    for pool in [1, 2, 4].into_iter().flat_map(pools) {
        let pool = &pool;
        for _ in 0..50 {
            tiny_scopes(pool);
            let runs = AtomicBool::new(false);
            scope(pool, |scope| {
                scope.spawn(async {
                    while !runs.load(Ordering::Acquire) {
                        std::hint::spin_loop();
                    }
                });
                scope.spawn(async { runs.store(true, Ordering::Release) });
            });
        }
    }
}

/// The body computes until a child runs that it has spawned.
#[test]
fn a_child_runs_beside_a_body_that_computes() {
    let _watchdog = watchdog();
    for pool in &pools(2) {
        for round in 0..50 {
            tiny_scopes(pool);
            if round % 10 == 0 {
                // The workers have gone to sleep by then.
                thread::sleep(Duration::from_millis(5));
            }
            let runs = AtomicBool::new(false);
            scope(pool, |scope| {
                scope.spawn(async { runs.store(true, Ordering::Release) });
                while !runs.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
            });
        }
    }
}

/// More children wait for each other than there are workers, after tiny scopes. Each is found although all threads that
/// are awake compute.
#[test]
fn as_many_children_compute_at_once_as_there_are_threads() {
    let _watchdog = watchdog();
    for pool in &pools(3) {
        for _ in 0..10 {
            tiny_scopes(pool);
            let running = AtomicUsize::new(0);
            scope(pool, |scope| {
                for _ in 0..4 {
                    scope.spawn(async {
                        running.fetch_add(1, Ordering::AcqRel);
                        while running.load(Ordering::Acquire) < 4 {
                            std::hint::spin_loop();
                        }
                    });
                }
            });
        }
    }
}
