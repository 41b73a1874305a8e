//! The counted cost of each operation: run with `RUSTFLAGS="--cfg terrace_count"`.
//!
//! The figures are those of the crate's README.

#![cfg(terrace_count)]

use terrace_queue::fork::{Considered, ForkDeque, Gives, Offer, Owner as ForkOwner, Pace, Popped};
use terrace_queue::{Boxed, Inbox, Injector, Node, Ring, RunQueue};
use terrace_sync::count::Counts;
use terrace_sync::{FenceKind, steal};

const ROUNDS: u64 = 10_000;

/// Asserts that `f`, run many times, does this many RMWs each time, and neither fences nor locks.
fn assert_rmws(rmws: u64, mut f: impl FnMut()) {
    for _ in 0..100 {
        f();
    }
    let before = Counts::now();
    for _ in 0..ROUNDS {
        f();
    }
    let cost = Counts::now() - before;
    assert_eq!(cost.rmws, rmws * ROUNDS, "RMWs in {ROUNDS} rounds");
    assert_eq!((cost.fences, cost.locks), (0, 0));
}

#[test]
fn ring_push_is_free_of_rmws_and_pop_takes_one() {
    let ring = Ring::new();
    // SAFETY: one handle, one thread.
    let me = unsafe { ring.owner() };
    assert_eq!(Counts::of(|| assert!(me.push(1).is_ok())).rmws, 0);
    assert_eq!(Counts::of(|| assert!(me.pop().is_some())).rmws, 1);
    assert_eq!(Counts::of(|| assert!(me.pop().is_none())).rmws, 0);
    assert_rmws(1, || {
        assert!(me.push(1).is_ok());
        assert!(me.pop().is_some());
    });
}

#[test]
fn a_steal_takes_two_however_large() {
    let (ring, peer) = (Ring::new(), Ring::new());
    // SAFETY: one handle a ring, one thread.
    let me = unsafe { ring.owner() };
    // SAFETY: one handle a ring, one thread.
    let thief = unsafe { peer.owner() };
    for items in [1, 2, 255, 256] {
        for n in 0..items {
            assert!(me.push(n).is_ok());
        }
        assert_eq!(
            Counts::of(|| assert!(ring.steal_into(&thief).is_some())).rmws,
            2,
            "half of {items}"
        );
        while me.pop().is_some() || thief.pop().is_some() {}
    }
    assert_rmws(2, || {
        assert!(me.push(1).is_ok());
        assert!(ring.steal_one().is_some());
    });
    assert_eq!(
        Counts::of(|| assert!(ring.steal_into(&thief).is_none())).rmws,
        0
    );
}

#[test]
fn an_overflow_takes_one_and_a_batch() {
    let (ring, injector) = (Ring::new(), Injector::new());
    // SAFETY: one handle, one thread.
    let me = unsafe { ring.owner() };
    // So long that it does not grow below.
    injector.push_batch(0..1_000);
    while injector.pop().is_some() {}
    while me.push(0).is_ok() {}
    let cost = Counts::of(|| assert!(me.push_or_overflow(0, &injector)));
    assert_eq!(cost.rmws as usize, 1 + injector.len_hint());
}

#[test]
fn injector_takes_one_each_way_and_nothing_to_look() {
    let (injector, ring) = (Injector::new(), Ring::new());
    // SAFETY: one handle, one thread.
    let me = unsafe { ring.owner() };
    assert_eq!(Counts::of(|| assert!(injector.pop().is_none())).rmws, 0);
    assert_rmws(2, || {
        injector.push(1);
        assert!(!injector.is_empty());
        assert!(injector.pop().is_some());
    });
    // The queue has never been so long: a segment that is full is closed, and a longer one appended.
    let growth = Counts::of(|| injector.push_batch(0..100)).rmws - 100;
    assert!((1..=6).contains(&growth), "{growth} for two segments");
    // One for the first item, and one for the others of its segment. In each later segment the popper moves the head, takes the first item,
    // and then the others.
    let popped = Counts::of(|| assert!(injector.pop_batch_into(&me, 100).is_some())).rmws;
    assert_eq!(popped, 2 + 2 * 3);
    assert_eq!(ring.len(), 99);
    while me.pop().is_some() {}
    assert_eq!(Counts::of(|| injector.push_batch(0..100)).rmws, 100);
    let popped = Counts::of(|| assert!(injector.pop_batch_into(&me, 100).is_some())).rmws;
    assert_eq!(popped, 2);
}

#[test]
fn inbox_takes_one_each_way_and_nothing_to_look() {
    let inbox = Inbox::<Boxed<u32>>::new();
    assert_rmws(2, || {
        assert!(inbox.is_empty());
        inbox.push(Node::boxed(1));
        assert_eq!(inbox.take().count(), 1);
    });
    let items: Vec<_> = (0..100).map(Node::boxed).collect();
    assert_eq!(
        Counts::of(|| {
            items.into_iter().for_each(|item| inbox.push(item));
            assert_eq!(inbox.take().count(), 100);
        })
        .rmws,
        101
    );
}

