//! What the injector and the ring allocate.
#![cfg(not(any(terrace_loom, terrace_shuttle)))]

use terrace_queue::{Injector, Overflow, Ring};
use terrace_testing::{CountingAllocator, allocations};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Pushes and pops so many items at a time, many times. Returns how often that allocated.
fn cycle(injector: &Injector<u64>, length: u64) -> usize {
    let before = allocations();
    for _ in 0..1_000 {
        injector.push_batch(0..length);
        assert_eq!(std::iter::from_fn(|| injector.pop()).count() as u64, length);
    }
    allocations() - before
}

#[test]
fn an_injector_allocates_only_where_it_is_full() {
    let injector = Injector::new();
    // A segment, and its slots; so is a longer one.
    assert_eq!(cycle(&injector, 10), 2);
    assert_eq!(cycle(&injector, 32), 0);
    assert_eq!(cycle(&injector, 33), 2);
    assert_eq!(cycle(&injector, 64), 0);
    assert_eq!(cycle(&injector, 1), 0);
    // Two segments together hold 192 items. When the first one is used up, a third one has to hold them all.
    assert_eq!(cycle(&injector, 150), 4);
    assert_eq!(cycle(&injector, 256), 0);
}

/// A ring's slots come with its first push, and stay: neither later pushes nor thieves allocate.
#[test]
fn a_ring_allocates_with_its_first_push() {
    let before = allocations();
    let (mine, other) = (Ring::new(), Ring::new());
    // SAFETY: one owner handle of this ring.
    let me = unsafe { mine.owner() };
    // SAFETY: one owner handle of this ring.
    let thief = unsafe { other.owner() };
    assert_eq!((me.pop(), mine.steal_into(&thief)), (None, None));
    assert_eq!(allocations() - before, 0, "nobody pushed");
    me.push(0).expect("room");
    assert_eq!(allocations() - before, 1, "the first push");
    for n in 1..Ring::<usize>::CAPACITY {
        me.push(n).expect("room");
    }
    assert_eq!(me.push(0), Err(Overflow(0)));
    assert_eq!(mine.steal_one(), Some(0));
    assert_eq!(mine.steal_into(&thief), Some(1));
    assert_eq!(allocations() - before, 2, "the thief's first push");
    drop((mine, other));
    assert_eq!(allocations() - before, 2);
}
