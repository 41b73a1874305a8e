//! Bodies, matrices and primes.

use std::hint::black_box;

use bench_main::Workload;
use glam::Vec3A;
use rayon::prelude::*;

const BODIES: usize = 800;
const STEP: f32 = 0.001;
/// Keeps bodies that meet from infinite speed.
const SOFT: f32 = 0.01;

#[derive(Clone, Copy, PartialEq)]
struct Body {
    place: Vec3A,
    speed: Vec3A,
}

/// A body after a step.
fn moved(body: &Body, all: &[Body]) -> Body {
    let pull = |other: &Body| {
        let way = other.place - body.place;
        let square = way.length_squared() + SOFT;
        way / (square * square.sqrt())
    };
    let pulled = all.iter().fold(Vec3A::ZERO, |sum, other| sum + pull(other));
    let speed = body.speed + STEP * pulled;
    Body {
        place: body.place + STEP * speed,
        speed,
    }
}

/// Bodies that attract each other, a step.
pub(crate) fn nbody() -> Workload {
    let body = |number: usize| {
        let angle = number as f32;
        Body {
            place: Vec3A::new(angle.sin(), angle.cos(), (0.1 * angle).sin()),
            speed: Vec3A::ZERO,
        }
    };
    let mut bodies: Vec<Body> = (0..BODIES).map(body).collect();
    let (mut next, mut checked) = (Vec::new(), false);
    Box::new(move || {
        let all = black_box(&bodies);
        let moved = |body: &Body| moved(body, all);
        all.par_iter().map(moved).collect_into_vec(&mut next);
        if !std::mem::replace(&mut checked, true) {
            assert!(bodies.iter().map(moved).eq(next.iter().copied()));
        }
        std::mem::swap(&mut bodies, &mut next);
    })
}

const SIDE: usize = 192;

/// A row of a product of matrices.
fn row(product: &mut [f32], left: &[f32], right: &[f32]) {
    product.fill(0.0);
    for (factor, line) in left.iter().zip(right.chunks_exact(SIDE)) {
        for (sum, item) in product.iter_mut().zip(line) {
            *sum += factor * item;
        }
    }
}

/// Halves the rows down to one.
fn multiply(product: &mut [f32], left: &[f32], right: &[f32]) {
    if product.len() == SIDE {
        return row(product, left, right);
    }
    let middle = product.len() / SIDE / 2 * SIDE;
    let (upper, lower) = product.split_at_mut(middle);
    let (upper_rows, lower_rows) = left.split_at(middle);
    rayon::join(
        || multiply(upper, upper_rows, right),
        || multiply(lower, lower_rows, right),
    );
}

/// A product of two matrices, by joins.
pub(crate) fn matmul() -> Workload {
    let matrix = |factor: usize| -> Vec<f32> {
        let item = |place| (place * factor % 17) as f32;
        (0..SIDE * SIDE).map(item).collect()
    };
    let (left, right) = (matrix(7), matrix(5));
    let mut expected = vec![0.0; SIDE * SIDE];
    for (product, left) in expected.chunks_exact_mut(SIDE).zip(left.chunks_exact(SIDE)) {
        row(product, left, &right);
    }
    let mut product = vec![0.0; SIDE * SIDE];
    Box::new(move || {
        multiply(&mut product, black_box(&left), &right);
        assert_eq!(product, expected);
    })
}

/// The sieve goes to here, in segments.
const LIMIT: usize = 2_000_000;
const SEGMENT: usize = 1 << 15;

/// Marks the primes of a segment that begins at `start`; `small` are those up to the root of the limit.
fn sift(start: usize, segment: &mut [bool], small: &[usize]) {
    segment.fill(true);
    for &prime in small {
        let first = start.next_multiple_of(prime).max(prime * prime);
        for number in (first..start + segment.len()).step_by(prime) {
            segment[number - start] = false;
        }
    }
    if start == 0 {
        segment[..2].fill(false);
    }
}

/// The primes below the limit, a segment at a time.
pub(crate) fn sieve() -> Workload {
    let root = LIMIT.isqrt();
    let small: Vec<usize> = (2..=root)
        .filter(|number| (2..=number.isqrt()).all(|divisor| number % divisor != 0))
        .collect();
    let mut expected = vec![false; LIMIT];
    sift(0, &mut expected, &small);
    let mut sieve = vec![false; LIMIT];
    let mut checked = false;
    Box::new(move || {
        let segments = black_box(&mut sieve).par_chunks_mut(SEGMENT).enumerate();
        segments.for_each(|(at, segment)| sift(at * SEGMENT, segment, &small));
        if !std::mem::replace(&mut checked, true) {
            assert_eq!(sieve, expected);
        }
    })
}
