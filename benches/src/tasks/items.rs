//! The sum of items that take a while each: a plain loop, rayon, and `TaskPool::par`.

use std::hint::black_box;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::data::{Data, Rayon};

/// Steps of [`work`] that take about ten nanoseconds.
const STEPS: u64 = 7;

/// What adds up items.
pub trait Items: 'static {
    /// Its name in rows.
    const NAME: &'static str;

    /// With that many threads.
    fn new(threads: usize) -> Self;

    /// The sum of what becomes of the items in so many steps each.
    fn sum(&self, items: &[u32], steps: u64) -> u64;
}

/// A chain of multiplications in a register. One function for all contenders: a loop that is inlined takes up to twice as long at an
/// unlucky address.
#[inline(never)]
fn work(item: u64, steps: u64) -> u64 {
    (0..steps).fold(item, |chain, _| {
        chain.rotate_left(5).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    })
}

/// What becomes of an item in so many steps.
fn done(item: u32, steps: u64) -> u64 {
    match steps {
        0 => item.into(),
        _ => work(item.into(), steps),
    }
}

impl Items for terrace_tasks::TaskPool {
    const NAME: &'static str = <Self as Data>::NAME;

    fn new(threads: usize) -> Self {
        Data::new(threads)
    }

    fn sum(&self, items: &[u32], steps: u64) -> u64 {
        let done = self.par(items).map(|item| done(*item, steps));
        done.reduce(u64::wrapping_add).unwrap_or(0)
    }
}

impl Items for Rayon {
    const NAME: &'static str = <Self as Data>::NAME;

    fn new(threads: usize) -> Self {
        Data::new(threads)
    }

    fn sum(&self, items: &[u32], steps: u64) -> u64 {
        self.pool().install(|| {
            let done = items.par_iter().map(|item| done(*item, steps));
            done.reduce_with(u64::wrapping_add).unwrap_or(0)
        })
    }
}

/// A plain loop.
pub struct Serial;

impl Items for Serial {
    const NAME: &'static str = "serial";

    fn new(_threads: usize) -> Self {
        Self
    }

    fn sum(&self, items: &[u32], steps: u64) -> u64 {
        let done = items.iter().map(|item| done(*item, steps));
        done.reduce(u64::wrapping_add).unwrap_or(0)
    }
}

/// Adds up so many items of about so many nanoseconds each.
pub fn sum<I: Items>(pool: I, items: usize, nanos: u64) -> impl FnMut() {
    let (items, steps): (Vec<u32>, _) = ((0..items as u32).collect(), nanos * STEPS / 10);
    move || {
        black_box(pool.sum(black_box(&items), black_box(steps)));
    }
}

#[cfg(test)]
mod tests {
    use super::{Items, Rayon, Serial};

    /// All contenders do the same work.
    #[test]
    fn the_sums_are_the_same() {
        let items: Vec<u32> = (0..20_000).collect();
        let (ours, rayons) = (
            <terrace_tasks::TaskPool as Items>::new(2),
            <Rayon as Items>::new(2),
        );
        for steps in [0, 3] {
            let expected = Serial.sum(&items, steps);
            assert_eq!(Items::sum(&ours, &items, steps), expected);
            assert_eq!(Items::sum(&rayons, &items, steps), expected);
        }
    }
}
