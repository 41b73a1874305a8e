//! Sorts of numbers without an order.

use std::hint::black_box;

use bench_main::Workload;
use rayon::prelude::*;

const ITEMS: u32 = 100_000;
/// So many items, and fewer, are sorted in order.
const SERIAL: usize = 64;

/// Sorts the same numbers again and again.
fn sorted(sort: fn(&mut [u32])) -> Workload {
    let number = |place: u32| {
        let number = u64::from(place + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (number >> 32) as u32
    };
    let fresh: Vec<u32> = (0..ITEMS).map(number).collect();
    let mut expected = fresh.clone();
    expected.sort_unstable();
    let (mut items, mut checked) = (fresh.clone(), false);
    Box::new(move || {
        items.copy_from_slice(&fresh);
        sort(black_box(&mut items));
        if !std::mem::replace(&mut checked, true) {
            assert_eq!(items, expected);
        }
    })
}

/// Hoare's quicksort, a join for two halves.
fn quicksort_by_joins(items: &mut [u32]) {
    if items.len() <= SERIAL {
        return items.sort_unstable();
    }
    let last = items.len() - 1;
    items.swap(last / 2, last);
    let (pivot, mut middle) = (items[last], 0);
    for at in 0..last {
        if items[at] < pivot {
            items.swap(at, middle);
            middle += 1;
        }
    }
    items.swap(middle, last);
    let (low, high) = items.split_at_mut(middle);
    rayon::join(
        || quicksort_by_joins(low),
        || quicksort_by_joins(&mut high[1..]),
    );
}

/// By joins.
pub(crate) fn quicksort() -> Workload {
    sorted(quicksort_by_joins)
}

/// By rayon's stable sort.
pub(crate) fn stable() -> Workload {
    sorted(|items| items.par_sort())
}

/// By rayon's other sort.
pub(crate) fn unstable() -> Workload {
    sorted(|items| items.par_sort_unstable())
}
