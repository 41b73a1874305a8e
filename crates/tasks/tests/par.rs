//! Sources and consumers of `TaskPool::par`, against `Iterator`.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use terrace_tasks::{ParallelSlice, TaskPool, TaskPoolBuilder};
use terrace_testing::watchdog;

fn pools() -> [TaskPool; 3] {
    [0, 1, 3].map(|threads| TaskPoolBuilder::new().num_threads(threads).build())
}

/// Numbers that look random: a linear congruential generator.
fn numbers(seed: u64, len: usize) -> Vec<u32> {
    let step = |state: &u64| {
        Some(
            state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1),
        )
    };
    let states = std::iter::successors(Some(seed), step).skip(1);
    states.map(|state| (state >> 48) as u32).take(len).collect()
}

#[test]
fn every_source_gives_every_item_once_and_in_order() {
    let _watchdog = watchdog();
    for pool in pools() {
        for len in [0, 1, 2, 7, 100, 1_001] {
            let input = numbers(7, len);
            let slice: Vec<u32> = pool.par(&input).copied().collect();
            assert_eq!(slice, input);
            let owned: Vec<u32> = pool.par(input.clone()).collect();
            assert_eq!(owned, input);
            let range: Vec<usize> = pool.par(0..len).collect();
            assert!(range.into_iter().eq(0..len));
            let chunks: Vec<&[u32]> = pool.par(input.chunks(3)).collect();
            assert!(chunks.into_iter().eq(input.chunks(3)));
            let mut changed = input.clone();
            pool.par(&mut changed).for_each(|n| *n += 1);
            pool.par(changed.chunks_mut(4))
                .for_each(|chunk| chunk.reverse());
            let mut expected: Vec<u32> = input.iter().map(|n| n + 1).collect();
            expected.chunks_mut(4).for_each(<[u32]>::reverse);
            assert_eq!(changed, expected);
            for batch in [1, 2, 5, usize::MAX] {
                let sum: u64 = pool
                    .par_batches(&input[..], batch)
                    .map(|n| u64::from(*n))
                    .sum();
                assert_eq!(sum, input.iter().map(|n| u64::from(*n)).sum());
            }
        }
    }
}

#[test]
#[expect(clippy::reversed_empty_ranges, reason = "such a range is empty")]
fn ranges_at_the_ends_of_their_type() {
    let _watchdog = watchdog();
    for pool in pools() {
        assert_eq!(pool.par(i8::MIN..i8::MAX).count(), 255);
        assert_eq!(pool.par(5..2_i32).count(), 0);
        assert_eq!(pool.par(5..2_u64).count(), 0);
        let ends: Vec<u64> = pool.par(u64::MAX - 3..u64::MAX).collect();
        assert_eq!(ends, [u64::MAX - 3, u64::MAX - 2, u64::MAX - 1]);
        assert_eq!(pool.par_batches(0..200_u8, 1_000).count(), 200);
        let found = pool.par(i64::MIN..i64::MAX).any(|_| true);
        assert!(
            found,
            "a range with more items than a usize counts of this type"
        );
    }
}

#[test]
fn consumers_agree_with_iterators() {
    let _watchdog = watchdog();
    for (seed, pool) in (0..).zip(pools()) {
        let input = numbers(seed, 777);
        let all = || pool.par(&input[..]);
        assert_eq!(all().count(), 777);
        assert_eq!(all().min(), input.iter().min());
        assert_eq!(all().max(), input.iter().max());
        assert_eq!(pool.par(1..11_u64).product::<u64>(), 3_628_800);
        let even = |n: &u32| n % 2 == 0;
        let halves: Vec<u32> = all().cloned().filter(even).map(|n| n / 2).collect();
        assert!(
            halves
                .into_iter()
                .eq(input.iter().copied().filter(even).map(|n| n / 2))
        );
        let kept: Vec<u32> = all().filter_map(|n| n.checked_sub(9)).collect();
        assert!(
            kept.into_iter()
                .eq(input.iter().filter_map(|n| n.checked_sub(9)))
        );
        let twice: Vec<u32> = all().flat_map(|n| [*n, *n]).collect();
        assert!(twice.into_iter().eq(input.iter().flat_map(|n| [*n, *n])));
        let seen = AtomicUsize::new(0);
        let longest = all()
            .inspect(|_| {
                seen.fetch_add(1, Relaxed);
            })
            .reduce(|a, b| a.max(b));
        assert_eq!((longest, seen.into_inner()), (input.iter().max(), 777));
        assert!(all().any(|n| *n == input[500]) && !all().any(|n| *n > 1 << 16));
        assert!(all().all(|n| *n <= 1 << 16) && !all().all(|n| *n != input[500]));
        assert_eq!(pool.par(&[0_u32; 0]).copied().reduce(u32::max), None);
    }
}

