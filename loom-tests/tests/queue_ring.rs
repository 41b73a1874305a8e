//! Models of `Ring`: each item comes out exactly once, on any thread.

use terrace_loom_tests::{Ledger, assert_each_once};
use terrace_queue::{Injector, Owner, Ring};
use terrace_sync::{Arc, model, thread};

/// The owner handle of a ring; `ring` must have no other.
fn owner<T>(ring: &Ring<T>) -> Owner<'_, T> {
    // SAFETY: each model makes one handle for a ring at a time, and threads it passes through are joined.
    unsafe { ring.owner() }
}

/// A ring with the items `0..count`.
fn filled(count: u32) -> Arc<Ring<u32>> {
    let ring = Ring::new();
    for id in 0..count {
        owner(&ring).push(id).expect("the ring has room");
    }
    Arc::new(ring)
}

/// At most `limit` pops: a broken ring may never run dry.
fn drain(owner: &Owner<'_, u32>, limit: usize) -> Vec<u32> {
    std::iter::from_fn(|| owner.pop()).take(limit).collect()
}

/// Steals into a ring of its own, and returns the items, oldest first.
fn steal_batch(ring: &Ring<u32>) -> Vec<u32> {
    let own = Ring::new();
    let own = owner(&own);
    let mut got: Vec<u32> = ring.steal_into(&own).into_iter().collect();
    got.extend(drain(&own, 4));
    got
}

/// The owner pops everything while a thief takes half.
///
/// Fails under: `queue-take-unchecked`, `queue-claim-unchecked`, `queue-release-unchecked`.
#[test]
fn ring_pop_and_steal() {
    model(|| {
        let ring = filled(3);
        let thief = {
            let ring = ring.clone();
            thread::spawn(move || steal_batch(&ring))
        };
        let mut taken = drain(&owner(&ring), 4);
        taken.extend(thief.join().unwrap());
        taken.extend(drain(&owner(&ring), 4));
        assert_each_once(taken, 3);
    });
}

/// A thief sees the content of the slots it takes, although they were pushed after it started.
///
/// Fails under: `queue-push-relaxed`, `queue-claim-tail-relaxed`.
#[test]
fn ring_push_and_steal() {
    model(|| {
        let ring = filled(0);
        let thief = {
            let ring = ring.clone();
            thread::spawn(move || steal_batch(&ring))
        };
        let me = owner(&ring);
        me.push(0).unwrap();
        me.push(1).unwrap();
        let mut taken = thief.join().unwrap();
        taken.extend(drain(&me, 4));
        assert_each_once(taken, 2);
    });
}

/// A thief that has seen the owner's pop has also seen the push of the popped item. So it never takes the queue for
/// longer than it is.
///
/// Fails under: `queue-take-relaxed`, `queue-claim-head-relaxed`.
#[test]
fn ring_thief_sees_pushes_before_pops() {
    model(|| {
        let ring = filled(0);
        let thief = {
            let ring = ring.clone();
            thread::spawn(move || ring.steal_one())
        };
        let me = owner(&ring);
        me.push(0).unwrap();
        let mut taken: Vec<u32> = me.pop().into_iter().collect();
        taken.extend(thief.join().unwrap());
        assert_each_once(taken, 1);
        assert!(ring.is_empty());
    });
}

/// The same for a thief that learns of the pops by an exchange that fails.
///
/// Fails where the ordering of that failure is relaxed (`--sweep`).
#[test]
fn ring_thief_fails_and_sees_pushes_before_pops() {
    model(|| {
        let ring = filled(1);
        let thief = {
            let ring = ring.clone();
            thread::spawn(move || ring.steal_one())
        };
        let me = owner(&ring);
        me.push(1).unwrap();
        let mut taken = drain(&me, 2);
        taken.extend(thief.join().unwrap());
        assert_each_once(taken, 2);
        assert!(ring.is_empty());
    });
}

