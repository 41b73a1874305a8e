//! Where a pool's work lies, in which order each kind of looker takes it, and what the sleeping protocol asks of a worker's order.
//!
//! [`source`] defines each place of work once, with two functions. `take` takes a piece of work out of it. `sight`
//! tells a thread that is about to sleep what lies there. This file lists the places for each kind of looker. A
//! looker's search and its look before a sleep both follow that one list. So a looker sees, before it sleeps, all work
//! that it can take. `tests` proves it for every order, with an item in each place in turn.

pub(crate) mod found;
pub(crate) mod sentinel;
pub(crate) mod source;
pub(crate) mod still;
#[cfg(test)]
mod tests;

use terrace_park::Work;

use self::found::Taken;
use self::source::{Look, Source};
use crate::parts::scopes::Looking;
use crate::pool::Shared;
use crate::pool::runner::Runner;
use crate::protocol::publish::Sight;

/// A list of sources.
pub(crate) trait Order {
    /// The sources, the first one first.
    const SOURCES: &'static [Source];

    /// Takes the next piece of work.
    fn take<'p>(look: &Look<'_, 'p>) -> Option<Taken<'p>>;

    /// The most urgent thing that a look at all sources shows.
    fn sight(look: &Look<'_, '_>) -> Sight;

    /// Takes the next piece of work, but begins with another source, and goes on with the first one after the last.
    #[cold]
    fn take_from<'p>(first: usize, look: &Look<'_, 'p>) -> Option<Taken<'p>> {
        let (last, first) = Self::SOURCES.split_at(first % Self::SOURCES.len());
        let mut sources = first.iter().chain(last);
        sources.find_map(|source| source.take(look))
    }
}

/// The most urgent work that a thread without a seat may take.
#[inline]
pub(crate) fn bystander_sight(pool: &Shared, looking: Looking) -> Sight {
    Bystander::sight(&Look::bystander(pool, looking))
}

/// Whether a thread without a seat could take anything, covered work included.
#[inline]
pub(crate) fn bystander_has_work(pool: &Shared) -> bool {
    bystander_sight(pool, Looking::Awake) != Sight::Nothing
}

/// Takes the next piece of work for a thread without a seat.
#[inline]
pub(crate) fn bystander_take(pool: &Shared) -> Option<Taken<'_>> {
    take_by_turns::<Bystander>(pool)
}

/// Takes the next piece of work for a waiting worker that helps as the last resort.
pub(crate) fn last_resort_take(pool: &Shared) -> Option<Taken<'_>> {
    take_by_turns::<LastResort>(pool)
}

/// A task that keeps waking itself goes back to the place where this thread found it. It starves no other task:
/// - every other turn, the injector comes before the seats;
/// - the seat with which a turn begins is hashed from its number;
/// - every [`GLOBAL_INTERVAL`](crate::tuned::GLOBAL_INTERVAL)th turn begins with another source.
#[inline]
fn take_by_turns<O: Order>(pool: &Shared) -> Option<Taken<'_>> {
    let (look, first) = Look::bystander_turn(pool);
    match first {
        None => O::take(&look),
        Some(first) => O::take_from(first, &look),
    }
}

/// Calls something for each order.
#[cfg(test)]
pub(super) trait Visit {
    fn order<O: Order>(&mut self, name: &str);
}

