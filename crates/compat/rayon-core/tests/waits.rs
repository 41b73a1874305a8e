//! Waits of one pool inside of another, nested broadcasts, and threads that come and go.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread::{self, ThreadId};

use rayon_core::{ThreadPool, ThreadPoolBuilder, Yield};
use terrace_testing::watchdog;

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap()
}

#[test]
fn two_pools_of_one_thread_call_each_other_twenty_deep() {
    let _watchdog = watchdog();
    fn ping(depth: usize, here: &ThreadPool, there: &ThreadPool) -> usize {
        if depth == 0 {
            return 0;
        }
        1 + there.install(|| ping(depth - 1, there, here))
    }
    let (a, b) = (pool(1), pool(1));
    assert_eq!(a.install(|| ping(20, &a, &b)), 20);
}

#[test]
fn a_broadcast_inside_of_a_broadcast_of_the_same_pool() {
    let _watchdog = watchdog();
    let pool = pool(3);
    let sums = pool.broadcast(|outer| {
        let inner = rayon_core::broadcast(|inner| inner.index());
        outer.index() + inner.into_iter().sum::<usize>()
    });
    assert_eq!(sums, [3, 4, 5]);
}

#[test]
fn the_current_thread_alone_runs_everything_itself() {
    let _watchdog = watchdog();
    // The thread stays in the pool, so it is one of its own.
    thread::spawn(|| {
        let builder = ThreadPoolBuilder::new().num_threads(1).use_current_thread();
        let pool = builder.build().unwrap();
        assert_eq!(rayon_core::current_thread_index(), Some(0));
        assert_eq!(pool.install(rayon_core::current_num_threads), 1);
        assert_eq!(rayon_core::join(|| 1, || 2), (1, 2));
        assert_eq!(pool.broadcast(|context| context.index()), [0]);

        let (sender, receiver) = channel();
        let in_scope = sender.clone();
        rayon_core::scope(|scope| scope.spawn(move |_| in_scope.send(1).unwrap()));
        assert_eq!(receiver.try_recv(), Ok(1));

        pool.spawn(move || sender.send(2).unwrap());
        assert_eq!(rayon_core::current_thread_has_pending_tasks(), Some(true));
        assert!(receiver.try_recv().is_err());
        assert_eq!(rayon_core::yield_now(), Some(Yield::Executed));
        assert_eq!(receiver.try_recv(), Ok(2));
        assert_eq!(rayon_core::yield_now(), Some(Yield::Idle));
        drop(pool);
    })
    .join()
    .unwrap();
}

#[test]
fn another_thread_installs_into_a_pool_whose_only_thread_waits() {
    let _watchdog = watchdog();
    thread::spawn(|| {
        let builder = ThreadPoolBuilder::new().num_threads(1).use_current_thread();
        let alone = builder.build().unwrap();
        let other = pool(1);
        // This thread waits for the other pool, whose thread waits for this one.
        let index = other.install(|| alone.install(rayon_core::current_thread_index));
        assert_eq!(index, Some(0));
    })
    .join()
    .unwrap();
}

#[test]
fn a_thread_runs_in_one_pool_after_another() {
    let _watchdog = watchdog();
    for round in 0..3 {
        let count = AtomicUsize::new(0);
        thread::scope(|scope| {
            let (sender, receiver) = channel::<rayon_core::ThreadBuilder>();
            scope.spawn(move || {
                receiver
                    .into_iter()
                    .for_each(rayon_core::ThreadBuilder::run)
            });
            for _ in 0..3 {
                let sender = sender.clone();
                let start = move |thread| {
                    sender.send(thread).unwrap();
                    Ok(())
                };
                let builder = ThreadPoolBuilder::new().num_threads(1).spawn_handler(start);
                let pool = builder.build().unwrap();
                pool.broadcast(|_| count.fetch_add(round, Ordering::Relaxed));
                assert_eq!(pool.install(rayon_core::current_thread_index), Some(0));
            }
        });
        assert_eq!(count.into_inner(), 3 * round);
    }
}

#[test]
fn a_thread_that_was_in_a_wait_before_runs_in_a_pool() {
    let _watchdog = watchdog();
    let wrapper = |thread: rayon_core::ThreadBuilder| {
        // The caller sleeps, and is woken as a plain thread.
        rayon_core::join(|| (), || ());
        thread.run();
    };
    let builder = ThreadPoolBuilder::new().num_threads(2);
    let indices = builder.build_scoped(wrapper, |pool| {
        pool.install(|| rayon_core::broadcast(|context| context.index()))
    });
    assert_eq!(indices.unwrap(), [0, 1]);
}

#[test]
fn threads_that_are_never_run_are_missed_by_none() {
    let _watchdog = watchdog();
    let mut count = 0;
    let builder = ThreadPoolBuilder::new()
        .num_threads(3)
        .spawn_handler(|thread| {
            count += 1;
            if count == 2 {
                thread::spawn(|| thread.run());
            }
            Ok(())
        });
    let pool = builder.build().unwrap();
    assert_eq!(pool.install(rayon_core::current_thread_index), Some(1));
    let sum = AtomicUsize::new(0);
    pool.scope(|scope| {
        for i in 0..100 {
            let sum = &sum;
            scope.spawn(move |_| {
                sum.fetch_add(i, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(sum.into_inner(), 4950);
}

#[test]
fn an_index_belongs_to_one_thread_and_lies_below_their_number() {
    let _watchdog = watchdog();
    type Owners = [OnceLock<ThreadId>];
    fn tree(depth: u32, owners: &Owners, visits: &AtomicUsize) {
        let own = &owners[rayon_core::current_thread_index().unwrap()];
        let here = thread::current().id();
        assert_eq!(*own.get_or_init(|| here), here);
        visits.fetch_add(1, Ordering::Relaxed);
        if depth > 0 {
            let half = || tree(depth - 1, owners, visits);
            rayon_core::join(half, half);
        }
    }
    let pool = pool(4);
    let owners: Vec<_> = (0..4).map(|_| OnceLock::new()).collect();
    let visits = AtomicUsize::new(0);
    pool.install(|| tree(12, &owners, &visits));
    assert_eq!(visits.into_inner(), (1 << 13) - 1);
}
