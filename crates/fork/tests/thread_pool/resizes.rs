//! How many workers there are.

use std::sync::Barrier;
use std::thread;

use terrace_fork::ThreadPool;
use terrace_testing::watchdog;

#[test]
fn each_resize_says_how_many_there_are() {
    let _watchdog = watchdog();
    let pool = ThreadPool::new();
    assert_eq!(pool.num_members(), 0);
    assert_eq!(pool.populate(), 1);
    assert_eq!(pool.populate(), 1, "there is a worker");
    assert_eq!(pool.grow(3), 4);
    assert_eq!(pool.shrink(1), 3);
    assert_eq!(pool.shrink(10), 0);
    assert_eq!(pool.resize_to(2), 2);
    assert_eq!(pool.resize(|workers| workers * 3), 6);
    assert_eq!(pool.num_members(), 6);
    let processors = thread::available_parallelism().map_or(1, usize::from);
    assert_eq!(pool.resize_to_available(), (processors - 1).max(1));
    assert_eq!(pool.depopulate(), 0);
    assert_eq!(pool.num_members(), 0);
}

/// `size` sees the number that the resize before has left: no increment is lost.
#[test]
fn resizes_of_several_threads_come_one_after_the_other() {
    let _watchdog = watchdog();
    let pool = ThreadPool::new();
    let together = Barrier::new(4);
    thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                together.wait();
                for _ in 0..3 {
                    let mut before = None;
                    let after = pool.resize(|workers| {
                        before = Some(workers);
                        thread::yield_now();
                        workers + 1
                    });
                    assert_eq!(before.map(|before| before + 1), Some(after));
                }
            });
        }
    });
    assert_eq!(pool.num_members(), 12);
}

#[test]
fn an_owned_pool_ends_its_threads() {
    let _watchdog = watchdog();
    let (sender, ended) = std::sync::mpsc::channel::<()>();
    let pool = ThreadPool::new();
    pool.resize_to(2);
    for _ in 0..2 {
        let sender = sender.clone();
        pool.spawn(async move {
            std::future::pending::<()>().await;
            drop(sender);
        })
        .detach();
    }
    drop(sender);
    drop(pool);
    assert!(ended.recv().is_err(), "the tasks are dropped with the pool");
}
