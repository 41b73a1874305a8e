//! Work on data, by `TaskPool::par` and `sort`, against rayon.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::hint::black_box;

use rayon::iter::{
    IndexedParallelIterator, IntoParallelIterator, IntoParallelRefIterator, ParallelIterator,
};
use rayon::slice::ParallelSliceMut;

use crate::fork::work;

/// How many keys groups have.
const KEYS: u32 = 256;

/// How many items each key has. Without random keys, whose luck would decide a row.
type Groups = HashMap<u32, u64, BuildHasherDefault<DefaultHasher>>;

/// A pool that works on data.
pub trait Data: 'static {
    /// Its name in rows.
    const NAME: &'static str;

    /// With that many threads.
    fn new(threads: usize) -> Self;

    /// The sum of the squares.
    fn map_sum(&self, items: &[u32]) -> u64;

    /// Sorts; equal items stay in their order.
    fn sort(&self, items: &mut [u32]);

    /// Sorts; equal items may change places.
    fn sort_unstable(&self, items: &mut [u32]);

    /// How many items each key has.
    fn group_by(&self, items: &[u32]) -> Groups;

    /// So many jobs of so many steps.
    fn jobs(&self, jobs: usize, steps: u64);
}

fn square(item: u32) -> u64 {
    (u64::from(item) * u64::from(item)) >> 16
}

fn count(mut groups: Groups, item: u32) -> Groups {
    *groups.entry(item % KEYS).or_default() += 1;
    groups
}

fn merge(mut groups: Groups, others: Groups) -> Groups {
    for (key, count) in others {
        *groups.entry(key).or_default() += count;
    }
    groups
}

fn job(number: usize, steps: u64) {
    let mut item = number as u64;
    work(&mut item, steps);
    black_box(item);
}

impl Data for terrace_tasks::TaskPool {
    const NAME: &'static str = "tasks";

    fn new(threads: usize) -> Self {
        terrace_tasks::TaskPoolBuilder::new()
            .num_threads(threads)
            .build()
    }

    fn map_sum(&self, items: &[u32]) -> u64 {
        self.par(items).copied().map(square).sum()
    }

    fn sort(&self, items: &mut [u32]) {
        self.sort(items);
    }

    fn sort_unstable(&self, items: &mut [u32]) {
        self.sort_unstable(items);
    }

    fn group_by(&self, items: &[u32]) -> Groups {
        let parts = self.par(items).copied().fold(Groups::default, count);
        parts.into_iter().reduce(merge).unwrap_or_default()
    }

    fn jobs(&self, jobs: usize, steps: u64) {
        self.par_batches(0..jobs, 1)
            .for_each(|number| job(number, steps));
    }
}

/// rayon's pool and iterators.
pub struct Rayon(rayon::ThreadPool);

impl Rayon {
    pub(super) fn pool(&self) -> &rayon::ThreadPool {
        &self.0
    }
}

impl Data for Rayon {
    const NAME: &'static str = "rayon";

    fn new(threads: usize) -> Self {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        Self(pool.build().expect("threads can be started"))
    }

    fn map_sum(&self, items: &[u32]) -> u64 {
        self.0
            .install(|| items.par_iter().copied().map(square).sum())
    }

    fn sort(&self, items: &mut [u32]) {
        self.0.install(|| items.par_sort());
    }

    fn sort_unstable(&self, items: &mut [u32]) {
        self.0.install(|| items.par_sort_unstable());
    }

    fn group_by(&self, items: &[u32]) -> Groups {
        self.0.install(|| {
            let parts = items.par_iter().copied().fold(Groups::default, count);
            parts.reduce(Groups::default, merge)
        })
    }

    fn jobs(&self, jobs: usize, steps: u64) {
        self.0.install(|| {
            let jobs = (0..jobs).into_par_iter().with_max_len(1);
            jobs.for_each(|number| job(number, steps));
        });
    }
}

/// So many numbers in no order.
fn numbers(items: usize) -> Vec<u32> {
    let mut random = fastrand::Rng::with_seed(1);
    std::iter::repeat_with(|| random.u32(..))
        .take(items)
        .collect()
}

/// Squares and adds numbers.
pub fn map_sum<D: Data>(pool: D, items: usize) -> impl FnMut() {
    let items = numbers(items);
    move || {
        black_box(pool.map_sum(black_box(&items)));
    }
}

/// A function that sorts.
pub type Sort<D> = fn(&D, &mut [u32]);

/// Copies numbers in no order, and sorts them.
pub fn sort<D: Data>(pool: D, items: usize, sort: Sort<D>) -> impl FnMut() {
    let items = numbers(items);
    let mut sorted = items.clone();
    move || {
        sorted.copy_from_slice(&items);
        sort(&pool, black_box(&mut sorted));
    }
}

/// Counts the items of each key.
pub fn group_by<D: Data>(pool: D, items: usize) -> impl FnMut() {
    let items = numbers(items);
    move || {
        black_box(pool.group_by(black_box(&items)));
    }
}

/// Equal jobs, each by itself.
pub fn jobs<D: Data>(pool: D, jobs: usize, steps: u64) -> impl FnMut() {
    move || pool.jobs(black_box(jobs), steps)
}

#[cfg(test)]
mod tests {
    use super::{Data, Rayon, numbers};

    /// Both contenders do the same work.
    #[test]
    fn the_results_are_the_same() {
        let items = numbers(50_000);
        let (ours, rayons) = (terrace_tasks::TaskPool::default(), Rayon::new(2));
        assert_eq!(Data::map_sum(&ours, &items), rayons.map_sum(&items));
        assert_eq!(ours.group_by(&items), rayons.group_by(&items));
        let (mut one, mut other) = (items.clone(), items);
        Data::sort(&ours, &mut one);
        rayons.sort_unstable(&mut other);
        assert_eq!(one, other);
    }
}
