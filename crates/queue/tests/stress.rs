//! Threads against each other: each item, a box with a unique id, comes out exactly once.
//!
//! Small enough for ThreadSanitizer and AddressSanitizer, under which these tests also run.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::thread;
use terrace_queue::{Boxed, Inbox, Injector, Node, Owner, Ring};
use terrace_testing::watchdog;

const ITEMS: usize = 40_000;

/// Notes each id it is shown; an id shown twice or never fails the test.
struct Seen(Vec<AtomicU8>, AtomicUsize);

impl Seen {
    fn new(ids: usize) -> Self {
        Self(
            (0..ids).map(|_| AtomicU8::new(0)).collect(),
            AtomicUsize::new(0),
        )
    }

    fn note(&self, item: Box<usize>) {
        assert_eq!(
            self.0[*item].fetch_add(1, Ordering::Relaxed),
            0,
            "item {item} came twice"
        );
        self.1.fetch_add(1, Ordering::Relaxed);
    }

    fn all(&self) -> bool {
        self.1.load(Ordering::Relaxed) == self.0.len()
    }

    fn assert_all(&self) {
        for (id, times) in self.0.iter().enumerate() {
            assert_eq!(times.load(Ordering::Relaxed), 1, "item {id}");
        }
    }
}

fn owner<T>(ring: &Ring<T>) -> Owner<'_, T> {
    // SAFETY: each test makes one handle for a ring.
    unsafe { ring.owner() }
}

/// One producer that also pops, and overflows into the injector; thieves that take batches from it and from
/// each other.
#[test]
fn ring_with_overflow_and_thieves() {
    let _watchdog = watchdog();
    const THIEVES: usize = 3;
    let seen = Seen::new(ITEMS);
    let injector = Injector::new();
    let rings: [Ring<Box<usize>>; THIEVES + 1] = std::array::from_fn(|_| Ring::new());
    let start = Barrier::new(THIEVES + 1);
    thread::scope(|scope| {
        for thief in 1..=THIEVES {
            let (seen, injector, rings, start) = (&seen, &injector, &rings, &start);
            scope.spawn(move || {
                let me = owner(&rings[thief]);
                start.wait();
                let mut turn = thief;
                while !seen.all() {
                    turn += 1;
                    let victim = &rings[turn % rings.len()];
                    let found = match turn % 7 {
                        0 => injector.pop_batch_into(&me, 8),
                        1 => victim.steal_one(),
                        _ => victim.steal_into(&me),
                    };
                    found.into_iter().for_each(|item| seen.note(item));
                    // Leaves some for the other thieves.
                    if turn % 3 == 0 {
                        std::iter::from_fn(|| me.pop())
                            .take(20)
                            .for_each(|item| seen.note(item));
                    }
                }
            });
        }
        let me = owner(&rings[0]);
        start.wait();
        for id in 0..ITEMS {
            me.push_or_overflow(Box::new(id), &injector);
            // Bursts, so that the ring is now empty and now full.
            if id / 700 % 2 == 0 {
                me.pop().into_iter().for_each(|item| seen.note(item));
            }
        }
        while !seen.all() {
            me.pop()
                .or_else(|| injector.pop())
                .into_iter()
                .for_each(|item| seen.note(item));
        }
    });
    seen.assert_all();
}

/// Rings dropped with items in them, at once after thieves were at work: nothing is lost, nothing dropped twice.
#[test]
fn dropped_rings_drop_their_rest() {
    let _watchdog = watchdog();
    struct Noting<'a>(Option<Box<usize>>, &'a Seen);
    impl Drop for Noting<'_> {
        fn drop(&mut self) {
            self.1.note(self.0.take().expect("dropped once"));
        }
    }
    const ROUNDS: usize = 200;
    let full = Ring::<Noting<'_>>::CAPACITY;
    let seen = Seen::new(ROUNDS * full);
    for round in 0..ROUNDS {
        let ring = Ring::new();
        let me = owner(&ring);
        for slot in 0..full {
            assert!(
                me.push(Noting(Some(Box::new(round * full + slot)), &seen))
                    .is_ok()
            );
        }
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let own = Ring::new();
                    drop(ring.steal_into(&owner(&own)));
                });
            }
            for _ in 0..round {
                drop(me.pop());
            }
        });
    }
    seen.assert_all();
}