/// Slots that a thief has emptied are written again only after it has read them.
///
/// Fails under: `queue-room-relaxed`, `queue-release-relaxed`.
#[test]
fn ring_reuse_after_steal() {
    model(|| {
        let ring = filled(4);
        let thief = {
            let ring = ring.clone();
            thread::spawn(move || steal_batch(&ring))
        };
        let me = owner(&ring);
        let mut taken: Vec<u32> = me
            .push(4)
            .err()
            .map(|overflow| overflow.into_inner())
            .into_iter()
            .collect();
        taken.extend(thief.join().unwrap());
        taken.extend(drain(&me, 5));
        assert_each_once(taken, 5);
    });
}

/// Two thieves, one item each, and an owner that reuses a slot as soon as one of them is done.
///
/// Fails under: `queue-two-thieves`.
#[test]
fn ring_steal_and_steal() {
    model(|| {
        let ring = filled(4);
        let thief = || {
            let ring = ring.clone();
            thread::spawn(move || ring.steal_one())
        };
        let (first, second) = (thief(), thief());
        let me = owner(&ring);
        let mut taken: Vec<u32> = first.join().unwrap().into_iter().collect();
        taken.extend(me.push(4).err().map(|overflow| overflow.into_inner()));
        taken.extend(second.join().unwrap());
        taken.extend(drain(&me, 5));
        assert_each_once(taken, 5);
    });
}

/// A thief gives way to another, but not to the owner, and one of two gets an item.
#[test]
fn ring_steal_and_steal_and_pop() {
    model(|| {
        let ring = filled(3);
        let thief = || {
            let ring = ring.clone();
            thread::spawn(move || ring.steal_one())
        };
        let (first, second) = (thief(), thief());
        let me = owner(&ring);
        let popped = me.pop();
        assert!(popped.is_some(), "three items and two thieves");
        let stolen = [first.join().unwrap(), second.join().unwrap()];
        assert!(
            stolen.iter().any(Option::is_some),
            "each gave way to the other"
        );
        assert_each_once(
            popped
                .into_iter()
                .chain(stolen.into_iter().flatten())
                .chain(drain(&me, 4)),
            3,
        );
    });
}

/// Another thread can steal items that a thief has moved into its own ring.
#[test]
fn ring_steal_from_thief() {
    model(|| {
        let (ring, own) = (filled(4), Arc::new(Ring::new()));
        let second = {
            let own = own.clone();
            thread::spawn(move || own.steal_one())
        };
        let me = owner(&own);
        let mut taken: Vec<u32> = ring.steal_into(&me).into_iter().collect();
        taken.extend(second.join().unwrap());
        taken.extend(drain(&me, 4));
        assert_eq!(taken.len(), 2);
        taken.extend(drain(&owner(&ring), 4));
        assert_each_once(taken, 4);
    });
}

/// The owner of a full ring moves half of it to the injector while a thief takes three, one at a time.
///
/// Fails under: `queue-overflow-unchecked`.
#[test]
fn ring_overflow_and_steal() {
    model(|| {
        let (ring, injector) = (filled(4), Injector::new());
        let thief = {
            let ring = ring.clone();
            thread::spawn(move || [ring.steal_one(), ring.steal_one(), ring.steal_one()])
        };
        let me = owner(&ring);
        me.push_or_overflow(4, &injector);
        let mut taken: Vec<u32> = std::iter::from_fn(|| injector.pop()).collect();
        taken.extend(thief.join().unwrap().into_iter().flatten());
        taken.extend(drain(&me, 5));
        assert_each_once(taken, 5);
    });
}

/// A thief takes some items, and the thread that drops the ring last drops the rest.
///
/// Fails under: `queue-drop-forgets`.
#[test]
fn ring_drop_and_steal() {
    model(|| {
        let ledger = Ledger::new(3);
        let ring = Arc::new(Ring::new());
        for id in 0..3 {
            owner(&ring).push(ledger.item(id)).unwrap();
        }
        let thief = {
            let ring = ring.clone();
            thread::spawn(move || drop(ring.steal_one()))
        };
        drop(owner(&ring).pop());
        drop(ring);
        thief.join().unwrap();
        ledger.assert_all_dropped_once();
    });
}
