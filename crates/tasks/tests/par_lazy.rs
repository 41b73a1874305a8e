//! `TaskPool::par` chooses how it splits: all ways give what `Iterator` gives.
#![cfg(feature = "multi_threaded")]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use terrace_tasks::{TaskPool, TaskPoolBuilder};
use terrace_testing::{OnDrop, watchdog};

fn pool(threads: usize) -> TaskPool {
    TaskPoolBuilder::new().num_threads(threads).build()
}

/// Computes for so long.
fn spin(time: Duration) {
    let since = Instant::now();
    while since.elapsed() < time {}
}

/// Around the sizes at which an input is timed, and at which its first piece ends.
fn lengths() -> impl Iterator<Item = u64> {
    (0..10)
        .chain([15, 16, 17, 63, 64, 65, 66, 67, 100, 255, 256, 257])
        .chain([1_000, 1_023, 2_049, 4_001])
}

/// Each consumer on each length, often enough that it is shared, looked at in parts, and neither.
#[test]
fn every_consumer_at_every_length() {
    let _watchdog = watchdog();
    for threads in [0, 1, 3] {
        let pool = pool(threads);
        for _ in 0..70 {
            for len in lengths() {
                let all = || pool.par(0..len).map(|n| n ^ 5);
                let expected = || (0..len).map(|n| n ^ 5);
                assert!(all().collect::<Vec<_>>().into_iter().eq(expected()));
                assert_eq!(all().sum::<u64>(), expected().sum());
                assert_eq!(all().count() as u64, len);
                assert_eq!(all().min(), expected().min());
                assert_eq!(all().max(), expected().max());
                assert_eq!(all().reduce(|a, _| a), expected().next());
                assert_eq!(all().reduce(|_, b| b), expected().next_back());
                assert_eq!(
                    all().any(|n| n + 1 == len),
                    expected().any(|n| n + 1 == len)
                );
                assert_eq!(all().all(|n| n < len), expected().all(|n| n < len));
                let groups = all().fold(Vec::new, |mut group, n| {
                    group.push(n);
                    group
                });
                assert!(groups.into_iter().flatten().eq(expected()));
                let kept: Vec<u64> = all().filter(|n| n % 3 == 0).flat_map(|n| [n, n]).collect();
                assert!(
                    kept.into_iter()
                        .eq(expected().filter(|n| n % 3 == 0).flat_map(|n| [n, n]))
                );
            }
        }
    }
}

/// Items of one kind that take different times at each call: every way is taken in turn.
#[test]
fn items_whose_length_changes() {
    let _watchdog = watchdog();
    let pool = pool(3);
    let mut random = 1_u64;
    for _ in 0..400 {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let (len, long) = ((random >> 33) % 300, (random >> 60) % 4);
        let items: Vec<u64> = pool
            .par(0..len)
            .map(|n| {
                spin(Duration::from_nanos(if n % 7 < long { 2_000 } else { 0 }));
                n
            })
            .collect();
        assert!(items.into_iter().eq(0..len));
    }
}

/// What an item does at a call.
#[derive(Clone, Copy)]
struct Call<'c> {
    /// How many times an item was begun.
    begun: &'c AtomicUsize,
    /// The item that panics, if it is there.
    panics: u64,
    /// How long an item takes.
    takes: Duration,
}

impl Call<'_> {
    fn run(self, pool: &TaskPool, len: u64) -> thread::Result<()> {
        let Self {
            begun,
            panics,
            takes,
        } = self;
        let run = || {
            pool.par(0..len).for_each(|n| {
                begun.fetch_add(1, Relaxed);
                spin(takes);
                if n == panics {
                    resume_unwind(Box::new(n));
                }
            });
        };
        catch_unwind(AssertUnwindSafe(run))
    }
}

/// In the first piece of a short input, in the piece behind it, and where threads share it.
#[test]
fn a_panic_in_any_piece_comes_out() {
    let _watchdog = watchdog();
    for threads in [0, 2] {
        let pool = pool(threads);
        let begun = AtomicUsize::new(0);
        let call = |panics, takes| Call {
            begun: &begun,
            panics,
            takes,
        };
        for (takes, rounds) in [(Duration::ZERO, 100), (Duration::from_micros(3), 3)] {
            for len in [1, 4, 40, 400] {
                for at in [0, len / 4, len / 4 + 1, len / 2, len - 1] {
                    let at = at.min(len - 1);
                    for _ in 0..rounds {
                        call(len, takes).run(&pool, len).unwrap();
                    }
                    let payload = call(at, takes).run(&pool, len).unwrap_err();
                    assert_eq!(payload.downcast_ref(), Some(&at), "item {at} of {len}");
                }
            }
        }
        begun.store(0, Relaxed);
        call(7, Duration::ZERO).run(&pool, 7).unwrap();
        assert_eq!(begun.into_inner(), 7, "the pool goes on");
    }
}

