//! Parallel iterators over items that take a while each, and a scope of spawns.

use std::hint::black_box;

use bench_main::Workload;
use rayon::prelude::*;

/// Steps of [`work`] that take about ten nanoseconds.
const STEPS: u64 = 7;

/// Works for so many steps: a chain of multiplications in a register.
#[inline(never)]
fn work(item: u64, steps: u64) -> u64 {
    (0..steps).fold(item, |chain, _| {
        chain.rotate_left(5).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    })
}

/// What becomes of an item of so many steps.
fn done(item: u32, steps: u64) -> u64 {
    match steps {
        0 => item.into(),
        _ => work(item.into(), steps),
    }
}

fn items(amount: usize) -> Vec<u32> {
    (0..amount as u32).collect()
}

fn wrapping_sum(items: impl ParallelIterator<Item = u64>) -> u64 {
    items.reduce(|| 0, u64::wrapping_add)
}

/// The result of one thread.
fn serial(items: &[u32], steps: u64) -> u64 {
    let done = items.iter().map(|item| done(*item, steps));
    done.fold(0, u64::wrapping_add)
}

/// The sum of items of so many nanoseconds.
pub(crate) fn sum(amount: usize, nanos: u64) -> Workload {
    let (items, steps) = (items(amount), nanos * STEPS / 10);
    let expected = serial(&items, steps);
    Box::new(move || {
        let done = black_box(&items).par_iter().map(|item| done(*item, steps));
        assert_eq!(wrapping_sum(done), expected);
    })
}

/// A vector of their results.
pub(crate) fn map(amount: usize, nanos: u64) -> Workload {
    let (items, steps) = (items(amount), nanos * STEPS / 10);
    let (mut results, mut checked) = (Vec::new(), false);
    Box::new(move || {
        let done = |item: &u32| done(*item, steps);
        black_box(&items)
            .par_iter()
            .map(done)
            .collect_into_vec(&mut results);
        if !std::mem::replace(&mut checked, true) {
            assert!(items.iter().map(done).eq(results.iter().copied()));
        }
    })
}

/// Their sum, where a serial iterator hands them out.
pub(crate) fn bridge(amount: usize, nanos: u64) -> Workload {
    let (items, steps) = (items(amount), nanos * STEPS / 10);
    let expected = serial(&items, steps);
    Box::new(move || {
        let done = black_box(&items)
            .iter()
            .par_bridge()
            .map(|item| done(*item, steps));
        assert_eq!(wrapping_sum(done), expected);
    })
}

/// A scope of so many spawns, each of which adds one to a number of its own.
pub(crate) fn scope(spawns: usize) -> Workload {
    let (mut numbers, mut runs) = (vec![0_u32; spawns], 0);
    Box::new(move || {
        rayon::scope(|scope| {
            for number in black_box(&mut numbers) {
                scope.spawn(move |_| *number += 1);
            }
        });
        runs += 1;
        assert!(numbers.iter().all(|number| *number == runs));
    })
}
