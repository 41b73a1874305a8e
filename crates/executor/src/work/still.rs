//! Has it moved? Work that has an owner is its owner's, and mostly the owner takes it a moment later. Three kinds of thread look twice. What
//! both looks have seen has an owner that runs a long task, or was preempted.
//!
//! | looks twice                        | at                                                         | between the two looks           |
//! |------------------------------------|------------------------------------------------------------|---------------------------------|
//! | a worker or driver that is busy    | the slot or ring of one other seat after the other         | its turns: [`relieve`]          |
//! | a worker that is busy              | likewise the jobs of one other thread                      | its turns: [`relieve_of_job`]   |
//! | a sentinel                         | the slots of all workers                                   | a beat, or some microseconds    |
//! | a sentinel                         | all slots, scopes and jobs                                 | a millisecond                   |
//! | the watch, which takes nothing     | all jobs, and what else tells of progress                  | a millisecond and more          |
//!
//! Without the first two rows, a task behind one that blocks its thread might never run: all other runners may have tasks that wake
//! themselves again and again, and so never steal.

use std::cell::Cell;

use super::found::{Found, Taken};
use crate::parts::turns::{Seen, Spot};
use crate::pool::Shared;
use crate::pool::fork::Claimed;
use crate::pool::runner::Runner;
use crate::tuned::PERIOD;

impl Spot {
    /// What lies there now, if anything does.
    pub(crate) fn look(self, pool: &Shared) -> Option<Seen> {
        let (look, is_empty) = match self {
            Self::Slot(worker) => (pool.seats.workers.get(worker)?.lifo.look()?.into(), false),
            Self::Ring(seat) => {
                let ring = &pool.seats.at(seat)?.ring;
                (ring.taken().into(), ring.is_empty())
            }
            Self::Fork(seat) => (pool.forks.seat(seat)?.deque.look()?, false),
            Self::Scope(slot) => {
                let core = &pool.scopes.table.get(slot)?.core;
                (core.taken().into(), core.is_empty())
            }
        };
        (!is_empty).then_some(Seen { spot: self, look })
    }
}

/// What lies at the spots of one kind.
pub(crate) fn look_at(
    pool: &Shared,
    bound: usize,
    kind: impl Fn(usize) -> Spot,
) -> impl Iterator<Item = Seen> {
    (0..bound).filter_map(move |number| kind(number).look(pool))
}

impl Seen {
    /// Takes the work if it has not moved since: a task, a child, the oldest job, or half of a ring into the ring of `runner`.
    pub(super) fn take<'p>(
        self,
        pool: &'p Shared,
        runner: Option<&Runner<'p>>,
    ) -> Option<Taken<'p>> {
        if self.spot.look(pool) != Some(self) {
            return None;
        }
        match self.spot {
            Spot::Slot(worker) => {
                let task = pool.seats.workers.get(worker)?.lifo.take();
                task.map(Taken::task)
            }
            Spot::Ring(seat) => {
                let (runner, seat) = (runner?, pool.seats.at(seat)?);
                // A new worker's seat shifts the numbers of drivers' seats.
                if std::ptr::eq(seat, runner.seat) {
                    return None;
                }
                let ring = runner.ring();
                let task = seat.steal_half(&ring)?;
                Some(Taken::moved(task, &ring))
            }
            Spot::Fork(seat) => {
                let seat = pool.forks.seat(seat)?;
                if seat.is_here() {
                    return None;
                }
                let job = seat.deque.take_gift().or_else(|| seat.deque.force())?;
                // SAFETY: this thread has claimed it.
                let claimed = unsafe { Claimed::new(job) };
                // Its joiner was busy or blocked: for a period of a sentinel, or for many turns of a busy worker.
                pool.forks.sites.note(claimed.site(), PERIOD);
                Some(Found::Fork(claimed).into())
            }
            Spot::Scope(slot) => {
                let slot = pool.scopes.table.get(slot)?;
                Some(Found::Child(slot.core.steal()?, slot).into())
            }
        }
    }
}

/// Takes the task in a slot, or half of a ring, that has not moved since the last look. Then suspects the next seat.
pub(super) fn relieve<'p>(runner: &Runner<'p>) -> Option<Taken<'p>> {
    let seats = &runner.pool.seats;
    let look = |number: usize| {
        if std::ptr::eq(seats.at(number)?, runner.seat) {
            return None;
        }
        let in_slot = Spot::Slot(number).look(runner.pool);
        in_slot.or_else(|| Spot::Ring(number).look(runner.pool))
    };
    look_again(runner, &runner.fairness.suspect, seats.bound(), look)
}

/// Likewise the oldest job of a thread that forks.
pub(super) fn relieve_of_job<'p>(runner: &Runner<'p>) -> Option<Taken<'p>> {
    let forks = &runner.pool.forks;
    let look = |number| {
        let is_own = forks.seat(number)?.is_here();
        (!is_own).then(|| Spot::Fork(number).look(runner.pool))?
    };
    look_again(runner, &runner.fairness.fork_suspect, forks.bound(), look)
}

/// Takes what was suspected, if it is still there. Then suspects the first of `all` seats, from that one on, where something lies.
fn look_again<'p>(
    runner: &Runner<'p>,
    suspect: &Cell<(usize, Option<Seen>)>,
    all: usize,
    look: impl Fn(usize) -> Option<Seen>,
) -> Option<Taken<'p>> {
    let (last, seen) = suspect.get();
    let taken = seen.and_then(|seen| seen.take(runner.pool, Some(runner)));
    // The seat that gave something may hold more.
    let first = last + usize::from(taken.is_none());
    let next = (first..first + all)
        .map(|number| number % all)
        .find_map(|number| Some((number, Some(look(number)?))));
    suspect.set(next.unwrap_or((last, None)));
    taken
}