/// Makes the orders. Search and sight come from the one list, so that neither can lack a source that the other has. The
/// macro writes both out source by source, so that the compiler decides each `match` over the source.
macro_rules! orders {
    ($($(#[$doc:meta])* $name:ident: $($source:ident),+;)+) => {
        $($(#[$doc])*
        pub(crate) struct $name;

        impl Order for $name {
            const SOURCES: &'static [Source] = &[$(Source::$source),+];

            #[inline]
            fn take<'p>(look: &Look<'_, 'p>) -> Option<Taken<'p>> {
                $(if let Some(taken) = Source::$source.take(look) {
                    return Some(taken);
                })+
                None
            }

            #[inline]
            fn sight(look: &Look<'_, '_>) -> Sight {
                let mut most = Sight::Nothing;
                $(match Source::$source.sight(look) {
                    Sight::Ready => return Sight::Ready,
                    seen => most = most.max(seen),
                })+
                most
            }
        })+

        /// Visits all of them.
        #[cfg(test)]
        pub(super) fn visit_all(visit: &mut impl Visit) {
            $(visit.order::<$name>(stringify!($name));)+
        }
    };
}

orders! {
    /// A worker. The slot comes twice: after its turns in a row, it may hold the only task.
    Worker: StalledFork, GlobalTurn, HighLane, LifoSlot, InjectorByRound, OwnRing, LifoSlot, Injector, OfferingScopes,
        OpenForks, Peers, BackgroundLane, WatchedSlots;

    /// A worker that was asked to end. It does not sleep any more, so no time-out tells it of children that stand
    /// still: it takes any. It leaves the slots of other workers to them.
    Ending: StalledFork, GlobalTurn, HighLane, LifoSlot, InjectorByRound, OwnRing, LifoSlot, Injector, OfferingScopes,
        Peers, BackgroundLane, AnyScope, AnyFork, WatchedSlots;

    /// A spare, which was started because no worker takes the work that is left. The tasks at the waiting workers'
    /// seats come first: they mostly wait for these.
    Spare: StalledFork, GlobalTurn, HighLane, LifoSlot, OwnRing, LifoSlot, Peers, AnyScope, AnyFork, InjectorOne,
        BackgroundLane, AnySlot;

    /// A `run` future. No sentinel watches for drivers, so it takes children even if they are not worth it, and tasks
    /// out of the slots of workers.
    Driver: GlobalTurn, HighLane, InjectorByRound, OwnRing, Injector, Peers, AnyScope, BackgroundLane, AnySlot;

    /// A thread without a seat. Tasks at seats come before the injector, except every other time: a thread that waits for a task mostly
    /// waits for one of these. It takes no job that was forked: the thread that has forked it runs it, or a worker does. Such a job may
    /// wait for a task that this very thread is in the middle of.
    Bystander: HighLane, InjectorByTurn, Peers, Injector, AnyScope, BackgroundLane, AnySlot;

    /// A waiting worker that helps as the last resort. It alone of all that wait takes jobs that others have forked.
    LastResort: HighLane, InjectorByTurn, Peers, Injector, AnyScope, AnyFork, BackgroundLane, AnySlot;

    /// A worker that yields to the tasks in its own queue only.
    OwnQueues: LifoSlot, OwnRing, LifoSlot;

    /// The work that a worker looks for between two children of one scope.
    BetweenChildren: HighLane, LifoSlot, OwnRing, Injector, Peers, BackgroundLane;
}

/// What a worker may take, as the sleeping protocol sees it.
pub(crate) struct Scan<'l, 'p> {
    look: Look<'l, 'p>,
    /// The worker with this number could not run the work of others even as the last resort: it passes the turn on.
    exhausted: Option<usize>,
}

impl<'l, 'p> Scan<'l, 'p> {
    /// By the loop of a worker.
    pub(crate) fn of_worker(worker: &'l Runner<'p>, looking: Looking) -> Self {
        Self::new(Look::from_seat(worker, looking))
    }

    /// On behalf of all workers, by another thread.
    pub(crate) fn for_workers(pool: &'p Shared) -> Self {
        Self::new(Look::bystander(pool, Looking::ToWake))
    }

    /// By a worker that waits in the middle of a job.
    pub(crate) fn in_wait(pool: &'p Shared) -> Self {
        Self::new(Look::bystander(pool, Looking::InWait))
    }

    /// The same scan, for a worker that could not help as the last resort.
    pub(crate) fn exhausted(self, worker: usize) -> Self {
        Self {
            exhausted: Some(worker),
            ..self
        }
    }

    fn new(look: Look<'l, 'p>) -> Self {
        Self {
            look,
            exhausted: None,
        }
    }

    /// Whether a worker has to be awake: its order shows ready work, or covered work that no sentinel watches.
    pub(crate) fn finds_something(&self) -> bool {
        Worker::sight(&self.look).is_takeable(&self.look.pool.idle)
    }
}

impl Work for Scan<'_, '_> {
    fn takeable(&self) -> bool {
        let found = self.finds_something();
        if let (true, Some(worker)) = (found, self.exhausted) {
            // The protocol asks this only while every live worker waits, this one included: the other finds itself the last resort.
            self.look.pool.idle.release_other(worker);
            return false;
        }
        found
    }

    fn has_private_work(&self, worker: usize) -> bool {
        // The worker looks after its fence, which pairs with the fence of `unpark_all` in
        // `Pool::close`.
        // In the middle of a job the wait itself looks at what else only the worker's loop handles: pinned tasks, and the end of the pool.
        let pool = self.look.pool;
        self.look.looking != Looking::InWait
            && (terrace_thread::has_work()
                || pool.holders.is_closing()
                || pool.is_asked_to_end(worker))
    }

    fn unattended(&self) {
        self.look.pool.unattended();
    }
}
