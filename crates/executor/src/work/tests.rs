//! A looker sees, before it sleeps, all work that it can take: for every order, with an item in each place in turn.

use std::time::Duration;

use terrace_local::task::{self, CoreRef, Runnable};
use terrace_queue::fork::{Considered, Gives, Offer, Pace};
use terrace_sync::Arc;
use terrace_sync::time::Instant;
use terrace_thread::ThreadSpawner;

use super::found::{Found, Taken};
use super::sentinel::Sentinel;
use super::source::{Look, Source};
use super::{Order, Visit, visit_all};
use crate::parts::forks::{By, JobWord};
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
use crate::tuned::{LONG_PERIOD, PERIOD};

/// Turns of one looker: enough for each kind of global turn, and for a second look at each seat.
const TURNS: u32 = 61 * 64;

/// Where the one item lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
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
enum Looker {
    Worker,
    Driver,
    Bystander,
}

const LOOKERS: [Looker; 3] = [Looker::Worker, Looker::Driver, Looker::Bystander];

/// A pool of two workers that have no threads, and a driver.
struct Pool {
    shared: Arc<Shared>,
}

impl Pool {
    fn new() -> Self {
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

    fn item(&self) -> Runnable {
        let core = CoreRef::Shared(CoreOf::<Usual>::counted(Arc::clone(&self.shared)));
        // SAFETY: the future is Send and borrows nothing.
        let (runnable, task) = unsafe { task::build(core, async {}) };
        task.detach();
        runnable
    }

    /// A scope of this thread, which is never closed.
    fn open_scope(&self) -> &Slot<Shared> {
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
    fn fork(&self, offer: Offer) {
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
                let pushed = owner.push(JobWord::of(JobRef::<Worker>::leaked()), pace);
                assert!(pushed.is_ok());
            });
        });
    }

    /// The runners of the looker, if it has a seat, and of a peer.
    fn runners(&self, looker: Looker) -> (Option<Runner<'_>>, Runner<'_>) {
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
    fn put(&self, place: Place, own: Option<&Runner<'_>>, peer: &Runner<'_>) -> bool {
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
    let lookings = [Looking::Awake, Looking::Parking, Looking::ToWake];
    let seen = lookings.map(|looking| sight(&looks(looking)));
    let least = seen.into_iter().min().expect("three looks");
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

/// What the sentinel takes when its watch ends of itself, after less than so many looks.
fn watch<'p>(sentinel: &mut Sentinel, pool: &'p Pool, most: usize) -> Option<Found<'p>> {
    let looks = sentinel.sleeps(&pool.shared, 0).take(most).count();
    assert!(looks < most, "the watch goes on");
    sentinel.end(&pool.shared, 0)
}

/// This thread has opened a scope and comes to none of its children. The sentinel takes one at its first look on the beat.
#[test]
fn a_sentinel_takes_a_child_whose_scopes_thread_is_stuck() {
    let pool = Pool::new();
    let (_, peer) = pool.runners(Looker::Bystander);
    let mut sentinel = Sentinel::default();
    assert!(pool.put(Place::ScopeDriven, None, &peer));
    for _ in 0..100 {
        pool.shared.scopes.beat.look_in_vain();
    }
    let before = pool.shared.scopes.beat.period();
    assert!(watch(&mut sentinel, &pool, 1).is_some());
    assert!(pool.shared.scopes.beat.period() < before);
}

/// A worker that pushes one child for a sleeping thread of a scope runs the child itself: it is worth no wake, however long the scope's
/// body was. A second child is.
#[test]
fn one_child_of_a_sleeping_scope_is_worth_no_wake() {
    let pool = Pool::new();
    let slot = pool.open_scope();
    let scopes = &pool.shared.scopes;
    let surplus = || scopes.surplus(slot, pool.shared.crew());
    // A thread in a long body comes to no child soon.
    let now = Instant::now();
    let begun = now.checked_sub(PERIOD).expect("the machine is up");
    scopes.pacing(slot).observe_body(begun);
    slot.core.push_remote(pool.item());
    assert_eq!(surplus(), 1);
    slot.core.body_ended();
    slot.core.announce_sleep();
    assert_eq!(surplus(), 0);
    slot.core.push_remote(pool.item());
    assert_eq!(surplus(), 1);
}

/// A task in a slot that has not moved for some microseconds lies behind a long poll: the sentinel takes it, and looks on the shortest
/// beat from then on. Looks that find none make the beat longer.
#[test]
fn a_sentinel_takes_a_task_behind_a_long_poll() {
    let pool = Pool::new();
    let (_, peer) = pool.runners(Looker::Bystander);
    let beat = || pool.shared.seats.beat.period();
    let shortest = beat();
    pool.shared.scopes.drivers.rise();
    let mut sentinel = Sentinel::default();
    let mut looks = sentinel.sleeps(&pool.shared, 0);
    for _ in 0..100 {
        assert!(looks.next().is_some(), "no task lies there");
    }
    assert!(beat() > 2 * shortest);
    assert!(peer.seat.lifo.put(pool.item()).is_none());
    assert_eq!(
        looks.next(),
        None,
        "a task lies there for some microseconds"
    );
    drop(looks);
    assert!(sentinel.end(&pool.shared, 0).is_some());
    assert_eq!(beat(), shortest);
    // A worker that has looked around before knows the task already.
    assert!(peer.seat.lifo.put(pool.item()).is_none());
    sentinel.looks_around(&pool.shared);
    assert_eq!(sentinel.sleeps(&pool.shared, 0).next(), None);
    assert!(sentinel.end(&pool.shared, 0).is_some());
}

