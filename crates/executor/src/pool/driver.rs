//! Async drivers: the futures of `run` and `tick`, which run a pool's tasks while they are polled.
//!
//! A `run` future holds a seat, whose ring belongs to the pool: what is left there can be stolen, also from a future that
//! is never polled again or was forgotten. It sleeps by the protocol of `terrace_park::Driver`. In each poll:
//!
//! 1. If it was notified, it first runs one task, and wakes another driver if more is left: the notification is served
//!    before code of unknown length (the future that it runs beside) is.
//! 2. It polls that future.
//! 3. It runs tasks: own ring, injector, thefts, children of scopes; after a round of the ring the injector first.
//!    After [`TURNS_A_POLL`] of them it lets others on its thread have a turn.
//! 4. With nothing left it searches for a few microseconds more, unless half of the drivers do: whoever publishes meanwhile
//!    need not wake another. Then it announces its sleep, looks once more, and returns.
//!
//! A driver that was notified, or has searched, owes the others a look: what it then leaves behind it publishes, so that
//! the next driver is woken by it and not each by a publish of its own.
//!
//! A driver that ends, or is dropped, moves what its ring holds to the injector and publishes.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use terrace_local::task::Runnable;
use terrace_park::Driver;
use terrace_queue::Owner;
use terrace_sync::hint::spin_loop;

use super::Shared;
use super::context;
use super::current::Current;
use super::search::Found;
use super::seat::Seat;
use super::spin::spin;
use super::turns::{Rest, Turns};
use super::worker::{run_task, run_turn};
use crate::again::Again;

/// Tasks that one poll of a `run` future runs at most.
const TURNS_A_POLL: usize = 200;

/// Runs tasks of the pool until `future` is done.
pub(crate) async fn run<T>(pool: &Shared, future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut running = Running {
        pool,
        sleeper: Sleeper::new(pool),
        held: None,
    };
    poll_fn(|context| running.poll(context, future.as_mut())).await
}

/// Waits for a task of the pool and runs it.
pub(crate) async fn tick(pool: &Shared) {
    let mut sleeper = Sleeper::new(pool);
    poll_fn(|context| {
        loop {
            let owes = sleeper.wake();
            let found = pool.find_any();
            if owes {
                pool.wake_for_rest();
            }
            if let Some(found) = found {
                // A tick whose task takes long is no sleeper any more.
                sleeper.leave();
                found.run(pool);
                return Poll::Ready(());
            }
            if sleeper.sleep(context) {
                return Poll::Pending;
            }
        }
    })
    .await;
}

/// Polls one queued task, if there is one.
pub(crate) fn try_tick(pool: &Shared) -> bool {
    // `find_any`, with a short way for the usual case.
    let found = match pool.pop_high() {
        None => match pool.pop_any() {
            Some(task) => {
                run_task(task);
                return true;
            }
            None => pool.find_unqueued(),
        },
        high => high,
    };
    match found {
        Some(found) => {
            found.run(pool);
            true
        }
        None => false,
    }
}

impl Shared {
    /// For a driver that owed others a look, and has looked: wakes the next one if something is left, of which several
    /// publishes may have told this one alone. What is in a slot is left to the guard, if there is one.
    fn wake_for_rest(&self) {
        if self.has_any() || (self.has_woken() && !self.idle.has_guard()) {
            self.publish();
        }
    }
}

/// A driver's place among the sleepers, taken when it first has nothing to do.
struct Sleeper<'p> {
    pool: &'p Shared,
    place: Option<Driver<'p>>,
}

impl<'p> Sleeper<'p> {
    fn new(pool: &'p Shared) -> Self {
        Self { pool, place: None }
    }

    /// Ends the sleep; whether the driver had been notified.
    fn wake(&mut self) -> bool {
        self.place.as_mut().is_some_and(Driver::wake)
    }

    /// Announces the sleep and looks once more; false if there is something to take.
    fn sleep(&mut self, context: &Context<'_>) -> bool {
        self.place().sleep(context.waker());
        if !self.pool.has_any() && !self.pool.has_woken() {
            return true;
        }
        // It may be announced by a thread that has not pushed it yet.
        spin_loop();
        false
    }

    fn place(&mut self) -> &mut Driver<'p> {
        self.place.get_or_insert_with(|| self.pool.idle.driver())
    }

    /// Looks around for a while, if others may be asleep who need not be woken meanwhile; whether it did.
    fn search(&mut self) -> bool {
        let pool = self.pool;
        self.place().search(|| {
            spin(|| pool.has_any() || pool.has_woken());
        })
    }

    fn leave(&mut self) {
        self.place = None;
    }
}