/// The kind is new, so its items are shared. The thread that holds a piece while the other one panics takes no further piece.
#[test]
fn a_panic_ends_the_work_of_the_others() {
    const ITEMS: usize = 1_000;
    let _watchdog = watchdog();
    let (calls, panicked) = (AtomicUsize::new(0), AtomicBool::new(false));
    let pool = pool(1);
    let panics = AssertUnwindSafe(|| {
        pool.par(0..ITEMS)
            .for_each(|_| match calls.fetch_add(1, Relaxed) {
                0 => {
                    while !panicked.load(Relaxed) {
                        thread::yield_now();
                    }
                    // The unwinding goes on behind the destructor that has said so.
                    thread::sleep(Duration::from_millis(50));
                }
                1 => {
                    let _says = OnDrop(|| panicked.store(true, Relaxed));
                    panic!("an item");
                }
                _ => {}
            });
    });
    assert!(catch_unwind(panics).is_err());
    assert!(calls.into_inner() <= ITEMS / 2);
}

/// A panic among items that own something drops each of them once.
#[test]
fn a_panic_leaks_no_item() {
    let _watchdog = watchdog();
    for threads in [0, 2] {
        let pool = pool(threads);
        for round in 0..100 {
            let dropped = AtomicUsize::new(0);
            let count = || {
                dropped.fetch_add(1, Relaxed);
            };
            let items: Vec<_> = (0..200).map(|n| (n, OnDrop(count))).collect();
            let run = || {
                pool.par(items).for_each(|(n, _item)| {
                    spin(Duration::from_nanos(500));
                    if n == 2 * round {
                        resume_unwind(Box::new(()));
                    }
                });
            };
            assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
            assert_eq!(dropped.into_inner(), 200);
        }
    }
}

/// Alone the caller asks of the items up to the one that is found, and of no other. Together each thread asks of one at most.
#[test]
fn an_answer_ends_the_search() {
    let _watchdog = watchdog();
    let threads = 3;
    let pool = pool(threads);
    let asked = AtomicUsize::new(0);
    let find = |len: u64, wanted: u64| {
        asked.store(0, Relaxed);
        let found = pool.par(0..len).any(|n| {
            asked.fetch_add(1, Relaxed);
            n >= wanted
        });
        (found, asked.load(Relaxed))
    };
    let (found, asked_of) = find(1 << 40, 0);
    assert!(found && asked_of <= threads + 1, "{asked_of}");
    assert_eq!(find(5, 5), (false, 5));
    assert!(find(5, 0).0);
    // Pools without threads work alone.
    let alone = TaskPoolBuilder::new().num_threads(0).build();
    for wanted in [0, 1, 24, 25, 26, 99, 100] {
        for _ in 0..70 {
            asked.store(0, Relaxed);
            let found = alone.par(0..100_u64).any(|n| {
                asked.fetch_add(1, Relaxed);
                n == wanted
            });
            assert_eq!(found, wanted < 100);
            assert_eq!(asked.load(Relaxed) as u64, (wanted + 1).min(100));
        }
    }
}

/// A few items that were tiny are long: after a quarter of them other threads help. The first and the last of the rest wait for each
/// other: no piece has both.
#[test]
fn items_that_become_long_are_shared() {
    let _watchdog = watchdog();
    let pool = pool(2);
    let are_long = AtomicBool::new(false);
    let both = Barrier::new(2);
    let run = || {
        pool.par(0..8_u32).for_each(|n| match n {
            _ if !are_long.load(Relaxed) => {}
            0 | 1 => spin(Duration::from_millis(1)),
            2 | 7 => {
                both.wait();
            }
            _ => {}
        });
    };
    for _ in 0..20 {
        are_long.store(false, Relaxed);
        (0..100).for_each(|_| run());
        are_long.store(true, Relaxed);
        run();
    }
}

/// The first input of its kind is offered to other threads at once: two of its items wait for each other.
#[test]
fn an_unknown_kind_is_shared() {
    let _watchdog = watchdog();
    let pool = pool(2);
    let both = Barrier::new(2);
    pool.par(0..2_u32).for_each(|_| {
        both.wait();
    });
}

#[test]
fn pipelines_nest() {
    let _watchdog = watchdog();
    for threads in [0, 1, 3] {
        let (pool, other) = (pool(threads), pool(1));
        for len in [1_u64, 10, 100] {
            for _ in 0..20 {
                let sum: u64 = pool
                    .par(0..len)
                    .map(|n| {
                        let inner: u64 = pool.par(0..n).map(|m| other.par(0..m).sum::<u64>()).sum();
                        inner + other.par(0..len).count() as u64
                    })
                    .sum();
                let below = |n: u64| (0..n).map(|m| (0..m).sum::<u64>()).sum::<u64>();
                assert_eq!(sum, (0..len).map(|n| below(n) + len).sum());
            }
        }
    }
}

/// Threads outside of the pool use it at the same time.
#[test]
fn many_callers_share_a_pool() {
    let _watchdog = watchdog();
    let pool = pool(2);
    thread::scope(|threads| {
        for seed in 0..4_u64 {
            let pool = &pool;
            threads.spawn(move || {
                for round in 0..200 {
                    let len = (seed * 77 + round * 13) % 500;
                    let items = pool.par(0..len).map(|n| {
                        spin(Duration::from_nanos(n));
                        n
                    });
                    assert!(items.collect::<Vec<_>>().into_iter().eq(0..len));
                }
            });
        }
    });
}
