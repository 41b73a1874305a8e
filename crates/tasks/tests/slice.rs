//! Mapping slices in chunks.

use std::panic::{AssertUnwindSafe, catch_unwind};

use terrace_tasks::{ParallelSlice, ParallelSliceMut, TaskPool, TaskPoolBuilder};
use terrace_testing::watchdog;

#[test]
fn chunks_come_in_order_with_their_index() {
    let _watchdog = watchdog();
    let pool = TaskPool::new();
    let numbers: Vec<usize> = (0..1_000).collect();
    let firsts = numbers.par_chunk_map(&pool, 7, |index, chunk| (index, chunk[0], chunk.len()));
    assert_eq!(firsts.len(), 143);
    for (index, first) in firsts.into_iter().enumerate() {
        assert_eq!(first, (index, index * 7, if index == 142 { 6 } else { 7 }));
    }
}

#[test]
fn every_item_is_written_once() {
    let _watchdog = watchdog();
    let pool = TaskPool::new();
    let mut numbers = vec![0; 1_000];
    let lengths = numbers.par_splat_map_mut(&pool, Some(3), |_, chunk| {
        chunk.iter_mut().for_each(|n| *n += 1);
        chunk.len()
    });
    assert!(lengths.len() <= 3 && lengths.iter().sum::<usize>() == 1_000);
    assert_eq!(numbers, [1; 1_000]);
}

/// As in the published crate: the length is rounded down, and what is left over makes further chunks.
#[test]
fn a_chunk_has_the_length_divided_by_the_threads() {
    let _watchdog = watchdog();
    let pool = TaskPoolBuilder::new().num_threads(4).build();
    let cases: [(usize, &[usize]); 5] = match pool.thread_num() {
        4 => [
            (3, &[1, 1, 1]),
            (5, &[1, 1, 1, 1, 1]),
            (8, &[2, 2, 2, 2]),
            (10, &[2, 2, 2, 2, 2]),
            (11, &[2, 2, 2, 2, 2, 1]),
        ],
        // Without `multi_threaded`.
        _ => [(3, &[3]), (5, &[5]), (8, &[8]), (10, &[10]), (11, &[11])],
    };
    for (len, expected) in cases {
        let mut items = vec![0; len];
        let lengths = items.par_splat_map(&pool, None, |_, chunk| chunk.len());
        assert_eq!(lengths, expected, "{len} items");
        let lengths = items.par_splat_map_mut(&pool, None, |_, chunk| chunk.len());
        assert_eq!(lengths, expected, "{len} items");
    }
}

#[test]
fn no_more_chunks_than_asked_for() {
    let _watchdog = watchdog();
    let pool = TaskPoolBuilder::new().num_threads(4).build();
    for len in 0..40 {
        for max in 1..6 {
            let chunks = vec![0; len].par_splat_map(&pool, Some(max), |_, chunk| chunk.len());
            assert!(
                chunks.len() <= max,
                "{} chunks of {len}, at most {max}",
                chunks.len()
            );
            assert_eq!(chunks.iter().sum::<usize>(), len);
        }
    }
}

#[test]
fn empty_slices_and_pools_without_threads_work() {
    let _watchdog = watchdog();
    let pool = TaskPoolBuilder::new().num_threads(0).build();
    assert!(
        Vec::<u8>::new()
            .par_splat_map(&pool, None, |_, _| ())
            .is_empty()
    );
    assert_eq!(
        [1, 2, 3].par_splat_map(&pool, None, |_, chunk| chunk.len()),
        [3]
    );
    assert_eq!(
        [1, 2, 3].par_chunk_map(&pool, 1, |_, chunk| chunk[0]),
        [1, 2, 3]
    );
}

#[test]
fn chunks_of_nothing_are_refused() {
    let _watchdog = watchdog();
    let pool = TaskPool::new();
    let result = catch_unwind(AssertUnwindSafe(|| [1].par_chunk_map(&pool, 0, |_, _| ())));
    assert!(result.is_err());
}
