//! Futures, borrowed data and tasks of one thread, on one pool.
//!
//! ```sh
//! cargo run -p terrace --example tour
//! ```

use std::cell::Cell;
use std::rc::Rc;

use terrace::executor::{Builder, Worker, block_on};
use terrace::fork::scope;
use terrace::local::LocalExecutor;
use terrace::thread::ThreadSpawner;

fn main() {
    let pool = Builder::new().workers(2).build();

    // A future, on the workers.
    let squares: Vec<_> = (1..=10_u64)
        .map(|n| pool.spawn(async move { n * n }))
        .collect();
    let sum: u64 = squares.into_iter().map(block_on).sum();

    // Closures that borrow, on the same workers.
    let mut numbers: Vec<u64> = (0..1_000).rev().collect();
    let (low, high) = numbers.split_at_mut(500);
    scope(&pool, |scope| {
        scope.spawn(|_: &Worker| low.sort());
        scope.spawn(|_: &Worker| high.sort());
    });

    // A worker sends a task to this thread, which runs it while it waits.
    let here = ThreadSpawner::current();
    let main_thread = here.thread_id();
    let asked = pool.spawn(async move { here.spawn(async { terrace::thread::id() }).await });
    let ran_on = block_on(asked);

    // Tasks that are not `Send` stay here.
    let executor = LocalExecutor::new();
    let count = Rc::new(Cell::new(0));
    for _ in 0..3 {
        let count = Rc::clone(&count);
        let add = async move { count.set(count.get() + 1) };
        executor.spawn(add).detach();
    }
    while executor.try_tick() {}

    println!(
        "sum {sum}, halves start with {} and {}, {} local tasks",
        numbers[0],
        numbers[500],
        count.get()
    );
    assert_eq!(
        (sum, numbers[0], numbers[500], count.get()),
        (385, 500, 0, 3)
    );
    assert_eq!(ran_on, main_thread);
}
