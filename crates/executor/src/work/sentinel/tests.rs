//! What a sentinel watches and takes, and how many threads may be busy before another wake is left to it.

use std::time::Duration;

use terrace_queue::fork::Offer;
use terrace_sync::time::Instant;

use super::Sentinel;
use crate::parts::forks::By;
use crate::parts::scopes::Looking;
use crate::tuned::{BLOCKING_SCOPES, LONG_PERIOD, PERIOD};
use crate::work::found::Found;
use crate::work::tests::{Looker, Place, Pool};

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
    let surplus = || pool.shared.surplus(slot);
    // A thread in a long body comes to no child soon.
    let now = Instant::now();
    let begun = now.checked_sub(PERIOD).expect("the machine is up");
    pool.shared.scopes.pacing(slot).observe_body(begun);
    slot.core.push_remote(pool.item());
    assert_eq!(surplus(), 1);
    slot.core.body_ended();
    slot.core.announce_sleep();
    assert_eq!(surplus(), 0);
    slot.core.push_remote(pool.item());
    assert_eq!(surplus(), 1);
}

/// After one child was seen to block, the next scopes need no sentinel: any number of threads may be busy, however short children are.
#[test]
fn a_child_that_blocks_is_remembered_for_many_scopes() {
    let pool = Pool::new();
    let scopes = &pool.shared.scopes;
    let has_room = || pool.shared.room(Looking::ToWake, pool.shared.busy()) > 0;
    assert!(has_room());
    (0..1_000).for_each(|_| scopes.drivers.rise());
    assert!(!has_room());
    scopes.observe_blocking();
    for _ in 0..BLOCKING_SCOPES {
        assert!(scopes.is_blocking() && has_room());
        scopes.forget_blocking();
    }
    assert!(!scopes.is_blocking() && !has_room());
    // A second one within that time begins it anew.
    scopes.observe_blocking();
    scopes.forget_blocking();
    scopes.observe_blocking();
    for _ in 1..BLOCKING_SCOPES {
        scopes.forget_blocking();
    }
    assert!(scopes.is_blocking());
}

/// The thread of a scope may be counted out twice while it sleeps: that leaves no thread busy.
#[test]
fn a_thread_that_is_counted_out_twice_makes_no_number_wrap() {
    let pool = Pool::new();
    pool.shared.scopes.drivers.fall();
    assert_eq!(pool.shared.busy(), 0);
    pool.shared.scopes.drivers.rise();
    assert_eq!(pool.shared.busy(), 0);
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
    peer.seat.count.spawned.add(1);
    peer.seat.count.ended.add(1);
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
