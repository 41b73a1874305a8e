//! A looker sees, before it sleeps, all work that it can take: for every order, with an item in each place in turn.

use terrace_local::task::{self, CoreRef, Runnable};
use terrace_queue::fork::{Considered, Gives, Offer, Pace};
use terrace_sync::Arc;
use terrace_thread::ThreadSpawner;

use super::found::Taken;
use super::source::{Look, Source};
use super::{Order, Visit, visit_all};
use crate::parts::forks::By;
use crate::parts::pacing::ScopeKind;
use crate::parts::scopes::{Looking, Slot};
use crate::parts::threads::{Config, Kind, Threads};
use crate::pool::Shared;
use crate::pool::fork::Worker;
use crate::pool::frames::Borrows;
use crate::pool::runner::Runner;
use crate::pool::schedule::{CoreOf, Usual};
use crate::protocol::job::JobRef;
use crate::protocol::publish::Sight;

/// Turns of one looker: enough for each kind of global turn, and for a second look at each seat.
const TURNS: u32 = 61 * 64;

/// Where the one item lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    HighLane,
    Injector,
    OwnSlot,
    PeerSlot,
    OwnRing,
    PeerRing,
    BackgroundLane,
    /// A scope whose thread sleeps.
    ScopeAsleep,
    /// A scope whose thread drives it, on a pool with few busy threads.
    ScopeDriven,
    /// The same on a pool where more threads are busy than it wants.
    ScopeOfBusyPool,
    /// A thread that forks and offers the job to any thread.
    ForkOffered,
    /// A thread that forks and leaves the job to a sentinel.
    ForkQuiet,
}

const PLACES: [Place; 12] = [
    Place::HighLane,
    Place::Injector,
    Place::OwnSlot,
    Place::PeerSlot,
    Place::OwnRing,
    Place::PeerRing,
    Place::BackgroundLane,
    Place::ScopeAsleep,
    Place::ScopeDriven,
    Place::ScopeOfBusyPool,
    Place::ForkOffered,
    Place::ForkQuiet,
];

/// Which thread looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Looker {
    Worker,
    Driver,
    Bystander,
}

const LOOKERS: [Looker; 3] = [Looker::Worker, Looker::Driver, Looker::Bystander];

/// A pool of two workers that have no threads, and a driver.
pub(super) struct Pool {
    pub(super) shared: Arc<Shared>,
}

impl Pool {
    pub(super) fn new() -> Self {
        let mut config = Config::default();
        config.workers = 2;
        let shared = Shared::new(Threads::new(config), None, |_| ());
        shared.threads.set_workers(2);
        for _ in 0..2 {
            shared.seats.workers.acquire();
            shared.seats.drivers.acquire();
        }
        Self { shared }
    }

    pub(super) fn item(&self) -> Runnable {
        let core = CoreRef::Shared(CoreOf::<Usual>::counted(Arc::clone(&self.shared)));
        // SAFETY: the future is Send and borrows nothing.
        let (runnable, task) = unsafe { task::build(core, async {}) };
        task.detach();
        runnable
    }

    /// A scope of this thread, which is never closed.
    pub(super) fn open_scope(&self) -> &Slot<Shared> {
        let table = &self.shared.scopes.table;
        let slot = table.get(table.acquire()).expect("it was acquired");
        // SAFETY: the table has just handed out this slot of the pool's.
        unsafe {
            slot.open(
                &self.shared,
                ScopeKind::of::<()>(),
                terrace_thread::id(),
                ThreadSpawner::current(),
            );
        }
        slot
    }

