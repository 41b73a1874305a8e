//! How far loom's search of a model has come. It runs a whole search on one thread of the system.

use std::cell::RefCell;

#[derive(Default)]
struct Tally {
    schedules: usize,
    /// Threads that this schedule has spawned.
    spawned: usize,
    /// The most that a schedule before has spawned.
    most: usize,
}

std::thread_local! {
    static TALLY: RefCell<Tally> = RefCell::default();
}

/// A schedule begins. What threads of the last one spawned after its body's end is counted by now.
pub(crate) fn begin() {
    TALLY.with_borrow_mut(|tally| {
        tally.most = tally.most.max(tally.spawned);
        tally.spawned = 0;
        tally.schedules += 1;
    });
}

/// A modelled thread is spawned, also one that stands for a timer.
pub(crate) fn spawned() {
    TALLY.with_borrow_mut(|tally| tally.spawned += 1);
}

/// The search has ended: prints what `cargo xtask loom` reads. The body's own thread counts.
pub(crate) fn end() {
    let tally = TALLY.take();
    let (schedules, threads) = (tally.schedules, 1 + tally.most.max(tally.spawned));
    std::println!("model: {schedules} schedules, {threads} threads");
}
