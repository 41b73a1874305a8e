//! Problems that joins solve.

use std::hint::black_box;

use super::slices::{Bodies, Life, Sieve, Slices};
use super::work;

/// So many items, and fewer, are sorted in order.
pub(super) const SERIAL: usize = 64;
/// The side of a square matrix.
pub(super) const SIDE: usize = 128;

/// Works for so many steps, and returns the value.
pub(super) fn visit(value: u64, steps: u64) -> u64 {
    let mut item = 1;
    work(&mut item, steps);
    black_box(item);
    value
}

/// The next number of a sequence that looks random: Marsaglia's xorshift64.
pub(super) fn next(mut seed: u64) -> u64 {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^ seed << 17
}

/// Puts the small items before the large ones, without the one between them.
pub(super) fn split(items: &mut [u32]) -> (&mut [u32], &mut [u32]) {
    let last = items.len() - 1;
    items.swap(last / 2, last);
    let pivot = items[last];
    let mut middle = 0;
    for at in 0..last {
        if items[at] < pivot {
            items.swap(at, middle);
            middle += 1;
        }
    }
    items.swap(middle, last);
    let (low, high) = items.split_at_mut(middle);
    (low, &mut high[1..])
}

/// Merges the two sorted parts of `items`.
pub(super) fn merge(items: &mut [u32], room: &mut [u32], middle: usize) {
    room.copy_from_slice(items);
    let (mut low, mut high) = (
        room[..middle].iter().peekable(),
        room[middle..].iter().peekable(),
    );
    for item in items {
        let from_low = match (low.peek(), high.peek()) {
            (Some(one), Some(other)) => one <= other,
            (one, _) => one.is_some(),
        };
        let least = if from_low { low.next() } else { high.next() };
        *item = *least.expect("as many items as there are");
    }
}

/// A row of a product of matrices.
pub(super) fn row(product: &mut [f32], left: &[f32], right: &[f32]) {
    product.fill(0.0);
    for (factor, line) in left.iter().zip(right.chunks_exact(SIDE)) {
        for (sum, item) in product.iter_mut().zip(line) {
            *sum += factor * item;
        }
    }
}

/// A problem that joins solve, with what it takes to solve it again.
pub enum Problem {
    /// Items to sort.
    Quicksort(Vec<u32>),
    /// Items to sort, and as much room.
    MergeSort(Vec<u32>, Vec<u32>),
    /// Square matrices.
    Matmul {
        /// The result, row after row.
        product: Vec<f32>,
        /// The left factor.
        left: Vec<f32>,
        /// The right factor.
        right: Vec<f32>,
    },
    /// Primes to find.
    Sieve(Sieve),
    /// Cells that live and die.
    Life(Life),
    /// Bodies that attract each other.
    Bodies(Bodies),
    /// A tree of so many nodes of about 10 ns each, an eighth of them on one side.
    Unbalanced {
        /// How many nodes.
        nodes: u64,
        /// What their values come to: one each.
        sum: u64,
    },
    /// So many leaves of so many steps.
    Halves {
        /// How many leaves.
        leaves: u64,
        /// The steps of each.
        steps: u64,
        /// What their values come to: one each.
        sum: u64,
    },
}

impl Problem {
    fn items(amount: u64) -> Vec<u32> {
        let numbers = std::iter::successors(Some(1), |seed| Some(next(*seed)));
        numbers
            .map(|number| number as u32)
            .take(amount as usize)
            .collect()
    }

    /// Sorts so many items by Hoare's quicksort.
    pub fn quicksort(items: u64) -> Self {
        Self::Quicksort(Self::items(items))
    }

    /// Sorts so many items by merging.
    pub fn merge_sort(items: u64) -> Self {
        Self::MergeSort(Self::items(items), Self::items(items))
    }

    /// Multiplies two matrices of 128 rows.
    pub fn matmul(_rows: u64) -> Self {
        let matrix = || {
            Self::items((SIDE * SIDE) as u64)
                .iter()
                .map(|item| *item as f32)
                .collect()
        };
        Self::Matmul {
            product: vec![0.0; SIDE * SIDE],
            left: matrix(),
            right: matrix(),
        }
    }

    /// The primes below a limit.
    pub fn sieve(limit: u64) -> Self {
        Self::Sieve(Sieve::new(limit as usize))
    }

    /// A generation of the game of life, on a square of so many rows.
    pub fn life(rows: u64) -> Self {
        Self::Life(Life::new(rows as usize))
    }

    /// A step of so many bodies.
    pub fn bodies(amount: u64) -> Self {
        Self::Bodies(Bodies::new(amount as usize))
    }

    /// A tree of so many nodes, of which an eighth is on one side.
    pub fn unbalanced(nodes: u64) -> Self {
        Self::Unbalanced { nodes, sum: 0 }
    }

    /// So many leaves of about 10 µs.
    pub fn coarse(leaves: u64) -> Self {
        Self::Halves {
            leaves,
            steps: 7_500,
            sum: 0,
        }
    }

    /// So many leaves of about 1 µs.
    pub fn shallow_wide(leaves: u64) -> Self {
        Self::Halves {
            leaves,
            steps: 750,
            sum: 0,
        }
    }

    /// The same problem, unsolved. It costs as much for every contender.
    pub(super) fn again(&mut self) {
        match self {
            Self::Quicksort(items) | Self::MergeSort(items, _) => {
                let fresh = Self::items(items.len() as u64);
                items.copy_from_slice(&fresh);
            }
            Self::Life(life) => life.go_on(),
            Self::Bodies(bodies) => bodies.go_on(),
            Self::Sieve(_) | Self::Matmul { .. } => {}
            Self::Unbalanced { .. } | Self::Halves { .. } => {}
        }
    }

    /// # Panics
    /// If it is not solved.
    pub(super) fn check(&mut self) {
        match self {
            Self::Sieve(sieve) => sieve.check(),
            Self::Life(life) => life.check(),
            Self::Bodies(bodies) => bodies.check(),
            Self::Quicksort(items) | Self::MergeSort(items, _) => assert!(items.is_sorted()),
            Self::Matmul {
                product,
                left,
                right,
            } => {
                let mut last = vec![0.0; SIDE];
                row(&mut last, &left[left.len() - SIDE..], right);
                assert!(product.ends_with(&last));
            }
            Self::Unbalanced { nodes: whole, sum }
            | Self::Halves {
                leaves: whole, sum, ..
            } => {
                assert_eq!(sum, whole);
            }
        }
    }
}