    /// Another thread forks a job, and ends without a join: nothing runs the job.
    pub(super) fn fork(&self, offer: Offer) {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let seat = self.shared.forks.enter(&raw const *self.shared, By::Guest);
                // SAFETY: this thread holds the seat, and no other one takes it.
                let owner = unsafe { seat.owner() };
                let pace = |_: Considered| Pace {
                    pushes: 1,
                    offer,
                    gives: Gives::Asked,
                };
                let pushed = owner.push(JobRef::<Worker>::leaked(), pace);
                assert!(pushed.is_ok());
            });
        });
    }

    /// The runners of the looker, if it has a seat, and of a peer.
    pub(super) fn runners(&self, looker: Looker) -> (Option<Runner<'_>>, Runner<'_>) {
        let own = match looker {
            // SAFETY: `new` has acquired the seat, whose only runner this is.
            Looker::Worker => Some(unsafe { Runner::worker(&self.shared, 0, Kind::Worker) }),
            // SAFETY: `new` has acquired this seat, too, and no other runner is made of it.
            Looker::Driver => Some(unsafe { Runner::driver(&self.shared, 0) }),
            Looker::Bystander => None,
        };
        // SAFETY: `new` has acquired this seat, whose only runner this is.
        (own, unsafe {
            Runner::worker(&self.shared, 1, Kind::Worker)
        })
    }

    /// Puts an item there; false if the looker has no such place. Drivers do not use their slots.
    pub(super) fn put(&self, place: Place, own: Option<&Runner<'_>>, peer: &Runner<'_>) -> bool {
        let pool = &*self.shared;
        if place == Place::OwnSlot && own.is_some_and(Runner::is_driver) {
            return false;
        }
        if let Place::ForkOffered | Place::ForkQuiet = place {
            self.fork(if place == Place::ForkQuiet {
                Offer::Quiet
            } else {
                Offer::Open
            });
            return true;
        }
        let item = self.item();
        match (place, own) {
            (Place::ForkOffered | Place::ForkQuiet, _) => unreachable!("forked above"),
            (Place::OwnSlot | Place::OwnRing, None) => return false,
            (Place::OwnSlot, Some(own)) => assert!(own.seat.lifo.put(item).is_none()),
            (Place::OwnRing, Some(own)) => assert!(own.ring().push(item).is_ok()),
            (Place::PeerSlot, _) => assert!(peer.seat.lifo.put(item).is_none()),
            (Place::PeerRing, _) => assert!(peer.ring().push(item).is_ok()),
            (Place::HighLane, _) => pool.lanes.high.push(item),
            (Place::BackgroundLane, _) => pool.lanes.background.push(item),
            (Place::Injector, _) => pool.injector.push(item),
            (Place::ScopeAsleep | Place::ScopeDriven | Place::ScopeOfBusyPool, _) => {
                let slot = self.open_scope();
                slot.core.push_remote(item);
                match place {
                    Place::ScopeAsleep => slot.core.announce_sleep(),
                    Place::ScopeOfBusyPool => {
                        (0..64).for_each(|_| pool.scopes.drivers.rise());
                    }
                    _ => {}
                }
            }
        }
        true
    }
}

/// What one looker sees of an item in `place`, and whether it takes the item in any of its turns. `None` if it has no such
/// place.
fn look_at<'n>(
    looker: Looker,
    place: Place,
    sight: impl Fn(&Look<'_, '_>) -> Sight,
    take: impl for<'p> Fn(&Look<'_, 'p>) -> Option<Taken<'p>>,
) -> Option<(Sight, &'n str)> {
    let pool = Pool::new();
    let (own, peer) = pool.runners(looker);
    if !pool.put(place, own.as_ref(), &peer) {
        return None;
    }
    let looks = |looking| match &own {
        Some(own) => Look::from_seat(own, looking),
        None => Look::bystander(&pool.shared, looking),
    };
    let lookings = [
        Looking::Awake,
        Looking::Parking,
        Looking::ToWake,
        Looking::InWait,
    ];
    let seen = lookings.map(|looking| sight(&looks(looking)));
    let least = seen.into_iter().min().expect("four looks");
    let takes = (0..TURNS).any(|_| {
        let look = match &own {
            Some(own) => Look::turn(own),
            None => Look::bystander_turn(&pool.shared).0,
        };
        take(&look).is_some()
    });
    Some((least, if takes { "taken" } else { "left" }))
}

/// Each looker and place where an order takes an item that it does not see.
fn uncovered<O: Order>() -> Vec<(Looker, Place)> {
    let mut found = Vec::new();
    for looker in LOOKERS {
        for place in PLACES {
            if look_at(looker, place, O::sight, O::take) == Some((Sight::Nothing, "taken")) {
                found.push((looker, place));
            }
        }
    }
    found
}

#[test]
fn every_order_sees_what_it_takes() {
    struct Covered;

    impl Visit for Covered {
        fn order<O: Order>(&mut self, name: &str) {
            assert_eq!(uncovered::<O>(), [], "{name} takes what it does not see");
        }
    }

    visit_all(&mut Covered);
}

/// The order of a worker, whose sight lacks the high lane.
struct Blind;

impl Order for Blind {
    const SOURCES: &'static [Source] = super::Worker::SOURCES;

    fn take<'p>(look: &Look<'_, 'p>) -> Option<Taken<'p>> {
        super::Worker::take(look)
    }

    fn sight(look: &Look<'_, '_>) -> Sight {
        let sources = Self::SOURCES
            .iter()
            .filter(|&&source| source != Source::HighLane);
        let sights = sources.map(|source| source.sight(look));
        sights.max().unwrap_or(Sight::Nothing)
    }
}

