//! Positions of the ring.

use std::vec::Vec;

use super::Ring;
use super::body::CAPACITY;
use crate::Injector;

/// Every operation, at every distance from the point where positions wrap.
#[test]
fn positions_wrap() {
    let count = u32::try_from(CAPACITY).expect("it is small");
    for before in 0..=count {
        let ring = Ring::starting_at(0u32.wrapping_sub(before));
        let peer = Ring::starting_at(0u32.wrapping_sub(before / 2));
        // SAFETY: one handle for this ring, on one thread.
        let me = unsafe { ring.owner() };
        // SAFETY: one handle for that ring, on one thread.
        let thief = unsafe { peer.owner() };
        let injector = Injector::new();
        for item in 0..=count {
            me.push_or_overflow(item, &injector);
        }
        assert_eq!(ring.len(), CAPACITY / 2);
        let mut taken: Vec<u32> = ring.steal_into(&thief).into_iter().collect();
        taken.extend(core::iter::from_fn(|| thief.pop()));
        taken.extend(ring.steal_one());
        taken.extend(core::iter::from_fn(|| me.pop()));
        assert_eq!(taken, (count / 2..count).collect::<Vec<_>>());
        let moved: Vec<u32> = core::iter::from_fn(|| injector.pop()).collect();
        assert_eq!(moved, (0..count / 2).chain([count]).collect::<Vec<_>>());
        assert!(ring.is_empty() && peer.is_empty());
    }
}
