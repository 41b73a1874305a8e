//! Every method of `ParallelIterator` against the one of `Iterator`.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use terrace_tasks::{ParallelIterator, TaskPool};
use terrace_testing::watchdog;

/// Batches of three, some of them empty.
#[derive(Clone)]
struct Batches<'a> {
    rest: &'a [i32],
    calls: usize,
}

impl<'a> ParallelIterator<std::slice::Iter<'a, i32>> for Batches<'a> {
    fn next_batch(&mut self) -> Option<std::slice::Iter<'a, i32>> {
        self.calls += 1;
        if self.calls % 3 == 0 && self.calls < 20 {
            return Some([].iter());
        }
        if self.rest.is_empty() {
            return None;
        }
        let (batch, rest) = self.rest.split_at(3.min(self.rest.len()));
        self.rest = rest;
        Some(batch.iter())
    }
}

const NUMBERS: [i32; 10] = [5, -3, 8, 1, 8, -3, 0, 2, 7, 4];

fn par(numbers: &[i32]) -> Batches<'_> {
    Batches {
        rest: numbers,
        calls: 0,
    }
}

#[test]
fn consumers() {
    let _watchdog = watchdog();
    let pool = TaskPool::new();
    let all = || par(&NUMBERS);
    let one = || NUMBERS.iter();
    assert_eq!(all().count(&pool), one().count());
    assert_eq!(all().last(&pool), one().last());
    for n in 0..12 {
        assert_eq!(all().nth(&pool, n), one().nth(n));
    }
    assert_eq!(all().size_hint(), (0, None));
    assert_eq!(all().copied::<i32>().collect::<Vec<_>>(&pool), NUMBERS);
    assert_eq!(all().cloned::<i32>().collect::<Vec<_>>(&pool), NUMBERS);
    let halves: (Vec<_>, Vec<_>) = all().copied::<i32>().partition(&pool, |n| n % 2 == 0);
    assert_eq!(halves, one().partition(|n| *n % 2 == 0));
    for threshold in -4..10 {
        assert_eq!(
            all().all(&pool, |n| *n < threshold),
            one().all(|n| *n < threshold)
        );
        assert_eq!(
            all().any(&pool, |n| *n < threshold),
            one().any(|n| *n < threshold)
        );
        assert_eq!(
            all().position(&pool, |n| *n == threshold),
            one().position(|n| *n == threshold)
        );
    }
    assert_eq!(all().sum::<i32, i32>(&pool), one().sum::<i32>());
    assert_eq!(
        all().map(|n| n + 4).product::<i32, i32>(&pool),
        one().map(|n| n + 4).product::<i32>()
    );
    let folds = all().fold::<_, _, ()>(&pool, 0, |sum, n| sum + n);
    assert_eq!(folds.iter().sum::<i32>(), one().sum::<i32>());
    assert!(folds.len() > 4, "one for each batch");
    let seen = AtomicU32::new(0);
    all().for_each(&pool, |_| {
        seen.fetch_add(1, Relaxed);
    });
    assert_eq!(seen.into_inner(), 10);
}

#[test]
fn extremes_choose_as_iterator_does() {
    let _watchdog = watchdog();
    let pool = TaskPool::new();
    // Equal keys, told apart by the index.
    let pairs: Vec<(usize, i32)> = NUMBERS.into_iter().enumerate().collect();
    let all = || par(&NUMBERS).copied::<i32>();
    assert_eq!(all().max(&pool), NUMBERS.into_iter().max());
    assert_eq!(all().min(&pool), NUMBERS.into_iter().min());
    let indexed = || {
        let indices = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
        let indices: &'static [i32; 10] = Box::leak(Box::new(indices));
        par(indices).map(|i| (*i as usize, NUMBERS[*i as usize]))
    };
    assert_eq!(
        indexed().max_by_key(&pool, |p| p.1),
        pairs.iter().copied().max_by_key(|p| p.1)
    );
    assert_eq!(
        indexed().min_by_key(&pool, |p| p.1),
        pairs.iter().copied().min_by_key(|p| p.1)
    );
    assert_eq!(
        indexed().max_by(&pool, |a, b| a.1.cmp(&b.1)),
        pairs.iter().copied().max_by(|a, b| a.1.cmp(&b.1))
    );
    assert_eq!(
        indexed().min_by(&pool, |a, b| a.1.cmp(&b.1)),
        pairs.iter().copied().min_by(|a, b| a.1.cmp(&b.1))
    );
    assert_eq!(par(&[]).copied::<i32>().max(&pool), None);
}

#[test]
fn adapters() {
    let _watchdog = watchdog();
    let pool = TaskPool::new();
    let all = || par(&NUMBERS);
    let vec = |iter: &mut dyn Iterator<Item = i32>| iter.collect::<Vec<_>>();
    let chained = all().chain(par(&NUMBERS[..4])).copied::<i32>();
    assert_eq!(
        chained.collect::<Vec<_>>(&pool),
        vec(&mut NUMBERS.iter().chain(&NUMBERS[..4]).copied())
    );
    let filtered = all().copied::<i32>().filter(|n| *n > 1);
    assert_eq!(
        filtered.collect::<Vec<_>>(&pool),
        vec(&mut NUMBERS.into_iter().filter(|n| *n > 1))
    );
    let halved = |n: i32| (n % 2 == 0).then_some(n / 2);
    let filter_mapped = all().copied::<i32>().filter_map(halved);
    assert_eq!(
        filter_mapped.collect::<Vec<_>>(&pool),
        vec(&mut NUMBERS.into_iter().filter_map(halved))
    );
    let flat = all().flat_map(|n| [*n, -n]);
    assert_eq!(
        flat.collect::<Vec<_>>(&pool),
        vec(&mut NUMBERS.into_iter().flat_map(|n| [n, -n]))
    );
    let flattened = all().map(|n| vec![*n; 2]).flatten();
    assert_eq!(
        flattened.collect::<Vec<_>>(&pool),
        vec(&mut NUMBERS.into_iter().flat_map(|n| [n, n]))
    );
    let seen = AtomicU32::new(0);
    let inspected = all().inspect(|_| {
        seen.fetch_add(1, Relaxed);
    });
    assert_eq!(inspected.count(&pool), 10);
    assert_eq!(seen.into_inner(), 10);
}

/// Gives a batch, then none, then batches again.
struct Flickering(u32);

impl ParallelIterator<std::ops::Range<u32>> for Flickering {
    fn next_batch(&mut self) -> Option<std::ops::Range<u32>> {
        self.0 += 1;
        (self.0 != 2).then_some(0..self.0)
    }
}

#[test]
fn fuse_stays_ended_and_by_ref_lends() {
    let _watchdog = watchdog();
    let mut fused = Flickering(0).fuse();
    assert!(fused.next_batch().is_some() && fused.next_batch().is_none());
    assert!(fused.by_ref().next_batch().is_none());
    let mut plain = Flickering(0);
    assert!(plain.by_ref().next_batch().is_some() && plain.next_batch().is_none());
    assert!(plain.next_batch().is_some());
}

#[test]
fn cycle_starts_again_and_an_empty_one_ends() {
    let _watchdog = watchdog();
    let mut cycle = par(&NUMBERS[..3]).cycle();
    let mut seen: Vec<&i32> = Vec::new();
    while seen.len() < 9 {
        seen.extend(cycle.next_batch().expect("it never ends"));
    }
    assert_eq!(seen, NUMBERS[..3].repeat(3).iter().collect::<Vec<_>>());
    let ended = Batches {
        rest: &[],
        calls: 20,
    };
    assert!(ended.cycle().next_batch().is_none());
}
