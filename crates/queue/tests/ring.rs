//! `Ring` on one thread: order, bounds, batches, drops.
#![cfg(not(any(terrace_loom, terrace_shuttle)))]

use std::cell::Cell;
use std::rc::Rc;
use terrace_queue::{Injector, Overflow, OwnedRing, Owner, Ring};

fn owner<T>(ring: &Ring<T>) -> Owner<'_, T> {
    // SAFETY: each test uses one handle for a ring at a time, on one thread.
    unsafe { ring.owner() }
}

fn fill(owner: &Owner<'_, usize>, items: std::ops::Range<usize>) {
    for item in items {
        owner.push(item).expect("room was left");
    }
}

fn drain(owner: &Owner<'_, usize>) -> Vec<usize> {
    std::iter::from_fn(|| owner.pop()).collect()
}

const FULL: usize = Ring::<usize>::CAPACITY;

#[test]
fn pops_in_the_order_of_pushes() {
    let ring = Ring::new();
    let me = owner(&ring);
    fill(&me, 0..5);
    assert_eq!(ring.len(), 5);
    assert_eq!(drain(&me), [0, 1, 2, 3, 4]);
    assert!(ring.is_empty());
    assert_eq!(me.pop(), None);
}

#[test]
fn a_full_ring_gives_the_item_back() {
    let ring = Ring::new();
    let me = owner(&ring);
    fill(&me, 0..FULL);
    assert_eq!(me.push(FULL), Err(Overflow(FULL)));
    assert_eq!(ring.len(), FULL);
    assert_eq!(me.pop(), Some(0));
    assert_eq!(me.push(FULL), Ok(()));
    assert_eq!(drain(&me), (1..=FULL).collect::<Vec<_>>());
}

#[test]
fn overflow_moves_the_older_half_and_the_item() {
    let (ring, injector) = (Ring::new(), Injector::new());
    let me = owner(&ring);
    for item in 0..FULL {
        assert!(!me.push_or_overflow(item, &injector), "room was left");
    }
    assert!(me.push_or_overflow(FULL, &injector));
    assert_eq!(injector.len_hint(), FULL / 2 + 1);
    let moved: Vec<_> = std::iter::from_fn(|| injector.pop()).collect();
    assert_eq!(moved, (0..FULL / 2).chain([FULL]).collect::<Vec<_>>());
    assert_eq!(drain(&me), (FULL / 2..FULL).collect::<Vec<_>>());
}

#[test]
fn a_thief_takes_half_rounded_up() {
    for length in 0..10 {
        let (ring, peer) = (Ring::new(), Ring::new());
        let (me, thief) = (owner(&ring), owner(&peer));
        fill(&me, 0..length);
        let half = length.div_ceil(2);
        let mut stolen: Vec<_> = ring.steal_into(&thief).into_iter().collect();
        stolen.extend(drain(&thief));
        assert_eq!(stolen, (0..half).collect::<Vec<_>>());
        assert_eq!(drain(&me), (half..length).collect::<Vec<_>>());
    }
}

#[test]
fn a_thief_takes_no_more_than_it_has_room_for() {
    let (ring, peer) = (Ring::new(), Ring::new());
    let (me, thief) = (owner(&ring), owner(&peer));
    fill(&me, 0..FULL);
    fill(&thief, 1000..1000 + FULL - 3);
    assert_eq!(ring.steal_into(&thief), Some(0));
    assert_eq!(peer.len(), FULL);
    assert_eq!(
        ring.steal_into(&thief),
        Some(4),
        "a full ring still takes one item to run"
    );
    assert_eq!(ring.len(), FULL - 5);
    assert_eq!(drain(&thief)[FULL - 3..], [1, 2, 3]);
}

