//! Quicksort over a borrowed slice: each half is a child of one scope, which any worker may take.
//!
//! ```sh
//! cargo run --release -p terrace-fork --example parallel_sort -- [NUMBERS]
//! ```

use std::sync::atomic::{AtomicUsize, Ordering};

use terrace_executor::Builder;
use terrace_fork::{Scope, scope};

/// Slices up to this length are sorted at once.
const SMALL: usize = 4_096;

/// Sorts `numbers` in children of `scope`; counts them.
fn sort<'scope>(
    scope: &'scope Scope<'scope, '_>,
    mut numbers: &'scope mut [u64],
    children: &'scope AtomicUsize,
) {
    while numbers.len() > SMALL {
        let middle = numbers.len() / 2;
        let (smaller, _pivot, larger) = numbers.select_nth_unstable(middle);
        children.fetch_add(1, Ordering::Relaxed);
        scope.spawn(async move { sort(scope, smaller, children) });
        numbers = larger;
    }
    numbers.sort_unstable();
}

/// Numbers in no order, the same in every run.
fn shuffled(count: usize) -> Vec<u64> {
    let mut state = 1_u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        state >> 20
    };
    (0..count).map(|_| next()).collect()
}

fn main() {
    let argument = std::env::args().nth(1);
    let count = argument.map_or(200_000, |text| text.parse().expect("a number"));
    let mut numbers = shuffled(count);
    let mut expected = numbers.clone();
    expected.sort_unstable();

    let executor = Builder::new().build();
    let children = AtomicUsize::new(0);
    // Returns when all children have ended: the borrow of `numbers` ends here.
    scope(&executor, |scope| sort(scope, &mut numbers, &children));

    assert_eq!(numbers, expected);
    println!(
        "{count} numbers sorted by {} children",
        children.into_inner()
    );
}
