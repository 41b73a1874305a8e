//! Random operations on rings and an injector against `VecDeque`s that hold the expected items.

use std::collections::VecDeque;

use terrace_queue::{Injector, Owner, Ring};
use terrace_testing::Random;

const FULL: usize = Ring::<u64>::CAPACITY;

struct Worker<'a> {
    owner: Owner<'a, u64>,
    expected: VecDeque<u64>,
}

impl Worker<'_> {
    fn room(&self) -> usize {
        FULL - self.expected.len()
    }
}

/// The expected behaviour of `push_or_overflow`.
fn overflow(expected: &mut VecDeque<u64>, item: u64, shared: &mut VecDeque<u64>) {
    if expected.len() < FULL {
        expected.push_back(item);
    } else {
        shared.extend(expected.drain(..FULL / 2));
        shared.push_back(item);
    }
}

/// The expected behaviour of `steal_into`.
fn steal(from: &mut VecDeque<u64>, into: &mut VecDeque<u64>) -> Option<u64> {
    let count = from.len().div_ceil(2).min(FULL - into.len() + 1);
    let mut taken = from.drain(..count);
    let first = taken.next();
    into.extend(taken);
    first
}

fn run(seed: u64, operations: usize) {
    let mut random = Random::new(seed);
    let rings = [Ring::new(), Ring::new()];
    let injector = Injector::new();
    let mut shared = VecDeque::new();
    let mut workers = rings.each_ref().map(|ring| {
        // SAFETY: one handle a ring, on one thread.
        let owner = unsafe { ring.owner() };
        Worker {
            owner,
            expected: VecDeque::new(),
        }
    });
    let mut next = 0;
    // Phases of mostly pushing and mostly popping, so that rings run full and empty.
    let mut pushing = true;
    for step in 0..operations {
        if step % (3 * FULL) == 0 {
            pushing = !pushing;
        }
        let me = random.below(2);
        let [first, second] = &mut workers;
        let (mine, peer) = if me == 0 {
            (first, second)
        } else {
            (second, first)
        };
        match random.below(20) {
            0 => assert_eq!(
                rings[1 - me].steal_into(&mine.owner),
                steal(&mut peer.expected, &mut mine.expected)
            ),
            1 => assert_eq!(rings[1 - me].steal_one(), peer.expected.pop_front()),
            2 => {
                let max = random.below(2 * FULL);
                let count = max.min(mine.room() + 1).min(shared.len());
                let mut taken = shared.drain(..count);
                assert_eq!(injector.pop_batch_into(&mine.owner, max), taken.next());
                mine.expected.extend(taken);
            }
            3 => assert_eq!(injector.pop(), shared.pop_front()),
            4 => {
                let batch = next..next + random.below(5) as u64;
                next = batch.end;
                shared.extend(batch.clone());
                injector.push_batch(batch.collect::<Vec<_>>().into_iter());
            }
            5 => {
                let full = mine.room() == 0;
                assert_eq!(mine.owner.push(next).is_err(), full);
                if !full {
                    mine.expected.push_back(next);
                }
                next += 1;
            }
            case if (case < 15) == pushing => {
                let full = mine.room() == 0;
                assert_eq!(mine.owner.push_or_overflow(next, &injector), full);
                overflow(&mut mine.expected, next, &mut shared);
                next += 1;
            }
            _ => assert_eq!(mine.owner.pop(), mine.expected.pop_front()),
        }
        for (ring, worker) in rings.iter().zip(&workers) {
            assert_eq!(ring.len(), worker.expected.len());
            assert_eq!(ring.is_empty(), worker.expected.is_empty());
        }
        assert_eq!(injector.len_hint(), shared.len());
    }
    for worker in &mut workers {
        let rest: VecDeque<_> = std::iter::from_fn(|| worker.owner.pop()).collect();
        assert_eq!(rest, worker.expected);
    }
}

#[test]
fn rings_and_injector_do_as_their_models() {
    for seed in 1..=20u64 {
        run(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15), 20_000);
    }
}