/// Producers that push singly and in batches, consumers that pop.
#[test]
fn injector_with_many_of_both() {
    let _watchdog = watchdog();
    const PRODUCERS: usize = 3;
    let seen = Seen::new(PRODUCERS * ITEMS);
    let injector = Injector::new();
    thread::scope(|scope| {
        for producer in 0..PRODUCERS {
            let injector = &injector;
            scope.spawn(move || {
                let ids = producer * ITEMS..(producer + 1) * ITEMS;
                for start in ids.step_by(10) {
                    injector.push(Box::new(start));
                    injector.push_batch((start + 1..start + 10).map(Box::new));
                }
            });
        }
        for _ in 0..2 {
            scope.spawn(|| {
                while !seen.all() {
                    injector.pop().into_iter().for_each(|item| seen.note(item));
                }
            });
        }
    });
    seen.assert_all();
    assert!(injector.is_empty());
}

/// Each producer's items reach a consumer in its order, while the injector runs full and empty in turn.
#[test]
fn injector_keeps_each_producers_order() {
    let _watchdog = watchdog();
    in_order(1);
    in_order(3);
}

fn in_order(consumers: usize) {
    const PRODUCERS: usize = 3;
    let injector = Injector::new();
    let taken = AtomicUsize::new(0);
    thread::scope(|scope| {
        for producer in 0..PRODUCERS {
            let (injector, taken) = (&injector, &taken);
            scope.spawn(move || {
                for n in 0..ITEMS {
                    injector.push(Box::new((producer, n)));
                    // Every producer lets the consumer catch up now and then, so that segments are used up.
                    while n % 500 == 499 && taken.load(Ordering::Relaxed) < n {
                        thread::yield_now();
                    }
                }
            });
        }
        for _ in 0..consumers {
            scope.spawn(|| {
                let mut next = [0; PRODUCERS];
                while taken.load(Ordering::Relaxed) < PRODUCERS * ITEMS {
                    let Some(item) = injector.pop() else {
                        thread::yield_now();
                        continue;
                    };
                    let (producer, n) = *item;
                    assert!(n >= next[producer], "order of producer {producer}");
                    assert!(consumers > 1 || n == next[producer], "{n} came early");
                    next[producer] = n + 1;
                    taken.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(taken.load(Ordering::Relaxed), PRODUCERS * ITEMS);
    assert!(injector.is_empty());
}

/// An injector dropped in the middle drops what is left, in whichever segments it lies.
#[test]
fn dropped_injectors_drop_their_rest() {
    let _watchdog = watchdog();
    struct Noting<'a>(usize, &'a Seen);
    impl Drop for Noting<'_> {
        fn drop(&mut self) {
            self.1.note(Box::new(self.0));
        }
    }
    const ROUNDS: usize = 100;
    const EACH: usize = 100;
    let seen = Seen::new(ROUNDS * 2 * EACH);
    for round in 0..ROUNDS {
        let injector = Injector::new();
        thread::scope(|scope| {
            for pusher in 0..2 {
                let (injector, seen) = (&injector, &seen);
                let first = (2 * round + pusher) * EACH;
                scope.spawn(move || {
                    (first..first + EACH).for_each(|id| injector.push(Noting(id, seen)));
                });
            }
            for _ in 0..round {
                drop(injector.pop());
            }
        });
    }
    seen.assert_all();
}

/// Each producer's items reach the owner in its order, and the hint never says empty when all are pushed.
#[test]
fn inbox_keeps_each_producers_order() {
    let _watchdog = watchdog();
    const PRODUCERS: usize = 3;
    let inbox = Inbox::<Boxed<(usize, usize)>>::new();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let handles: Vec<_> = (0..PRODUCERS)
            .map(|producer| {
                let inbox = &inbox;
                scope.spawn(move || (0..ITEMS).for_each(|n| inbox.push(Node::boxed((producer, n)))))
            })
            .collect();
        let (inbox, done) = (&inbox, &done);
        let consumer = scope.spawn(move || {
            let mut next = [0; PRODUCERS];
            loop {
                let last = done.load(Ordering::Acquire);
                for item in inbox.take() {
                    let (producer, n) = item.value;
                    assert_eq!(n, next[producer], "order of producer {producer}");
                    next[producer] += 1;
                }
                if last {
                    break next;
                }
            }
        });
        handles
            .into_iter()
            .for_each(|handle| handle.join().unwrap());
        done.store(true, Ordering::Release);
        assert_eq!(consumer.join().unwrap(), [ITEMS; PRODUCERS]);
    });
}
