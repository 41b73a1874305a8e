//! The places where a pool's work lies. Each has a function that takes work out of it, and one that says what a look at
//! it shows.
//!
//! A worker or driver with nothing else to do takes any work out of the seats of others: a worker from rings and lists, a driver also from
//! slots. Of work that has an owner, `super::still` takes what the owner does not come to.

use terrace_queue::fork::Offer;
use terrace_sync::hint::spin_loop;
use terrace_sync::time::Instant;

use super::found::{Found, Taken};
use super::still::{relieve, relieve_of_job};
use crate::parts::injector::Lane;
use crate::parts::scopes::{Looking, Slot};
use crate::pool::Shared;
use crate::pool::fork::Claimed;
use crate::pool::runner::Runner;
use crate::protocol::publish::Sight;
use crate::tuned::{ASKING, GLOBAL_INTERVAL};

/// A place where work lies, or a turn in which another place goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Goes before the high lane, every [`GLOBAL_INTERVAL`]th turn of a seat:
    /// the injector, the background lane, or a stalled peer. Each turn takes from one of them, so that none keeps the
    /// others waiting; the own slot and ring are next.
    GlobalTurn,
    /// In the same turns, a job that another thread has forked, and that stands still.
    StalledFork,
    /// The high lane. A global turn skips it, as a full high lane would starve all others.
    HighLane,
    /// The looker's own LIFO slot, at most [`IN_A_ROW`](crate::tuned::IN_A_ROW) times in a row.
    LifoSlot,
    /// The looker's own ring.
    OwnRing,
    /// The injector, after each round of the own ring, however short. So a task there waits for one round for each batch before
    /// it, and a task in the ring for one batch a round.
    InjectorByRound,
    /// The injector, every other turn of threads without a seat.
    InjectorByTurn,
    /// The injector: a batch for a looker with a ring, one task for one without.
    Injector,
    /// The injector: one task.
    InjectorOne,
    /// Scopes whose children are worth the looker's time.
    OfferingScopes,
    /// The children of any scope.
    AnyScope,
    /// Jobs of threads that fork, if they are offered to any thread. Other jobs, and those to come, are watched.
    OpenForks,
    /// Jobs of threads that fork.
    AnyFork,
    /// The rings of all seats. A looker with a ring takes half of one, from a random seat on. A looker without a ring
    /// takes one task, from a seat on that is hashed from its turn.
    Peers,
    /// The background lane, with a permit.
    BackgroundLane,
    /// The LIFO slot of any worker.
    AnySlot,
    /// The LIFO slots of all workers, which the looker watches as the sentinel. The sentinel takes a task that has
    /// stood still ([`super::sentinel`]); a search takes none.
    WatchedSlots,
}

/// A thread that looks for work of a pool.
pub(crate) struct Look<'l, 'p> {
    pub(super) pool: &'p Shared,
    /// Its seat. A thread without one is a bystander.
    runner: Option<&'l Runner<'p>>,
    /// For which kind of thread it looks.
    pub(super) looking: Looking,
    /// Whether [`Source::GlobalTurn`] goes first.
    is_global: bool,
    /// The turn of a thread without a seat.
    number: usize,
}

impl<'l, 'p> Look<'l, 'p> {
    /// A look by a thread without a seat: by `tick`, by `try_tick`, or by a thread that waits for a pool without
    /// workers. Also by a waiting worker that is the last resort, and on behalf of all workers.
    #[inline]
    pub(crate) fn bystander(pool: &'p Shared, looking: Looking) -> Self {
        Self {
            pool,
            runner: None,
            looking,
            is_global: false,
            number: 0,
        }
    }

    /// A look by such a thread that is going to take: counts one of their turns. Also the number of the source that goes first in it, if it
    /// is another one than usual.
    #[inline]
    pub(super) fn bystander_turn(pool: &'p Shared) -> (Self, Option<usize>) {
        let number = pool.seats.bystander_turn();
        let look = Self {
            number,
            ..Self::bystander(pool, Looking::Awake)
        };
        let interval = GLOBAL_INTERVAL as usize;
        let is_global = number % interval == interval - 1;
        (look, is_global.then(|| number / interval))
    }

    /// A look by a worker or driver that does not count as a turn.
    #[inline]
    pub(crate) fn from_seat(runner: &'l Runner<'p>, looking: Looking) -> Self {
        Self {
            runner: Some(runner),
            ..Self::bystander(runner.pool, looking)
        }
    }

    /// A look by a worker or driver that is going to search: counts one of its turns.
    #[inline]
    pub(crate) fn turn(runner: &'l Runner<'p>) -> Self {
        Self {
            is_global: runner.fairness.is_global_turn(),
            ..Self::from_seat(runner, Looking::Awake)
        }
    }
}

