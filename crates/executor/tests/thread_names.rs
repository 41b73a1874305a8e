//! The user's code names threads: it may use the executor, wait, panic, and return any name.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

use terrace_executor::{Builder, Shutdown, StaticExecutor, block_on};
use terrace_testing::in_own_process;

type Own = Arc<OnceLock<&'static StaticExecutor>>;

/// An executor without workers, and the closure that will name its later workers.
fn start(
    name: impl Fn(&'static StaticExecutor, usize) -> String + Send + Sync + 'static,
) -> &'static StaticExecutor {
    let own = Own::default();
    let theirs = own.clone();
    let executor = Builder::new()
        .workers(0)
        .thread_name(move |index| name(theirs.get().expect("there is one"), index))
        .try_build_static()
        .unwrap();
    assert!(own.set(executor).is_ok());
    executor
}

fn name_of_a_worker(executor: &'static StaticExecutor) -> String {
    block_on(executor.spawn(async { thread::current().name().unwrap().to_owned() }))
}

/// The call of `set_workers` that the name closure is in does what the closure asks for.
#[test]
fn a_name_resizes() {
    in_own_process("a_name_resizes", || {
        for (asked, in_name, then) in [(1, 1, 1), (1, 3, 3), (3, 1, 1), (2, 0, 0)] {
            let executor = start(move |own, index| {
                own.set_workers(in_name).unwrap();
                format!("named {index}")
            });
            executor.set_workers(asked).unwrap();
            assert_eq!(executor.workers(), then);
            assert_eq!(block_on(executor.spawn(async { 1 })), 1);
            if then > 0 {
                assert!(name_of_a_worker(executor).starts_with("named "));
            }
            executor.shutdown(Shutdown::RunQueued, None).unwrap();
        }
    });
}

/// A thread that names another one is inside of no task of the executor.
#[test]
fn a_name_waits_for_the_end_of_all_tasks() {
    in_own_process("a_name_waits_for_the_end_of_all_tasks", || {
        let executor = start(|own, index| {
            own.wait_idle(None).unwrap();
            format!("named {index}")
        });
        let task = executor.spawn(async { 1 });
        executor.set_workers(1).unwrap();
        assert_eq!(block_on(task), 1);
        assert_eq!(name_of_a_worker(executor), "named 0");
        executor.shutdown(Shutdown::RunQueued, None).unwrap();
    });
}

/// The thread that is named is a spare.
#[test]
fn a_spares_name_resizes() {
    in_own_process("a_spares_name_resizes", || {
        let executor = start(move |own, index| {
            if index > 0 && own.workers() == 1 {
                own.set_workers(3).unwrap();
            }
            format!("named {index}")
        });
        executor.set_workers(1).unwrap();
        // The only worker waits, so that a spare comes.
        let waits = executor.spawn(async {
            let [first, second] = [1, 2].map(|number| executor.spawn(async move { number }));
            block_on(async { first.await + second.await })
        });
        assert_eq!(block_on(waits), 3);
        assert_eq!(executor.workers(), 3);
        assert!(executor.threads() >= 3, "{executor:?}");
        executor.shutdown(Shutdown::RunQueued, None).unwrap();
    });
}

#[test]
fn a_name_waits_for_the_pool() {
    in_own_process("a_name_waits_for_the_pool", || {
        let executor =
            start(|own, index| block_on(own.spawn(async move { format!("named {index}") })));
        for workers in [1, 3, 0, 2] {
            executor.set_workers(workers).unwrap();
            assert_eq!(executor.workers(), workers);
        }
        assert!(name_of_a_worker(executor).starts_with("named "));
        executor.shutdown(Shutdown::RunQueued, None).unwrap();
    });
}

/// The name of a spare, which a worker starts because all workers wait: the closure that makes the name waits as well.
#[test]
fn the_name_of_a_spare_waits() {
    in_own_process("the_name_of_a_spare_waits", || {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = calls.clone();
        let executor = start(move |own, index| {
            counted.fetch_add(1, Ordering::Relaxed);
            let names = [(); 2].map(|()| own.spawn(async move { format!("named {index}") }));
            names.map(block_on).concat()
        });
        executor.set_workers(1).unwrap();
        // Two tasks at hand, here and in the closure, so a worker runs neither in its wait.
        let chain = executor.spawn(async {
            let tasks = [(); 2].map(|()| executor.spawn(async { 1 }));
            tasks.into_iter().map(block_on).sum::<i32>()
        });
        assert_eq!(block_on(chain), 2);
        executor.shutdown(Shutdown::RunQueued, None).unwrap();
        assert!(calls.load(Ordering::Relaxed) < 100, "names call for names");
    });
}

/// Also that of a spare, which a worker starts in the middle of a wait.
#[test]
fn a_name_panics() {
    in_own_process("a_name_panics", || {
        let heard = Arc::new(AtomicUsize::new(0));
        let theirs = heard.clone();
        let executor = Builder::new()
            .workers(1)
            .thread_name(|index| panic!("no name for {index}"))
            .panic_handler(move |_| {
                theirs.fetch_add(1, Ordering::Relaxed);
            })
            .try_build_static()
            .unwrap();
        assert_eq!(name_of_a_worker(executor), "terrace-0");
        assert_eq!(heard.load(Ordering::Relaxed), 1);
        let chain = executor.spawn(async {
            // Two tasks at hand, so the worker runs neither in its wait.
            let tasks = [(); 2].map(|()| executor.spawn(async { 1 }));
            tasks.into_iter().map(block_on).sum::<i32>()
        });
        assert_eq!(block_on(chain), 2);
        executor.shutdown(Shutdown::RunQueued, None).unwrap();
        // The watch may start one more where the first takes long to come.
        let heard = heard.load(Ordering::Relaxed);
        assert!(heard >= 2, "one worker and at least one spare: {heard}");
    });
}

#[test]
fn a_name_with_a_nul() {
    in_own_process("a_name_with_a_nul", || {
        let executor = start(|_, index| format!("a\0b{index}"));
        executor.set_workers(1).unwrap();
        assert_eq!(name_of_a_worker(executor), "a\u{fffd}b0");
        executor.shutdown(Shutdown::RunQueued, None).unwrap();
    });
}

/// It ends the threads that it is to name.
#[test]
fn a_name_shuts_down() {
    in_own_process("a_name_shuts_down", || {
        let executor = start(|own, index| {
            if index > 0 {
                own.shutdown(Shutdown::RunQueued, None).unwrap();
            }
            format!("named {index}")
        });
        executor.set_workers(3).unwrap();
        assert_eq!(executor.workers(), 0);
        assert_eq!(block_on(executor.spawn(async { 1 })), 1);
    });
}
