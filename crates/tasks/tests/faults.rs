//! What comes of bad input, and of the end of a pool or of the process.
#![cfg(feature = "multi_threaded")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::exit;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use terrace_tasks::{
    AsyncComputeTaskPool, ComputeTaskPool, IoTaskPool, TaskPool, TaskPoolBuilder, block_on,
};
use terrace_testing::{in_own_process, text_of, this_program, watchdog};

fn pool(threads: usize) -> TaskPool {
    TaskPoolBuilder::new().num_threads(threads).build()
}

#[test]
fn one_of_many_first_calls_makes_the_pool() {
    in_own_process("one_of_many_first_calls_makes_the_pool", || {
        let made = AtomicUsize::new(0);
        let counts = thread::scope(|scope| {
            let calls = Vec::from_iter((1..=4).map(|threads| {
                let made = &made;
                scope.spawn(move || {
                    let make = || {
                        made.fetch_add(1, Ordering::Relaxed);
                        pool(threads)
                    };
                    ComputeTaskPool::get_or_init(make).thread_num()
                })
            }));
            Vec::from_iter(calls.into_iter().map(|call| call.join().unwrap()))
        });
        assert_eq!(made.into_inner(), 1);
        assert_eq!(counts, [ComputeTaskPool::get().thread_num(); 4]);
    });
}

/// A stack of so many bytes fits into no memory where an address has 64 bits.
#[cfg(target_pointer_width = "64")]
#[test]
fn a_pool_that_cannot_be_made_leaves_none() {
    in_own_process("a_pool_that_cannot_be_made_leaves_none", || {
        let huge = || TaskPoolBuilder::new().num_threads(1).stack_size(1 << 60);
        let refused = text_of(|| _ = ComputeTaskPool::get_or_init(|| huge().build()));
        assert!(refused.contains("num_threads"), "{refused}");
        let failed = text_of(|| _ = ComputeTaskPool::get_or_init(|| panic!("no pool")));
        assert_eq!(failed, "no pool");
        assert!(ComputeTaskPool::try_get().is_none());
        let made = ComputeTaskPool::get_or_init(|| pool(1));
        assert_eq!(block_on(made.spawn(async { 7 })), 7);
    });
}

/// Says that it was dropped.
struct Loud;

impl Drop for Loud {
    fn drop(&mut self) {
        println!("a destructor ran");
    }
}

/// Two tasks of each pool, of which one runs and one is queued, when the process ends.
fn exit_beside_tasks() -> ! {
    let threads = || {
        TaskPoolBuilder::new()
            .num_threads(1)
            .on_thread_destroy(|| println!("a hook ran"))
            .build()
    };
    let pools: [&TaskPool; 3] = [
        ComputeTaskPool::get_or_init(threads),
        AsyncComputeTaskPool::get_or_init(threads),
        IoTaskPool::get_or_init(threads),
    ];
    for pool in pools {
        let (starts, started) = channel();
        let loud = Loud;
        let running = pool.spawn(async move {
            let _loud = loud;
            starts.send(()).expect("the test waits");
            loop {
                thread::park();
            }
        });
        started.recv().expect("the task starts");
        let loud = Loud;
        let queued = pool.spawn(async move { drop(loud) });
        running.detach();
        queued.detach();
    }
    exit(42)
}

const CHILD: &str = "TERRACE_TEST_EXIT";

#[test]
fn the_process_ends_beside_tasks_of_its_pools() {
    if std::env::var_os(CHILD).is_some() {
        std::mem::forget(watchdog());
        exit_beside_tasks();
    }
    let mut program = this_program();
    program.args([
        "--exact",
        "the_process_ends_beside_tasks_of_its_pools",
        "--nocapture",
    ]);
    let ended = program.env(CHILD, "1").output().expect("it starts");
    let printed = String::from_utf8_lossy(&ended.stdout);
    assert_eq!(ended.status.code(), Some(42), "{printed}");
    assert!(!printed.contains(" ran"), "{printed}");
}

#[cfg(target_os = "linux")]
#[test]
fn pools_work_on_one_processor() {
    in_own_process("pools_work_on_one_processor", || {
        if !terrace_testing::stay_on(0) {
            eprintln!("this thread may not run on processor 0: nothing is tested");
            return;
        }
        let io = IoTaskPool::get_or_init(|| pool(1));
        let compute = ComputeTaskPool::get_or_init(TaskPool::new);
        assert_eq!(compute.thread_num(), 1, "as many as processors");
        let sums = compute.scope(|scope| {
            for n in 0..8 {
                scope.spawn(async move {
                    let parts = compute.scope(|scope| {
                        scope.spawn(async { n });
                        scope.spawn(io.spawn(async { 1 }));
                    });
                    parts.into_iter().sum::<i32>()
                });
            }
        });
        assert_eq!(sums.into_iter().sum::<i32>(), 36);
        let waits = compute.spawn(async { block_on(ComputeTaskPool::get().spawn(async { 7 })) });
        assert_eq!(block_on(waits), 7);
    });
}

#[test]
fn handles_outlive_their_pool() {
    let _watchdog = watchdog();
    let short = pool(1);
    let finished = short.spawn(async { 9 });
    while !finished.is_finished() {
        thread::yield_now();
    }
    let waiting = [(); 2].map(|()| short.spawn(std::future::pending::<()>()));
    drop(short);
    assert_eq!(block_on(finished), 9);
    let [awaited, fallible] = waiting;
    assert!(awaited.is_finished() && fallible.is_finished());
    assert!(catch_unwind(AssertUnwindSafe(|| block_on(awaited))).is_err());
    assert_eq!(block_on(fallible.fallible()), None);
}

#[test]
fn a_pool_ends_though_its_hook_panics() {
    let _watchdog = watchdog();
    let started = Arc::new(AtomicUsize::new(0));
    let ended = Arc::new(AtomicUsize::new(0));
    let (starts, ends) = (Arc::clone(&started), Arc::clone(&ended));
    let hooked = TaskPoolBuilder::new()
        .num_threads(2)
        .on_thread_spawn(move || {
            starts.fetch_add(1, Ordering::Relaxed);
            panic!("expected: a hook");
        })
        .on_thread_destroy(move || {
            ends.fetch_add(1, Ordering::Relaxed);
            panic!("expected: a hook");
        })
        .build();
    assert_eq!(block_on(hooked.spawn(async { 7 })), 7);
    let dropped = catch_unwind(AssertUnwindSafe(|| drop(hooked)));
    assert!(dropped.is_ok(), "the drop does not panic");
    let counts = [started, ended].map(|count| count.load(Ordering::Relaxed));
    assert_eq!(counts, [2, 2], "each thread ran both hooks");
}

#[test]
fn tasks_for_a_thread_that_has_ended_stay_queued() {
    let owner = thread::spawn(TaskPool::get_thread_executor);
    let executor = owner.join().expect("it only reads a value");
    let task = executor.spawn(async {});
    assert!(executor.ticker().is_none(), "another thread's");
    assert!(!task.is_finished());
    drop(executor);
    assert_eq!(block_on(task.fallible()), None);
}
