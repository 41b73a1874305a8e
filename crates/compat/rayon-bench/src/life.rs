//! Conway's game of life on a square whose edges meet.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

use bench_main::Workload;
use rayon::prelude::*;

const SIDE: usize = 200;
/// Generations that are compared with those of one thread.
const CHECKED: u32 = 3;

fn seeded() -> Vec<bool> {
    let alive = |cell: u64| cell.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62 == 0;
    (0..(SIDE * SIDE) as u64).map(alive).collect()
}

/// Whether a cell is alive in the next generation.
fn lives(cells: &[bool], cell: usize) -> bool {
    let (row, column) = (cell / SIDE, cell % SIDE);
    let (rows, columns) = (
        [(row + SIDE - 1) % SIDE, row, (row + 1) % SIDE],
        [(column + SIDE - 1) % SIDE, column, (column + 1) % SIDE],
    );
    let alive = |row: usize| {
        columns
            .iter()
            .filter(|column| cells[row * SIDE + **column])
            .count()
    };
    let around: usize = rows.into_iter().map(alive).sum();
    // The cell itself is among them.
    around == 3 || around == 4 && cells[cell]
}

/// Goes on by generations; `next` fills in the next one.
fn played(next: impl Fn(&[bool], &mut Vec<bool>) + 'static) -> Workload {
    let (mut cells, mut others, mut generation) = (seeded(), vec![false; SIDE * SIDE], 0);
    Box::new(move || {
        next(black_box(&cells), &mut others);
        generation += 1;
        if generation <= CHECKED {
            assert!((0..SIDE * SIDE).all(|cell| others[cell] == lives(&cells, cell)));
        }
        std::mem::swap(&mut cells, &mut others);
    })
}

/// A parallel iterator over the cells.
pub(crate) fn par_iter() -> Workload {
    played(|cells, next| {
        let all = (0..SIDE * SIDE).into_par_iter();
        all.map(|cell| lives(cells, cell)).collect_into_vec(next);
    })
}

/// A serial iterator that hands the cells out.
pub(crate) fn bridge() -> Workload {
    let written: Vec<AtomicBool> = seeded().into_iter().map(AtomicBool::new).collect();
    played(move |cells, next| {
        // Ordering: Relaxed, the end of the iterator publishes all cells.
        let all = (0..SIDE * SIDE).par_bridge();
        all.for_each(|cell| written[cell].store(lives(cells, cell), Ordering::Relaxed));
        for (cell, written) in next.iter_mut().zip(&written) {
            *cell = written.load(Ordering::Relaxed);
        }
    })
}