/// The state of one `run` future.
struct Running<'p> {
    pool: &'p Shared,
    sleeper: Sleeper<'p>,
    held: Option<Held<'p>>,
}

/// The seat of a `run` future, from its first poll on.
struct Held<'p> {
    pool: &'p Shared,
    seat: &'p Seat,
    index: usize,
    /// Plain data between polls: the future has to be `Sync`.
    turns: Rest,
}

impl<'p> Held<'p> {
    fn take(pool: &'p Shared) -> Self {
        let index = pool.driver_seats.acquire();
        let seat = pool.driver_seats.get(index);
        Self {
            pool,
            seat: seat.expect("an acquired seat exists"),
            index,
            turns: Turns::new(index).rest(),
        }
    }
}

impl Running<'_> {
    fn poll<T>(
        &mut self,
        context: &mut Context<'_>,
        future: Pin<&mut impl Future<Output = T>>,
    ) -> Poll<T> {
        let pool = self.pool;
        let held = self.held.get_or_insert_with(|| Held::take(pool));
        let here =
            context::Context::new(pool, held.seat, (Current::FIRST_DRIVER + held.index) as u32);
        // SAFETY: the guard is dropped at the end of this function, after everything that is entered in it. The seat is
        // held by this future, which is borrowed mutably.
        let _entered = unsafe { here.enter() };
        let turns = Turns::go_on(held.turns);
        let this = Here {
            pool,
            seat: held.seat,
            turns: &turns,
            again: &here.again,
        };
        let result = this.drive(&mut self.sleeper, context, future);
        held.turns = turns.rest();
        result
    }
}

/// One poll of a driver, inside its context.
struct Here<'p> {
    pool: &'p Shared,
    /// Held by the driver.
    seat: &'p Seat,
    turns: &'p Turns,
    again: &'p Again,
}

impl<'p> Here<'p> {
    fn drive<T>(
        &self,
        sleeper: &mut Sleeper<'_>,
        context: &mut Context<'_>,
        future: Pin<&mut impl Future<Output = T>>,
    ) -> Poll<T> {
        if sleeper.wake() {
            if let Some(found) = self.find(true) {
                found.run(self.pool);
            }
        }
        if let Poll::Ready(value) = future.poll(context) {
            return Poll::Ready(value);
        }
        for _ in 0..TURNS_A_POLL {
            if let Some(task) = self.pool.pop_own(&self.ring(), self.turns) {
                run_turn(task, self.again);
                continue;
            }
            self.settle();
            match self.next(sleeper, context) {
                Some(Found::Task(task)) => run_turn(task, self.again),
                Some(found) => found.run(self.pool),
                None => return Poll::Pending,
            }
        }
        // It does something else next.
        self.settle();
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// What is found, else none: the driver is asleep.
    fn next(&self, sleeper: &mut Sleeper<'_>, context: &Context<'_>) -> Option<Found<'p>> {
        let mut owes = false;
        let mut searched = false;
        loop {
            let found = self.find(std::mem::take(&mut owes));
            if found.is_some() {
                return found;
            }
            if !std::mem::replace(&mut searched, true) && sleeper.search() {
                owes = true;
                continue;
            }
            if sleeper.sleep(context) {
                return None;
            }
            owes |= sleeper.wake();
        }
    }

    /// Publishes what has yielded, unless it is next.
    fn settle(&self) {
        self.again.settle(|| self.pool.publish());
    }

    fn ring(&self) -> Owner<'p, Runnable> {
        // SAFETY: the driver holds the seat, and the ring's operations run no code of anybody else.
        unsafe { self.seat.ring.owner() }
    }

    /// Looks everywhere. What becomes visible again by that is published; if the driver `owes` a look, what is left is, also
    /// where it found nothing: a thief may have been in the way.
    fn find(&self, owes: bool) -> Option<Found<'p>> {
        let (found, moved) = self.pool.find_for_driver(&self.ring(), self.turns);
        if moved {
            self.pool.publish_moved();
        } else if owes {
            self.pool.wake_for_rest();
        }
        found
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // SAFETY: the seat is given back below.
        let ring = unsafe { self.seat.ring.owner() };
        let mut moved = 0;
        while let Some(task) = ring.pop() {
            self.pool.injected.push(task);
            moved += 1;
        }
        self.pool.driver_seats.release(self.index);
        self.pool.publish_tasks(moved);
    }
}