#[test]
fn an_order_that_takes_more_than_it_sees_is_found() {
    let found = uncovered::<Blind>();
    assert_eq!(found, LOOKERS.map(|looker| (looker, Place::HighLane)));
}

#[test]
fn every_sleeper_sees_every_place() {
    struct Sighted;

    impl Visit for Sighted {
        fn order<O: Order>(&mut self, name: &str) {
            if !["Worker", "Driver", "Bystander", "Spare", "LastResort"].contains(&name) {
                return;
            }
            for looker in LOOKERS {
                for place in PLACES {
                    // Of jobs that were forked, workers take care.
                    let forked = matches!(place, Place::ForkOffered | Place::ForkQuiet);
                    if forked && ["Driver", "Bystander"].contains(&name) {
                        continue;
                    }
                    let seen = look_at(looker, place, O::sight, O::take);
                    assert!(
                        seen.is_none_or(|(sight, _)| sight > Sight::Nothing),
                        "{name} does not see {place:?} as {looker:?}"
                    );
                }
            }
        }
    }

    visit_all(&mut Sighted);
}

#[test]
fn covered_work_is_what_another_thread_is_at() {
    let seen = |place| {
        look_at(
            Looker::Worker,
            place,
            super::Worker::sight,
            super::Worker::take,
        )
    };
    // A scope's own thread drives it; a worker next runs the task in its slot.
    assert_eq!(seen(Place::ScopeOfBusyPool), Some((Sight::Covered, "left")));
    assert_eq!(seen(Place::OwnSlot), Some((Sight::Covered, "taken")));
    // In a global turn only, when it has stood still.
    assert_eq!(seen(Place::PeerSlot), Some((Sight::Covered, "taken")));
    assert_eq!(seen(Place::ForkQuiet), Some((Sight::Covered, "taken")));
    for place in [
        Place::Injector,
        Place::PeerRing,
        Place::ScopeAsleep,
        Place::ForkOffered,
    ] {
        assert_eq!(seen(place), Some((Sight::Ready, "taken")));
    }
}

#[test]
fn every_source_of_an_order_yields_something() {
    struct Yields;

    impl Visit for Yields {
        fn order<O: Order>(&mut self, name: &str) {
            for &source in O::SOURCES {
                let yields = PLACES.iter().any(|&place| {
                    LOOKERS.iter().any(|&looker| {
                        look_at(
                            looker,
                            place,
                            |look| source.sight(look),
                            |look| source.take(look),
                        )
                        .is_some_and(|(_, taken)| taken == "taken")
                    })
                });
                assert_eq!(
                    yields,
                    source != Source::WatchedSlots,
                    "{source:?} of {name}"
                );
            }
        }
    }

    visit_all(&mut Yields);
}

/// Threads without a seat reach a task in any place, though tasks in all other places come back each time that they are run.
#[test]
fn endless_tasks_in_all_other_places_keep_no_bystander_from_one() {
    const PLACES: [Place; 7] = [
        Place::HighLane,
        Place::Injector,
        Place::OwnRing,
        Place::PeerRing,
        Place::PeerSlot,
        Place::BackgroundLane,
        Place::ScopeAsleep,
    ];
    for take in [super::bystander_take, super::last_resort_take] {
        for target in PLACES {
            let pool = Pool::new();
            let (own, peer) = pool.runners(Looker::Worker);
            let (own, shared) = (own.expect("a worker has a seat"), &*pool.shared);
            let scope = pool.open_scope();
            let is_empty = |place| match place {
                Place::HighLane => shared.lanes.high.is_empty(),
                Place::Injector => shared.injector.is_empty(),
                Place::OwnRing => own.seat.ring.is_empty(),
                Place::PeerRing => peer.seat.ring.is_empty(),
                Place::PeerSlot => peer.seat.lifo.look().is_none(),
                Place::BackgroundLane => shared.lanes.background.is_empty(),
                _ => !shared.scopes.has_any(),
            };
            let fill = |place| match place {
                Place::ScopeAsleep => scope.core.push_remote(pool.item()),
                _ => assert!(pool.put(place, Some(&own), &peer)),
            };
            PLACES.into_iter().for_each(fill);
            let turns = (0..TURNS).take_while(|_| {
                let taken = take(shared).expect("there is work in all places");
                taken.found.run_without_seat(shared, Borrows::Executor);
                let others = PLACES.into_iter().filter(|place| *place != target);
                others.filter(|place| is_empty(*place)).for_each(fill);
                !is_empty(target)
            });
            assert!(
                turns.count() < TURNS as usize,
                "{target:?} is never reached"
            );
        }
    }
}
