//! Tasks that yield, and are mostly not published.

use std::num::NonZeroUsize;

use terrace_executor::protocol::publish::DeferredPublish;
use terrace_executor::protocol::publish::Publish;
use terrace_park::{Idle, Parker, Unparker, Work};
use terrace_queue::{Owner, Ring};
use terrace_sync::{Arc, model, thread};

/// The task that an item stands for.
fn task(item: u32) -> NonZeroUsize {
    NonZeroUsize::MIN.saturating_add(item as usize)
}

/// A waker that unparks the thread which polls the driver.
struct Unpark(Unparker);

impl std::task::Wake for Unpark {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.unpark();
    }
}

/// Worker 0 runs a task and has a ring; worker 1 has nothing. No run of an item returns.
struct Pool {
    idle: Idle,
    ring: Ring<u32>,
}

impl Work for Pool {
    fn takeable(&self) -> bool {
        !self.ring.is_empty()
    }

    fn has_private_work(&self, _worker: usize) -> bool {
        false
    }
}

impl Pool {
    fn new() -> Arc<Self> {
        let idle = Idle::new(2);
        for worker in 0..2 {
            idle.adopt_live(worker);
        }
        // Worker 0 runs a task.
        let token = idle.enter(0);
        let pool = Self {
            idle,
            ring: Ring::new(),
        };
        pool.idle.stop_search(token, &pool);
        Arc::new(pool)
    }

    /// Worker 0 publishes item 0; item 1 yields behind it. The ring, for its next turn.
    fn publish_and_yield(&self, deferred: &DeferredPublish) -> Owner<'_, u32> {
        // SAFETY: called once a model, so this is the only owner handle.
        let ring = unsafe { self.ring.owner() };
        deferred.begin_turn(task(1));
        ring.push(0).expect("room");
        self.idle.publish();
        ring.push(1).expect("room");
        assert_eq!(deferred.pushed(task(1)), Publish::Later);
        ring
    }

    /// Worker 1 parks until it gets an item.
    fn thief(pool: &Arc<Self>) -> thread::JoinHandle<u32> {
        let pool = pool.clone();
        thread::spawn(move || {
            let mut token = pool.idle.enter(1);
            let item = loop {
                match pool.ring.steal_one() {
                    Some(item) => break item,
                    None => token = pool.idle.park(1, token, &*pool),
                }
            };
            pool.idle.stop_search(token, &*pool);
            item
        })
    }
}

/// The item that worker 0 has published is in front of the item that yields. Worker 0 next takes either one, and worker
/// 1 gets the other.
///
/// Seen to deadlock with a relaxed look at the head (`queue-look-relaxed`): the head has moved, the tail has not.
#[test]
fn executor_deferred_behind_others() {
    model(|| {
        let pool = Pool::new();
        let deferred = DeferredPublish::default();
        let thief = Pool::thief(&pool);
        let ring = pool.publish_and_yield(&deferred);
        let mine = ring.pop().expect("one thief takes one item");
        assert_eq!(mine + thief.join().unwrap(), 1);
    });
}

/// The same against a `run` future of another thread, which sleeps as a waker.
///
/// Seen to deadlock likewise (`queue-look-relaxed`).
#[test]
fn executor_deferred_behind_others_for_a_driver() {
    model(|| {
        let pool = Pool::new();
        let deferred = DeferredPublish::default();
        let other = pool.clone();
        let thief = thread::spawn(move || {
            let parker = Parker::new();
            let waker = std::sync::Arc::new(Unpark(parker.unparker())).into();
            let mut driver = other.idle.driver();
            loop {
                driver.wake();
                if let Some(item) = other.ring.steal_one() {
                    break item;
                }
                driver.sleep(&waker);
                if other.ring.is_empty() {
                    parker.park();
                }
            }
        });
        let ring = pool.publish_and_yield(&deferred);
        let mine = ring.pop().expect("one thief takes one item");
        assert_eq!(mine + thief.join().unwrap(), 1);
    });
}

/// The same again: the item in front has itself yielded before, behind a published item.
#[test]
fn executor_deferred_behind_one_that_yielded() {
    model(|| {
        let pool = Pool::new();
        let deferred = DeferredPublish::default();
        let ring = pool.publish_and_yield(&deferred);
        let thief = Pool::thief(&pool);
        let first = ring.pop().expect("two items, one thief");
        deferred.begin_turn(task(first));
        // It yields, too, while the other may be in front of it.
        ring.push(first).expect("room");
        assert_eq!(deferred.pushed(task(first)), Publish::Later);
        let mine = ring.pop().expect("two items, one thief");
        assert_eq!(mine + thief.join().unwrap(), 1);
    });
}

/// Worker 0 next runs another task, without end: worker 1 gets the item that yielded.
///
/// Seen to deadlock if worker 0 does not publish it then (`executor-deferred-unflushed`).
#[test]
fn executor_deferred_is_flushed() {
    model(|| {
        let pool = Pool::new();
        let deferred = DeferredPublish::default();
        let thief = Pool::thief(&pool);
        // SAFETY: the only owner handle.
        let ring = unsafe { pool.ring.owner() };
        deferred.begin_turn(task(7));
        ring.push(7).expect("room");
        assert_eq!(deferred.pushed(task(7)), Publish::Later);
        deferred.flush(|| {
            pool.idle.publish();
        });
        assert_eq!(thief.join().unwrap(), 7);
    });
}

/// A task that yields between two turns of the loop, or in the middle of the turn of another one, is published at once. The turn around
/// goes on as before.
#[test]
fn executor_deferred_is_for_the_loop_alone() {
    let deferred = DeferredPublish::default();
    assert_eq!(deferred.pushed(task(0)), Publish::Now);
    deferred.begin_turn(task(0));
    assert_eq!(deferred.pushed(task(1)), Publish::Now);
    assert_eq!(deferred.pushed(task(0)), Publish::Later);
    // The next turn takes the head of the ring.
    deferred.begin_turn(task(1));
    assert_eq!(deferred.pushed(task(0)), Publish::Now);
    deferred.flush(|| panic!("what was deferred has taken the place of the head"));
    assert_eq!(deferred.pushed(task(1)), Publish::Now);
}
