//! Work that a thread takes out of the seats of others: half of a ring, or a job that was forked.
//!
//! A worker or driver with nothing else to do takes any: a worker from rings and lists, a driver also from slots. Some work has an owner
//! that does not come to it, because the owner runs a long task or was preempted. Two kinds of thread look twice, and take work that has
//! not moved between the looks. Each busy worker and driver looks at rings, slots and forks in some of its turns: [`relieve`] and
//! [`relieve_fork`]. A sentinel, a parked worker with a time-out, looks at slots, scopes and forks: [`super::sentinel`].

use terrace_queue::fork::Offer;
use terrace_sync::hint::spin_loop;
use terrace_sync::time::Instant;

use super::found::{Found, Taken};
use crate::parts::fairness::Seen;
use crate::pool::fork::Claimed;
use crate::pool::runner::Runner;
use crate::pool::shared::Shared;
use crate::tuned::ASKING;

/// Takes half of the ring of another seat, from a random one on.
pub(super) fn take_peers<'p>(runner: &Runner<'p>) -> Option<Taken<'p>> {
    let seats = &runner.pool.seats;
    // It reads the number once: a seat that comes during the search would shift the others.
    let workers = seats.workers.high();
    let all = workers + seats.drivers.high();
    let start = runner.fairness.random(all);
    let task = (start..all).chain(0..start).find_map(|number| {
        let seat = seats.at(workers, number)?;
        if seat.ring.is_empty() || std::ptr::eq(seat, runner.seat) {
            return None;
        }
        seat.steal_half(&runner.ring())
    })?;
    let counts = &runner.seat.counts;
    counts.steal_operations.add(1);
    counts.steals.add(1 + runner.seat.ring.len());
    Some(Taken::moved(task, &runner.ring()))
}

/// For a worker or driver that never runs out of tasks, and so never steals. It takes half of a ring, or the task in a
/// slot, that has not moved since its last look. Else it suspects the next seat with work.
///
/// Without it, a task behind one that blocks its thread might never run: all other runners may have tasks that wake
/// themselves again and again.
pub(super) fn relieve<'p>(runner: &Runner<'p>) -> Option<Taken<'p>> {
    let seats = &runner.pool.seats;
    let suspect = &runner.fairness.suspect;
    let workers = seats.workers.high();
    let all = workers + seats.drivers.high();
    let see = |number| {
        let seat = seats.at(workers, number)?;
        let is_own = std::ptr::eq(seat, runner.seat);
        (!is_own).then(|| seat.see(number)).flatten()
    };
    let (last, taken) = match suspect.get() {
        Some(Seen::Task { seat, look }) => {
            let task = seats.take_still(seat, look);
            (seat, task.map(Taken::task))
        }
        Some(seen @ Seen::Ring { seat, .. }) => {
            let still = seats.at(workers, seat).filter(|_| see(seat) == Some(seen));
            let task = still.and_then(|seat| seat.steal_half(&runner.ring()));
            (seat, task.map(|task| Taken::moved(task, &runner.ring())))
        }
        _ => (0, None),
    };
    // The seat that gave something may hold more.
    let first = usize::from(taken.is_none());
    suspect.set((first..first + all).find_map(|step| see((last + step) % all)));
    taken
}

/// Likewise for a job that was forked: takes it if it has not moved since the last look.
pub(super) fn relieve_fork<'p>(runner: &Runner<'p>) -> Option<Taken<'p>> {
    let forks = &runner.pool.forks;
    let all = forks.bound();
    if all == 0 {
        return None;
    }
    let fairness = &runner.fairness;
    if let Some(Seen::Fork { seat, look }) = fairness.fork_suspect.take() {
        if let Some(job) = take_still(runner.pool, seat, look) {
            return Some(Found::Fork(job).into());
        }
    }
    let seat = fairness.random(all);
    let look = forks.seat(seat).and_then(|seat| seat.deque.look());
    let seen = look.map(|look| Seen::Fork { seat, look });
    fairness.fork_suspect.set(seen);
    None
}

/// Says, between two looks, whether a thief goes on asking.
pub(crate) fn asking() -> impl FnMut() -> bool {
    let mut since = None;
    move || {
        for _ in 0..8 {
            spin_loop();
        }
        since.get_or_insert_with(Instant::now).elapsed() < ASKING
    }
}

/// Takes the oldest job of another seat, from a random one on, if the seat's offer is at least `least`.
pub(super) fn take_fork<'p>(
    pool: &'p Shared,
    runner: Option<&Runner<'p>>,
    least: Offer,
) -> Option<Taken<'p>> {
    let all = pool.forks.bound();
    if all == 0 {
        return None;
    }
    let start = runner.map_or(0, |runner| runner.fairness.random(all));
    let job = (start..all).chain(0..start).find_map(|number| {
        let seat = pool.forks.seat(number)?;
        if !seat.has_jobs(least) || seat.is_here() {
            return None;
        }
        seat.deque.steal(least, asking())
    })?;
    // SAFETY: this thread has claimed it, out of a deque of the pool.
    let claimed = unsafe { Claimed::new(job.into_inner()) };
    Some(Found::Fork(claimed).into())
}

/// Takes the oldest job of the seat with this number, if it is the one that `look` saw.
pub(super) fn take_still(pool: &Shared, number: usize, look: u64) -> Option<Claimed> {
    let seat = pool.forks.seat(number)?;
    if seat.is_here() || seat.deque.look() != Some(look) {
        return None;
    }
    let job = seat.deque.take_gift().or_else(|| seat.deque.force())?;
    // SAFETY: this thread has claimed it, out of a deque of the pool.
    let claimed = unsafe { Claimed::new(job) };
    pool.forks.sites.stood_still(claimed.site());
    Some(claimed)
}