impl Source {
    /// Takes a piece of work.
    // Into each order, which knows the source.
    #[inline(always)]
    pub(super) fn take<'p>(self, look: &Look<'_, 'p>) -> Option<Taken<'p>> {
        let pool = look.pool;
        match self {
            Self::GlobalTurn if look.is_global => global_turn(look.runner?),
            Self::StalledFork if look.is_global => relieve_of_job(look.runner?),
            Self::GlobalTurn | Self::StalledFork => None,
            Self::HighLane if look.is_global => None,
            Self::HighLane => {
                let task = pool.lanes.high.pop()?;
                Some(Found::Lane(task, Lane::High).into())
            }
            Self::LifoSlot => look.runner?.pop_slot().map(Taken::task),
            Self::OwnRing => look.runner?.ring().pop().map(Taken::task),
            Self::InjectorByRound => {
                let runner = look.runner?;
                if !runner.fairness.round_is_over(|| runner.seat.ring.len()) {
                    return None;
                }
                take_batch(runner)
            }
            Self::InjectorByTurn if look.number % 2 == 0 => None,
            Self::InjectorByTurn => take_one(pool),
            Self::Injector => match look.runner {
                Some(runner) => take_batch(runner),
                None => take_one(pool),
            },
            Self::InjectorOne => take_one(pool),
            Self::OfferingScopes => take_child(pool, |slot| {
                pool.offer(slot, Looking::Awake) == Sight::Ready
            }),
            Self::AnyScope => take_child(pool, |_| true),
            Self::OpenForks if !pool.may_join_in(Looking::Awake) => None,
            Self::OpenForks => take_fork(pool, look.runner, Offer::Open),
            Self::AnyFork => take_fork(pool, look.runner, Offer::Quiet),
            Self::Peers => match look.runner {
                Some(runner) => take_peers(runner),
                None => pool.seats.steal_one(look.number).map(Taken::task),
            },
            Self::BackgroundLane => take_background(pool),
            Self::AnySlot => pool.seats.take_slotted().map(Taken::task),
            Self::WatchedSlots => None,
        }
    }

    /// What a look at it shows; called after a fence where the looker is going to sleep.
    ///
    /// `Covered` is work that its owner is expected to take: a worker that sees it may sleep while a sentinel watches.
    /// Its worker covers the own slot: only that worker fills the slot, and it takes the task out before it sleeps.
    #[inline]
    pub(super) fn sight(self, look: &Look<'_, '_>) -> Sight {
        let pool = look.pool;
        match self {
            // They take from places that every order with one of them lists besides.
            Self::GlobalTurn | Self::StalledFork | Self::InjectorByRound | Self::InjectorByTurn => {
                Sight::Nothing
            }
            Self::HighLane => Sight::ready_if(!pool.lanes.high.is_empty()),
            Self::LifoSlot => match look.runner {
                Some(runner) => Sight::covered_if(!runner.seat.lifo.is_empty()),
                None => Sight::Nothing,
            },
            Self::OwnRing => {
                Sight::ready_if(look.runner.is_some_and(|own| !own.seat.ring.is_empty()))
            }
            Self::Injector | Self::InjectorOne => Sight::ready_if(!pool.injector.is_empty()),
            Self::OfferingScopes => offered(look),
            Self::AnyScope => Sight::ready_if(pool.scopes.has_any()),
            Self::OpenForks => match pool.forks.sight(look.looking, Offer::Open) {
                Sight::Ready if !pool.may_join_in(look.looking) => Sight::Covered,
                sight => sight,
            },
            Self::AnyFork => pool.forks.sight(look.looking, Offer::Quiet),
            Self::Peers => Sight::ready_if(pool.seats.has_ringed()),
            Self::BackgroundLane => Sight::ready_if(pool.has_background()),
            Self::AnySlot | Self::WatchedSlots => pool.seats.slots_sight(),
        }
    }
}

/// The most urgent thing that a scope's list asks.
fn offered(look: &Look<'_, '_>) -> Sight {
    let mut most = Sight::Nothing;
    for slot in look.pool.scopes.table.scan() {
        match look.pool.offer(slot, look.looking) {
            Sight::Ready => return Sight::Ready,
            seen => most = most.max(seen),
        }
    }
    most
}

/// Takes a child out of the first list that it may take from.
fn take_child<'p>(pool: &'p Shared, may: impl Fn(&Slot<Shared>) -> bool) -> Option<Taken<'p>> {
    let mut slots = pool.scopes.table.scan().filter(|slot| may(slot));
    slots.find_map(|slot| Some(Found::Child(slot.core.steal()?, slot).into()))
}

fn global_turn<'p>(runner: &Runner<'p>) -> Option<Taken<'p>> {
    let pool = runner.pool;
    match runner.fairness.random(4) {
        0 | 1 => take_one(pool),
        2 => take_background(pool).or_else(|| relieve(runner)),
        _ => relieve(runner),
    }
}

fn take_batch<'p>(runner: &Runner<'p>) -> Option<Taken<'p>> {
    let pool = runner.pool;
    let ring = runner.ring();
    let task = pool
        .injector
        .take_batch(&ring, || pool.seats.bound(), &runner.gather)?;
    Some(Taken::moved(task, &ring))
}

#[inline]
fn take_one(pool: &Shared) -> Option<Taken<'_>> {
    pool.injector.take().map(Taken::task)
}

fn take_background(pool: &Shared) -> Option<Taken<'_>> {
    let task = pool.take_background()?;
    Some(Found::Lane(task, Lane::Background).into())
}

/// Takes half of the ring of another seat, from a random one on.
pub(super) fn take_peers<'p>(runner: &Runner<'p>) -> Option<Taken<'p>> {
    let seats = &runner.pool.seats;
    let all = seats.bound();
    let start = runner.fairness.random(all);
    let task = (start..all).chain(0..start).find_map(|number| {
        let seat = seats.at(number)?;
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
        if !seat.deque.has_jobs(least) || seat.is_here() {
            return None;
        }
        seat.deque.steal(least, asking())
    })?;
    // SAFETY: this thread has claimed it.
    let claimed = unsafe { Claimed::new(job.into_inner()) };
    Some(Found::Fork(claimed).into())
}