/// Where no core is free, it takes what has not moved for a whole period.
#[test]
fn a_sentinel_takes_what_has_not_moved_for_a_period() {
    for place in [Place::ScopeOfBusyPool, Place::PeerSlot, Place::ForkQuiet] {
        let pool = Pool::new();
        let (_, peer) = pool.runners(Looker::Bystander);
        let mut sentinel = Sentinel::default();
        assert!(pool.put(place, None, &peer));
        pool.shared.scopes.drivers.rise();
        // Another sentinel has the beat of slots.
        assert!(pool.shared.seats.beat.claim(1));
        let slept: Duration = sentinel.sleeps(&pool.shared, 0).sum();
        assert_eq!(slept, PERIOD, "{place:?}");
        assert!(sentinel.end(&pool.shared, 0).is_some(), "{place:?}");
    }
}

/// While scopes are open that have nothing in their lists, a sentinel looks on the beat, and a second one rarely.
#[test]
fn one_of_two_sentinels_looks_on_the_beat() {
    let pool = Pool::new();
    let scope = pool.open_scope();
    let (mut first, mut second) = (Sentinel::default(), Sentinel::default());
    let beat = pool.shared.scopes.beat.period();
    let mut sleeps = first.sleeps(&pool.shared, 0);
    assert!(sleeps.next() >= Some(beat) && sleeps.next() < Some(2 * beat));
    assert_eq!(second.sleeps(&pool.shared, 1).next(), Some(PERIOD));
    drop(sleeps);
    assert!(first.end(&pool.shared, 0).is_none());
    assert!(second.sleeps(&pool.shared, 1).next() < Some(2 * beat));
    scope.core.body_ended();
}

/// A scope whose children all wait, and its thread too, is not watched while no other thread is busy: it may wait for hours. Nor is it for
/// long where a thread is busy, and nothing moves.
#[test]
fn a_scope_that_sleeps_is_not_watched() {
    let pool = Pool::new();
    let (_, peer) = pool.runners(Looker::Bystander);
    let scope = &pool.open_scope().core;
    // A child that waits, as it is in no list.
    scope.add_child();
    scope.body_ended();
    let mut sentinel = Sentinel::default();
    let watches = |sentinel: &mut Sentinel| {
        let slept: Duration = sentinel.sleeps(&pool.shared, 0).take(10_000).sum();
        assert!(sentinel.end(&pool.shared, 0).is_none() && !sentinel.keen);
        slept
    };
    let long = 60 * PERIOD..70 * PERIOD;
    assert!(
        long.contains(&watches(&mut sentinel)),
        "its thread is awake"
    );
    assert!(sentinel.is_bored(&pool.shared));
    peer.seat.count.spawn();
    peer.seat.count.end();
    assert!(!sentinel.is_bored(&pool.shared), "a task has ended");
    assert!(long.contains(&watches(&mut sentinel)));
    scope.announce_sleep();
    assert!(watches(&mut Sentinel::default()) < 4 * PERIOD);
    pool.shared.scopes.drivers.rise();
    let slept = watches(&mut Sentinel::default());
    assert!(
        long.contains(&slept),
        "a thread is busy that may wake the child"
    );
}

/// A thread that has forked may do so again at any moment. The watch goes on, and looks seldom where nothing moves.
#[test]
fn a_thread_that_forks_and_sleeps_is_watched_seldom() {
    let pool = Pool::new();
    let seat = pool.shared.forks.enter(&raw const *pool.shared, By::Guest);
    assert!(seat.begins_forking());
    let mut sentinel = Sentinel::default();
    let mut sleeps = sentinel.sleeps(&pool.shared, 0);
    let often: Vec<_> = sleeps
        .by_ref()
        .take_while(|&sleep| sleep <= PERIOD)
        .collect();
    let slept: Duration = often.iter().sum();
    assert!((60 * PERIOD..70 * PERIOD).contains(&slept), "{slept:?}");
    assert_eq!(sleeps.next(), Some(LONG_PERIOD));
    pool.fork(Offer::Quiet);
    assert!(sleeps.next() <= Some(PERIOD), "there is a job");
    assert_eq!(sleeps.last(), None);
    assert!(sentinel.end(&pool.shared, 0).is_some());
}

/// With nothing active, a watch ends. It goes on for some milliseconds if the worker has lately run a child.
#[test]
fn a_watch_without_anything_to_watch_ends() {
    let pool = Pool::new();
    let mut sentinel = Sentinel::default();
    assert!(watch(&mut sentinel, &pool, 2).is_none());
    sentinel.keen = true;
    assert!(sentinel.keen);
    let slept: Duration = sentinel.sleeps(&pool.shared, 0).sum();
    assert!(slept > PERIOD && slept < 4 * PERIOD);
    assert!(sentinel.end(&pool.shared, 0).is_none() && !sentinel.keen);
}
