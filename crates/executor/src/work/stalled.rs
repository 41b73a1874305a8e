//! Work whose owner does not come to it, because the owner runs a long task or was preempted.
//!
//! A worker or driver with nothing else to do takes it anyway: a worker from rings and lists, a driver also from slots.
//! Two kinds of thread look twice, and take work that has not moved between the looks. Each busy worker and driver looks
//! at rings and slots in some of its turns: this file. A sentinel, a parked worker with a time-out, looks at slots and
//! scopes: [`super::sentinel`].

use terrace_local::task::Runnable;
use terrace_queue::Owner;

use super::forks;
use super::found::{Found, Taken};
use crate::parts::fairness::Suspect;
use crate::parts::seat::Seat;
use crate::pool::runner::Runner;

/// For a worker or driver that never runs out of tasks, and so never steals. It takes half of a ring, or the task in a
/// slot, that has not moved since its last look. Else it suspects the next seat with work.
///
/// Without it, a task behind one that blocks its thread might never run: all other runners may have tasks that wake
/// themselves again and again.
pub(super) fn relieve<'p>(runner: &Runner<'p>) -> Option<Taken<'p>> {
    let seats = &runner.pool().seats;
    let fairness = &runner.fairness;
    let last = fairness.suspect.get();
    let workers = seats.workers.high();
    if let Some(seat) = seats.at(workers, last.seat) {
        if let Some(taken) = take_stalled(seat, &last, &runner.ring()) {
            // It may hold more.
            fairness.suspect.set(Suspect::new(last.seat, seat));
            return Some(taken);
        }
    }
    let all = workers + seats.drivers.high();
    let own = runner.ring();
    let may_be_stalled =
        |seat: &Seat| !is_of(seat, &own) && (!seat.ring.is_empty() || seat.lifo.look().is_some());
    let next = (1..=all).find_map(|step| {
        let number = (last.seat + step) % all;
        let seat = seats.at(workers, number)?;
        may_be_stalled(seat).then(|| Suspect::new(number, seat))
    });
    if let Some(next) = next {
        fairness.suspect.set(next);
    }
    None
}

/// Likewise for a job that was forked: takes it if it has not moved since the last look.
pub(super) fn relieve_fork<'p>(runner: &Runner<'p>) -> Option<Taken<'p>> {
    let pool = runner.pool();
    let all = pool.forks.bound();
    if all == 0 {
        return None;
    }
    let fairness = &runner.fairness;
    let (number, look) = fairness.fork_suspect.get();
    if let Some(job) = look.and_then(|look| forks::take_still(pool, number, look)) {
        return Some(Found::Fork(job).into());
    }
    let next = fairness.random(all);
    let look = pool.forks.seat(next).and_then(|seat| seat.deque.look());
    fairness.fork_suspect.set((next, look));
    None
}

/// Whether it is the seat of the runner with this ring.
fn is_of(seat: &Seat, own: &Owner<'_, Runnable>) -> bool {
    std::ptr::eq(&raw const seat.ring, own.ring())
}

fn take_stalled<'p>(seat: &Seat, last: &Suspect, own: &Owner<'_, Runnable>) -> Option<Taken<'p>> {
    if is_of(seat, own) {
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
