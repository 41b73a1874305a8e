//! Work whose owner does not come to it, because the owner runs a long task or was preempted.
//!
//! A worker or driver with nothing else to do takes it anyway: a worker from rings and lists, a driver also from slots.
//! Two kinds of thread look twice, and take work that has not moved between the looks. The sentinel, a parked worker
//! with a time-out, looks at slots and scopes. Each busy worker and driver looks at rings and slots in some of its
//! turns.

use std::time::Duration;

use terrace_local::task::Runnable;
use terrace_queue::Owner;

use super::found::{Found, Taken};
use crate::parts::fairness::Suspect;
use crate::parts::pacing::SENTINEL_PERIOD;
use crate::parts::seat::Seat;
use crate::pool::runner::Runner;
use crate::pool::shared::Shared;

/// What a sentinel saw at its last look: the index of a slot, and a number that changes when the slot's work moves.
#[derive(Default)]
pub(crate) struct Stalled {
    children: Vec<(usize, u32)>,
    slots: Vec<(usize, u32)>,
    /// The processor time of all workers then, if there were children.
    processor: Option<Duration>,
}

/// For a worker or driver that never runs out of tasks, and so never steals. It takes half of a ring, or the task in a
/// slot, that has not moved since its last look. Else it suspects another seat next time.
///
/// Without it, a task behind one that blocks its thread might never run: all other runners may have tasks that wake
/// themselves again and again.
pub(super) fn relieve<'p>(runner: &Runner<'p>) -> Option<Taken<'p>> {
    let seats = &runner.pool().seats;
    let fairness = &runner.fairness;
    let last = fairness.suspect();
    let workers = seats.workers.high();
    if let Some(seat) = seats.at(workers, last.seat) {
        if let Some(taken) = take_stalled(seat, &last, &runner.ring()) {
            // It may hold more.
            fairness.suspects(Suspect::new(last.seat, seat));
            return Some(taken);
        }
    }
    let next = fairness.random(workers + seats.drivers.high());
    if let Some(seat) = seats.at(workers, next) {
        fairness.suspects(Suspect::new(next, seat));
    }
    None
}

fn take_stalled<'p>(seat: &Seat, last: &Suspect, own: &Owner<'_, Runnable>) -> Option<Taken<'p>> {
    if std::ptr::eq(&raw const seat.ring, own.ring()) {
        return None;
    }
    if last.lifo.is_some() && seat.lifo.look() == last.lifo {
        if let Some(task) = seat.lifo.take() {
            return Some(Taken::task(task));
        }
    }
    if seat.ring.is_empty() || seat.ring.taken() != last.taken {
        return None;
    }
    let task = seat.steal_half(own)?;
    Some(Taken::moved(task, own))
}

impl Stalled {
    /// Takes a task or child of `pool` that has not moved since the last look.
    pub(crate) fn take<'p>(&mut self, pool: &'p Shared) -> Option<Found<'p>> {
        let mut found = self.take_child(pool);
        let mut now = Vec::new();
        for (index, seat) in pool.seats.workers.scan().enumerate() {
            let Some(look) = seat.lifo.look() else {
                continue;
            };
            if found.is_none() && self.slots.contains(&(index, look)) {
                found = seat.lifo.take().map(Found::Task);
            } else {
                now.push((index, look));
            }
        }
        self.slots = now;
        found
    }

    fn take_child<'p>(&mut self, pool: &'p Shared) -> Option<Found<'p>> {
        let mut now = Vec::new();
        let mut found = None;
        for (index, slot) in pool.scopes.table.scan().enumerate() {
            if slot.core().is_empty() {
                continue;
            }
            let look = (index, slot.core().taken());
            if found.is_none() && self.children.contains(&look) {
                found = slot.core().steal().map(|child| Found::Child(child, slot));
            } else {
                now.push(look);
            }
        }
        let looked = found.is_some() || !now.is_empty();
        let processor = looked.then(|| pool.seats.processor_time());
        if found.is_some() {
            pool.scopes.pacing.observe_stall();
            let used = processor
                .zip(self.processor)
                .map(|(now, last)| now.saturating_sub(last));
            if used.is_some_and(|used| used < SENTINEL_PERIOD / 4) {
                pool.scopes.observe_blocking();
            }
        }
        self.children = now;
        self.processor = processor;
        found
    }
}
