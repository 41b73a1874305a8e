//! Scopes over borrowed data, opened by a thread that is no worker.

#[cfg(terrace_forte)]
pub mod forte;
pub mod joins;
pub mod pools;
pub mod problems;
mod slices;
mod walks;

use std::hint::black_box;

use terrace_executor::{Executor, Worker};

/// A pool that has scopes.
pub trait Scopes: Sync + 'static {
    /// Its name in rows.
    const NAME: &'static str;

    /// With that many threads.
    fn new(workers: usize) -> Self;

    /// A scope with one child for each item. A child may open a scope itself.
    fn for_each<T: Send>(&self, items: &mut [T], body: impl Fn(&mut T) + Sync);
}

/// Ours.
pub struct Fork(Executor<'static>);

impl Scopes for Fork {
    const NAME: &'static str = "fork";

    fn new(workers: usize) -> Self {
        Self(Executor::builder().workers(workers).build())
    }

    fn for_each<T: Send>(&self, items: &mut [T], body: impl Fn(&mut T) + Sync) {
        let body = &body;
        terrace_fork::scope(&self.0, |scope| {
            for item in items {
                scope.spawn(move |_: &Worker| body(item));
            }
        });
    }
}

/// rayon's pool.
pub struct Rayon(rayon_core::ThreadPool);

impl Scopes for Rayon {
    const NAME: &'static str = "rayon";

    fn new(workers: usize) -> Self {
        let pool = rayon_core::ThreadPoolBuilder::new().num_threads(workers);
        Self(pool.build().expect("the threads start"))
    }

    fn for_each<T: Send>(&self, items: &mut [T], body: impl Fn(&mut T) + Sync) {
        let body = &body;
        self.0.in_place_scope(|scope| {
            for item in items {
                scope.spawn(move |_| body(item));
            }
        });
    }
}

/// A thread for each child.
pub struct StdScope;

impl Scopes for StdScope {
    const NAME: &'static str = "std";

    fn new(_workers: usize) -> Self {
        Self
    }

    fn for_each<T: Send>(&self, items: &mut [T], body: impl Fn(&mut T) + Sync) {
        let body = &body;
        std::thread::scope(|scope| {
            for item in items {
                scope.spawn(move || body(item));
            }
        });
    }
}

/// Children that do next to nothing: the cost of a scope and of a child.
pub fn empty_children<S: Scopes>(scopes: S, children: usize) -> impl FnMut() {
    let mut items = vec![0_u64; children];
    move || scopes.for_each(black_box(&mut items), |item| *item += 1)
}

/// Children of `steps` steps each; a step is about a nanosecond.
pub fn flat<S: Scopes>(scopes: S, children: usize, steps: u64) -> impl FnMut() {
    let mut items = vec![0_u64; children];
    move || scopes.for_each(black_box(&mut items), |item| work(item, steps))
}

/// `width` children with a scope each, of `width` children of `steps` steps.
pub fn nested<S: Scopes>(scopes: S, width: usize, steps: u64) -> impl FnMut() {
    let mut items = vec![vec![0_u64; width]; width];
    move || {
        scopes.for_each(black_box(&mut items), |row| {
            scopes.for_each(row, |item| work(item, steps));
        });
    }
}

/// Works for so many steps of about a nanosecond: a chain of multiplications in a register. It is one function for all contenders,
/// because a loop that is inlined takes up to twice as long at an unlucky address.
#[inline(never)]
pub(crate) fn work(item: &mut u64, steps: u64) {
    let mut chain = *item;
    for _ in 0..steps {
        chain = chain.rotate_left(5).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
    *item = black_box(chain);
}
