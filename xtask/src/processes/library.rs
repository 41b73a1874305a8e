//! A library that a program loads: each call has a pool of its own, which ends with the call.

use terrace::executor::{Builder, block_on};

/// Runs tasks on a pool, and leaves the calling thread a task-local state of the library.
#[unsafe(no_mangle)]
pub extern "C" fn run() -> u64 {
    let pool = Builder::new().workers(2).build();
    let squares: Vec<_> = (1..=10_u64)
        .map(|n| pool.spawn(async move { n * n }))
        .collect();
    squares.into_iter().map(block_on).sum()
}
