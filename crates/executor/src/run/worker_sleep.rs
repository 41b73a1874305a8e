//! The sleep of a worker: as a sentinel, which watches what no other worker takes, or until it is woken.

use std::time::Duration;

use terrace_local::cells::give_back;
use terrace_park::{Token, Woken};

use crate::parts::awake::Asleep;
use crate::parts::scopes::Looking;
use crate::pool::fork::here;
use crate::pool::runner::Runner;
use crate::protocol::sight::Sight;
use crate::work::scan::Scan;
use crate::work::sentinel::Sentinel;

/// Why a sleep ended.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Rest {
    /// The worker has not slept, or another thread woke it.
    #[default]
    None,
    /// It slept as the sentinel until its time was over.
    Full,
}

/// Sleeps until woken. It sleeps as a sentinel if there is covered work to watch, or was lately, and no two other
/// workers watch.
pub(super) fn sleep(
    runner: &Runner<'_>,
    token: Option<Token>,
    sentinel: &mut Sentinel,
) -> (Token, Rest) {
    let pool = runner.pool();
    let index = runner.index();
    let _asleep = goes_to_sleep(runner);
    let token = if watches(runner, sentinel) {
        match sleep_as_sentinel(runner, token, sentinel, None) {
            Ok(Woken::Unparked(token)) => return (token, Rest::None),
            Ok(Woken::TimedOut(token)) => return (token, Rest::Full),
            Err(token) => token,
        }
    } else {
        token
    };
    let scan = Scan::of_worker(runner, Looking::Parking);
    let token = pool.idle.park(index, token, &scan);
    terrace_trace::unpark();
    (token, Rest::None)
}

/// Whether there is something to watch, or was lately. That includes each place that a look before a sleep may show as covered: no
/// search takes from there, so a worker that neither slept nor watched would spin. Most workers watch active threads, too, as those
/// may open scopes. A worker with a reactor does not, as it hears nothing of its reactor while it watches. While no worker watches,
/// publishers wake one for each scope.
pub(super) fn watches(runner: &Runner<'_>, sentinel: &Sentinel) -> bool {
    let pool = runner.pool();
    let scopes = || match runner.polled.get() {
        true => pool.scopes.any_to_watch(pool.crew(), 1),
        false => pool.scopes.others_active(pool.crew()),
    };
    sentinel.is_keen()
        || scopes()
        || pool.seats.slots_sight() != Sight::Nothing
        || pool.forks.any_forking()
}

/// Sleeps as a sentinel, for at most `limit`. Hands the token back if two other workers watch.
pub(super) fn sleep_as_sentinel(
    runner: &Runner<'_>,
    token: Option<Token>,
    sentinel: &mut Sentinel,
    limit: Option<Duration>,
) -> Result<Woken, Option<Token>> {
    let pool = runner.pool();
    let index = runner.index();
    let scan = Scan::of_worker(runner, Looking::Parking);
    let mut left = limit;
    let sleeps = sentinel.sleeps(pool, index).map_while(|sleep| {
        if let Some(left) = &mut left {
            *left = left.checked_sub(sleep)?;
        }
        Some(sleep)
    });
    let woken = pool.idle.park_as_sentinel(index, token, &scan, sleeps)?;
    terrace_trace::unpark();
    Ok(woken)
}

/// The worker is about to sleep. It counts as asleep while the result lives.
pub(super) fn goes_to_sleep(runner: &Runner<'_>) -> Asleep {
    here::rest(runner);
    terrace_trace::park();
    runner.seat().counts.parks.add(1);
    give_back();
    runner.settle();
    runner.rotation.sleeps();
    runner.seat().asleep.begin();
    Asleep::begin()
}
