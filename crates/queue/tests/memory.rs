//! What the injector allocates.
#![cfg(not(any(terrace_loom, terrace_shuttle)))]

use terrace_queue::Injector;
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