#[test]
fn run_queue_takes_nothing() {
    let queue = RunQueue::new();
    assert_rmws(0, || {
        queue.push_back(1);
        queue.push_front(0);
        assert_eq!((queue.pop_front(), queue.pop_front()), (Some(0), Some(1)));
    });
}

fn fork_and_join(me: &ForkOwner<'_, usize>, pushes: u32) {
    let pace = |_: Considered| Pace {
        pushes,
        offer: Offer::Open,
        gives: Gives::Asked,
    };
    let at = me.push(1, pace).expect("there is room");
    // SAFETY: the last push.
    assert_eq!(unsafe { me.pop(at) }, Popped::Mine);
}

#[test]
fn nested_forks_are_free_and_flat_ones_take_one() {
    for form in [FenceKind::Asymmetric, FenceKind::Symmetric] {
        let deque = ForkDeque::boxed_with(form);
        // SAFETY: one handle, one thread.
        let me = unsafe { deque.owner() };
        // A system without a barrier has the symmetric form only.
        let is_symmetric = [form, steal::fence_kind()].contains(&FenceKind::Symmetric);
        let fences = u64::from(is_symmetric);
        let cost_of = |f: &dyn Fn()| {
            f();
            Counts::of(|| (0..ROUNDS).for_each(|_| f()))
        };
        let flat = cost_of(&|| fork_and_join(&me, 32));
        assert_eq!((flat.rmws, flat.fences), (ROUNDS, fences * ROUNDS));
        let pace = |_: Considered| Pace {
            pushes: 32,
            offer: Offer::Open,
            gives: Gives::Asked,
        };
        let outer = me.push(0, pace).expect("there is room");
        let nested = cost_of(&|| fork_and_join(&me, 32));
        assert_eq!((nested.rmws, nested.fences), (0, fences * ROUNDS));
        assert_eq!((nested.locks, nested.steal_heavy_fences), (0, 0));
        // SAFETY: the last push that is not popped.
        assert_eq!(unsafe { me.pop(outer) }, Popped::Mine);
    }
}

#[test]
fn thieves_take_one_and_fence_only_by_force() {
    let deque = ForkDeque::boxed();
    // SAFETY: one handle, one thread.
    let me = unsafe { deque.owner() };
    let each = |_: Considered| Pace {
        pushes: 1,
        offer: Offer::Open,
        gives: Gives::Asked,
    };
    assert_eq!(
        Counts::of(|| assert!(deque.force().is_none())),
        Counts::default()
    );
    let outer = me.push(0, each).expect("there is room");
    let cost = Counts::of(|| assert!(deque.force().is_some()));
    assert_eq!((cost.rmws, cost.fences, cost.steal_heavy_fences), (1, 1, 1));

    let cost = Counts::of(|| assert!(deque.ask()));
    assert_eq!((cost.rmws, cost.fences), (1, 0));
    let mut inner = None;
    let given = Counts::of(|| inner = me.push(1, each).ok());
    let taken = Counts::of(|| assert!(deque.take_gift().is_some()));
    assert_eq!((given.rmws, taken.rmws), (1, 1));
    assert_eq!((given.fences, taken.fences), (0, 0));
    for at in [inner.expect("there is room"), outer] {
        // SAFETY: the last push that is not popped.
        assert_eq!(unsafe { me.pop(at) }, Popped::Stolen);
    }
}

#[test]
fn an_unasked_gift_takes_three_of_the_owner_and_no_fence_of_a_thief() {
    let deque = ForkDeque::boxed_with(FenceKind::Asymmetric);
    // SAFETY: one handle, one thread.
    let me = unsafe { deque.owner() };
    let give = |_: Considered| Pace {
        pushes: 32,
        offer: Offer::Quiet,
        gives: Gives::Unasked,
    };
    let mut at = None;
    let given = Counts::of(|| at = me.push(0, give).ok());
    // SAFETY: the last push.
    let back = Counts::of(|| assert_eq!(unsafe { me.pop(at.unwrap()) }, Popped::Mine));
    assert_eq!((given.rmws, back.rmws), (2, 1));
    let at = me.push(1, give).expect("there is room");
    let taken = Counts::of(|| assert!(deque.steal(Offer::Quiet, || true).is_some()));
    assert_eq!(
        (taken.rmws, taken.fences, taken.steal_heavy_fences),
        (1, 0, 0)
    );
    // SAFETY: the last push.
    assert_eq!(unsafe { me.pop(at) }, Popped::Stolen);
}