#[test]
fn results_borrow_from_the_input() {
    let _watchdog = watchdog();
    for pool in pools() {
        let text: Vec<String> = (0..100).map(|n| format!("{n} words")).collect();
        let words: Vec<&str> = pool
            .par(&text[..])
            .filter_map(|line| line.split(' ').next())
            .collect();
        assert!(words.into_iter().eq((0..100).map(|n| n.to_string())));
        let longest = pool
            .par(&text[..])
            .reduce(|a, b| if b.len() > a.len() { b } else { a });
        assert_eq!(
            longest.map(String::as_str),
            Some("10 words"),
            "the first of several"
        );
        let groups = pool.par(&text).fold(BTreeMap::new, |mut groups, line| {
            groups
                .entry(line.len())
                .or_insert_with(Vec::new)
                .push(line.as_str());
            groups
        });
        let lines: usize = groups.iter().flat_map(BTreeMap::values).map(Vec::len).sum();
        assert_eq!(lines, 100);
    }
}

#[test]
fn a_panic_of_a_closure_comes_after_all_tasks() {
    let _watchdog = watchdog();
    for pool in pools() {
        let live = AtomicUsize::new(0);
        let run = || {
            pool.par_batches(0..40_u32, 1).for_each(|n| {
                live.fetch_add(1, Relaxed);
                let ended = catch_unwind(|| assert!(n != 20, "number 20"));
                live.fetch_sub(1, Relaxed);
                if let Err(payload) = ended {
                    std::panic::resume_unwind(payload);
                }
            });
        };
        let payload = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&"number 20"));
        assert_eq!(live.into_inner(), 0);
        assert_eq!(pool.par(0..10_u32).sum::<u32>(), 45, "the pool goes on");
    }
}

#[test]
#[should_panic(expected = "at least one item")]
fn a_batch_of_no_item() {
    let _watchdog = watchdog();
    let _par = TaskPool::new().par_batches(0..3, 0);
}

#[test]
fn sorts_as_the_standard_library() {
    let _watchdog = watchdog();
    for pool in pools() {
        for (seed, len) in [(1, 0), (2, 1), (3, 4_097), (4, 30_000), (5, 100_003)] {
            let mut sorted = numbers(seed, len);
            let mut expected = sorted.clone();
            expected.sort_unstable();
            pool.sort_unstable(&mut sorted);
            assert!(sorted == expected, "{len} numbers");
            pool.sort_unstable_by(&mut sorted, |a, b| b.cmp(a));
            expected.reverse();
            assert!(sorted == expected, "{len} numbers, backwards");
            let mut same = vec![7; len];
            pool.sort_unstable(&mut same);
            assert!(same.iter().all(|n| *n == 7));
        }
    }
}

#[test]
fn a_stable_sort_keeps_equal_items_in_order() {
    let _watchdog = watchdog();
    for pool in pools() {
        for (seed, len) in [(1, 0), (2, 1), (3, 4_096), (4, 30_000), (5, 100_003)] {
            // Few keys, many equal ones.
            let keys = numbers(seed, len).into_iter().map(|number| number % 100);
            let mut sorted: Vec<(u32, usize)> = keys.zip(0..).collect();
            let mut expected = sorted.clone();
            pool.sort_by(&mut sorted, |a, b| a.0.cmp(&b.0));
            expected.sort_by_key(|item| item.0);
            assert!(sorted == expected, "{len} items");
            pool.sort_by(&mut sorted, |a, b| b.0.cmp(&a.0));
            expected.sort_by_key(|item| std::cmp::Reverse(item.0));
            assert!(sorted == expected, "{len} items, backwards");
            pool.sort(&mut sorted);
            assert!(sorted.is_sorted(), "{len} items");
        }
    }
}

/// A comparison whose 50,001st call panics.
fn panics_late<T: Ord>(calls: &AtomicUsize) -> impl Fn(&T, &T) -> Ordering + Sync {
    move |a, b| {
        assert!(calls.fetch_add(1, Relaxed) < 50_000, "too many");
        a.cmp(b)
    }
}

#[test]
fn a_panic_of_a_comparison_loses_no_item() {
    let _watchdog = watchdog();
    for (pool, stable) in pools()
        .iter()
        .flat_map(|pool| [(pool, true), (pool, false)])
    {
        let input: Vec<Box<u32>> = numbers(9, 20_000).into_iter().map(Box::new).collect();
        let mut sorted = input.clone();
        let calls = AtomicUsize::new(0);
        let sort = || {
            if stable {
                pool.sort_by(&mut sorted, panics_late(&calls));
            } else {
                pool.sort_unstable_by(&mut sorted, panics_late(&calls));
            }
        };
        assert!(catch_unwind(AssertUnwindSafe(sort)).is_err());
        let mut expected = input;
        expected.sort_unstable();
        sorted.sort_unstable();
        assert!(sorted == expected);
    }
}

#[test]
fn a_pipeline_in_a_task_of_the_pool() {
    let _watchdog = watchdog();
    for pool in pools() {
        let sums = [1_u32, 2, 3, 4].par_chunk_map(&pool, 1, |_, chunk| {
            pool.par(0..100 * chunk[0]).sum::<u32>()
        });
        assert_eq!(sums, [4_950, 19_900, 44_850, 79_800]);
    }
}

/// What a pool has learnt of kinds of work is a number in its description, and no table of words.
#[cfg(feature = "multi_threaded")]
#[test]
fn a_pool_shows_how_many_kinds_of_work_it_knows() {
    let pool = TaskPool::new();
    let shown = format!("{pool:?}");
    assert!(
        shown.ends_with("kinds: Kinds { known: 0, .. } }"),
        "{shown}"
    );
}
