//! Calls that have almost nothing to do, from a thread that is none of the pool's.

use std::hint::black_box;
use std::time::Duration;

use bench_main::{Workload, pause};
use rayon::prelude::*;

/// Between two calls, where the pool is to fall asleep.
const PAUSE: Duration = Duration::from_millis(1);

/// The sum of a hundred items; with a pause, in which the pool falls asleep, or back to back.
pub(crate) fn sum(asleep: bool) -> Workload {
    let items: Vec<u32> = (0..100).collect();
    let expected: u32 = items.iter().sum();
    Box::new(move || {
        assert_eq!(black_box(&items).par_iter().sum::<u32>(), expected);
        if asleep {
            pause(PAUSE);
        }
    })
}

/// The same sums without a pool. The caches are as cold after a pause.
pub(crate) fn serial(asleep: bool) -> Workload {
    let items: Vec<u32> = (0..100).collect();
    let expected: u32 = items.iter().sum();
    Box::new(move || {
        assert_eq!(black_box(&items).iter().sum::<u32>(), expected);
        if asleep {
            pause(PAUSE);
        }
    })
}

/// One join, and a pause.
pub(crate) fn join() -> Workload {
    Box::new(move || {
        let (one, other) = black_box((20, 1));
        let (one, other) = rayon::join(|| one + 1, || other + 20);
        assert_eq!(one, other);
        pause(PAUSE);
    })
}
