//! Work whose holder does not come to it, because it runs something long or was preempted.
//!
//! Those who have nothing else to do take it anyway: workers out of rings and lists, drivers also out of slots. For the rest
//! there are two who look twice, and take what has not moved between the looks: the guard, a parked worker with a time-out,
//! for slots and scopes; and each busy worker and driver in some of its turns, for rings and slots.

use terrace_local::task::Runnable;
use terrace_queue::Owner;

use super::Shared;
use super::search::{Found, moved, steal_half};
use super::seat::Seat;
use super::turns::Turns;

/// What a guard saw at its last look: the index of a slot, and a number that changes when what is there does.
#[derive(Default)]
pub(crate) struct Stalled {
    children: Vec<(usize, u32)>,
    woken: Vec<(usize, u32)>,
}

/// What a busy worker or driver saw at its last look.
#[derive(Clone, Copy, Default)]
pub(crate) struct Suspect {
    /// The number of a seat.
    seat: usize,
    /// What its ring counted as taken.
    taken: u32,
    /// What its slot showed.
    woken: Option<u32>,
}

impl Suspect {
    fn new(number: usize, seat: &Seat) -> Self {
        Self {
            seat: number,
            taken: seat.ring.taken(),
            woken: seat.woken.look(),
        }
    }
}

impl Shared {
    /// For one that never runs out of tasks, and so never steals: half of what has not moved in a ring since its last look,
    /// or what has not in a slot. Else the suspect is another seat next time. The second value as in [`find`](Self::find).
    ///
    /// Without it, a task that waits behind one that blocks would wait for ever where all others have tasks that wake
    /// themselves for ever.
    pub(super) fn relieve(
        &self,
        own: &Owner<'_, Runnable>,
        turns: &Turns,
    ) -> (Option<Found<'_>>, bool) {
        let last = turns.suspect();
        let workers = self.seats.high();
        if let Some(seat) = self.seat_at(workers, last.seat) {
            let found = self.take_stalled(seat, &last, own);
            if found.0.is_some() {
                // It may hold more.
                turns.suspects(Suspect::new(last.seat, seat));
                return found;
            }
        }
        let next = turns.random(workers + self.driver_seats.high());
        if let Some(seat) = self.seat_at(workers, next) {
            turns.suspects(Suspect::new(next, seat));
        }
        (None, false)
    }

    fn take_stalled(
        &self,
        seat: &Seat,
        last: &Suspect,
        own: &Owner<'_, Runnable>,
    ) -> (Option<Found<'_>>, bool) {
        if std::ptr::eq(&raw const seat.ring, own.ring()) {
            return (None, false);
        }
        if last.woken.is_some() && seat.woken.look() == last.woken {
            if let Some(task) = seat.woken.take() {
                return (Some(Found::Task(task)), false);
            }
        }
        if seat.ring.is_empty() || seat.ring.taken() != last.taken {
            return (None, false);
        }
        match steal_half(&seat.ring, own) {
            Some(task) => moved(task, own),
            None => (None, false),
        }
    }

    /// A task or child that did not move between two looks of the guard.
    pub(crate) fn find_stalled(&self, last: &mut Stalled) -> Option<Found<'_>> {
        let child = self.find_stalled_child(&mut last.children);
        let mut now = Vec::new();
        let mut found = child;
        for (index, seat) in self.seats.scan().enumerate() {
            let Some(look) = seat.woken.look() else {
                continue;
            };
            if found.is_none() && last.woken.contains(&(index, look)) {
                found = seat.woken.take().map(Found::Task);
            } else {
                now.push((index, look));
            }
        }
        last.woken = now;
        found
    }

    fn find_stalled_child(&self, last: &mut Vec<(usize, u32)>) -> Option<Found<'_>> {
        let mut now = Vec::new();
        let mut found = None;
        for (index, slot) in self.board.scan().enumerate() {
            if slot.core().is_empty() {
                continue;
            }
            let look = (index, slot.core().taken());
            if found.is_none() && last.contains(&look) {
                found = slot.core().steal().map(|child| Found::Child(child, slot));
            } else {
                now.push(look);
            }
        }
        *last = now;
        if found.is_some() {
            self.pacing.observe_stall();
        }
        found
    }
}
