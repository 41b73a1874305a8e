//! Thieves of jobs that were forked: of any job of a pool, as a worker or spare that has nothing else to do.

use terrace_queue::fork::Offer;
use terrace_sync::hint::spin_loop;
use terrace_sync::time::Instant;

use super::found::{Found, Taken};
use crate::pool::fork::stolen::Claimed;
use crate::pool::runner::Runner;
use crate::pool::shared::Shared;
use crate::tuned::ASKING;

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
pub(super) fn take<'p>(
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