#[test]
fn steals_nothing_from_itself_or_from_an_empty_ring() {
    let (ring, peer) = (Ring::new(), Ring::new());
    let (me, thief) = (owner(&ring), owner(&peer));
    assert_eq!(ring.steal_into(&thief), None);
    assert_eq!(ring.steal_one(), None);
    fill(&me, 0..3);
    assert_eq!(ring.steal_into(&me), None);
    assert_eq!(ring.steal_one(), Some(0));
    assert_eq!(drain(&me), [1, 2]);
}

#[test]
fn injector_batches_respect_the_limit_and_the_room() {
    let (ring, injector) = (Ring::new(), Injector::new());
    let me = owner(&ring);
    injector.push_batch(0..2 * FULL);
    assert_eq!(injector.pop_batch_into(&me, 0), None);
    assert_eq!(injector.pop_batch_into(&me, 1), Some(0));
    assert!(ring.is_empty());
    assert_eq!(injector.pop_batch_into(&me, 4), Some(1));
    assert_eq!(ring.len(), 3);
    assert_eq!(injector.pop_batch_into(&me, usize::MAX), Some(5));
    assert_eq!(ring.len(), FULL);
    assert_eq!(injector.len_hint(), 2 * FULL - 5 - (FULL - 3) - 1);
    assert_eq!(drain(&me)[..4], [2, 3, 4, 6]);
}

/// Counts its drops.
struct Counted(Rc<Cell<usize>>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

#[test]
fn dropping_a_ring_drops_what_is_left_once() {
    let drops = Rc::new(Cell::new(0));
    let ring = Ring::new();
    let me = owner(&ring);
    for _ in 0..10 {
        assert!(me.push(Counted(drops.clone())).is_ok());
    }
    drop(me.pop());
    drop(ring.steal_one());
    assert_eq!(drops.get(), 2);
    drop(ring);
    assert_eq!(drops.get(), 10);
}

#[test]
fn zero_sized_items_are_counted() {
    let ring = Ring::new();
    let me = owner(&ring);
    me.push(()).unwrap();
    me.push(()).unwrap();
    assert_eq!(ring.steal_one(), Some(()));
    assert_eq!((me.pop(), me.pop()), (Some(()), None));
}

/// A safe owner goes from thread to thread, and thieves steal all the time: each item comes out once.
#[cfg(not(any(terrace_loom, terrace_shuttle)))]
#[test]
fn an_owned_ring_travels_while_thieves_steal() {
    let _watchdog = terrace_testing::watchdog();
    for seed in 1..=10_u64 {
        let mut random = terrace_testing::Random::new(seed);
        let legs: Vec<usize> = (0..20).map(|_| random.below(400)).collect();
        let total = legs.iter().sum();
        let mut ring = OwnedRing::new();
        let rest = Injector::new();
        let victim = ring.share();
        let done = std::sync::atomic::AtomicBool::new(false);
        let mut out: Vec<usize> = std::thread::scope(|scope| {
            let thief = scope.spawn(|| {
                let mut own = OwnedRing::new();
                let own = own.owner();
                let mut out = Vec::new();
                loop {
                    let last = done.load(std::sync::atomic::Ordering::Acquire);
                    out.extend(victim.steal_into(&own));
                    out.extend(std::iter::from_fn(|| own.pop()));
                    if last && victim.is_empty() {
                        return out;
                    }
                }
            });
            let mut out = Vec::new();
            let mut next = 0;
            for leg in legs {
                let rest = &rest;
                let on_it = scope.spawn(move || {
                    let own = ring.owner();
                    let mut out = Vec::new();
                    for n in next..next + leg {
                        own.push_or_overflow(n, rest);
                        if n % 3 == 0 {
                            out.extend(own.pop());
                        }
                    }
                    (ring, out)
                });
                next += leg;
                let popped;
                (ring, popped) = on_it.join().unwrap();
                out.extend(popped);
            }
            done.store(true, std::sync::atomic::Ordering::Release);
            out.extend(thief.join().unwrap());
            out
        });
        out.extend(std::iter::from_fn(|| rest.pop()));
        out.sort_unstable();
        assert!(out.into_iter().eq(0..total), "seed {seed}");
    }
}
