//! How many workers are busy: a hint for callers that pace their wakes.

use terrace_sync::atomic::Ordering;

use crate::idle::Idle;

impl Idle {
    /// Live workers that neither park nor wait restricted: those that run or search. A hint, never
    /// exact while anybody moves. Two relaxed loads a group.
    pub fn awake(&self) -> usize {
        self.groups()
            .map(|group| {
                let live = group.live.load(Ordering::Relaxed);
                let word = group.load(Ordering::Relaxed);
                (live & !(word.parked() | word.restricted())).count_ones() as usize
            })
            .sum()
    }
}
