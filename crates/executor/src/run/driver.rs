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
//! 4. With nothing left it searches for a few microseconds more, unless half of the drivers do: a publisher need not wake
//!    another one in that time. Then it announces its sleep, looks once more, and returns.
//!
//! A driver that was notified, or has searched, owes the others a look: what it then leaves behind it publishes, so that
//! the next driver is woken by it and not each by a publish of its own.
//!
//! A driver that ends, or is dropped, moves what its ring holds to the injector and publishes.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use terrace_park::Driver;
use terrace_sync::hint::spin_loop;

use crate::parts::injector::Refilled;
use crate::parts::scopes::Looking;
use crate::parts::seat::Seat;
use crate::parts::spin::spin;
use crate::pool::frames;
use crate::pool::runner::Runner;
use crate::pool::shared::Shared;
use crate::protocol::sight::Sight;
use crate::work::found::Found;
use crate::work::order::{self, Order};
use crate::work::source::Look;

/// Tasks that one poll of a `run` future runs at most.
const TURNS_A_POLL: usize = 200;

/// Runs tasks of the pool until `future` is done.
pub(crate) async fn run<T>(pool: &Shared, future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut seat = None;
    // Dropped before the seat: a driver that was notified tells the next one before it hands its ring over.
    let mut sleeper = Sleeper::new(pool);
    poll_fn(|context| {
        let seat = seat.get_or_insert_with(|| DriverSeat::take(pool));
        seat.poll(&mut sleeper, context, future.as_mut())
    })
    .await
}

/// Waits for a task of the pool and runs it.
pub(crate) async fn tick(pool: &Shared) {
    let mut sleeper = Sleeper::new(pool);
    poll_fn(|context| {
        loop {
            let owes = sleeper.wake();
            // As in `drive`.
            let lent = frames::lend();
            let found = find_any(pool);
            if owes == Owes::Look {
                wake_for_rest(pool);
            }
            if let Some(found) = found {
                // A tick whose task takes long is no sleeper any more.
                sleeper.leave();
                found.run_borrowed(pool);
                return Poll::Ready(());
            }
            drop(lent);
            if sleeper.sleep(context) == Slept::Yes {
                return Poll::Pending;
            }
        }
    })
    .await;
}

/// Polls one queued task, if there is one.
#[inline]
pub(crate) fn try_tick(pool: &Shared) -> bool {
    // In a pool that has nothing but ticks, for less: the first of the order is the oldest single task.
    if let Some(outside) = frames::Outside::of_polls() {
        if let Some(task) = pool.injector.take_unrivalled() {
            outside.poll(pool, task);
            return true;
        }
    }
    try_tick_in_order(pool)
}

// Not into `try_tick`, whose first branch would pay for its registers.
#[inline(never)]
fn try_tick_in_order(pool: &Shared) -> bool {
    // As in `drive`.
    let _lent = frames::lend();
    match order::Bystander::take(&Look::bystander(pool, Looking::Awake)) {
        Some(taken) => {
            taken.found.run_borrowed(pool);
            true
        }
        None => false,
    }
}

/// Any work at all, for a thread without a seat.
#[inline]
fn find_any(pool: &Shared) -> Option<Found<'_>> {
    let taken = order::Bystander::take(&Look::bystander(pool, Looking::Awake));
    taken.map(|taken| taken.found)
}

/// What lies where a driver or bystander may take it.
fn sight(pool: &Shared) -> Sight {
    order::Bystander::sight(&Look::bystander(pool, Looking::Awake))
}

/// For a driver that owed the others a look, and has looked: wakes the next one if something is left, of which several
/// publishes may have told this one alone. A task in a slot is left to the sentinel, if there is one.
fn wake_for_rest(pool: &Shared) {
    if sight(pool).is_takeable(&pool.idle) {
        pool.publish();
    }
}

/// Whether a driver has to look for work on behalf of others.
#[derive(Clone, Copy, PartialEq, Eq)]
#[must_use = "what a driver that owes a look leaves behind it publishes"]
enum Owes {
    /// It was notified, or has searched: publishes relied on it.
    Look,
    /// No publish did.
    Nothing,
}

impl Owes {
    fn look_if(owes: bool) -> Self {
        if owes { Self::Look } else { Self::Nothing }
    }
}

/// Whether a driver sleeps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slept {
    /// Its sleep is announced, and it has seen nothing to take since.
    Yes,
    /// There is something to take.
    No,
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

    /// Ends the sleep; a driver that had been notified owes a look.
    fn wake(&mut self) -> Owes {
        Owes::look_if(self.place.as_mut().is_some_and(Driver::wake))
    }

    /// Announces the sleep and looks once more.
    fn sleep(&mut self, context: &Context<'_>) -> Slept {
        self.place().sleep(context.waker());
        // Covered work, too: no sentinel watches for drivers.
        if sight(self.pool) == Sight::Nothing {
            return Slept::Yes;
        }
        // It may be announced by a thread that has not pushed it yet.
        spin_loop();
        Slept::No
    }

    fn place(&mut self) -> &mut Driver<'p> {
        self.place.get_or_insert_with(|| self.pool.idle.driver())
    }

    /// Looks around for a while, if publishers need not wake another driver in that time; a driver that did owes a look.
    fn search(&mut self) -> Owes {
        let pool = self.pool;
        Owes::look_if(self.place().search(|| {
            spin(|| sight(pool) != Sight::Nothing);
        }))
    }

    fn leave(&mut self) {
        self.place = None;
    }
}

/// A value that is reached by `&mut` alone.
struct Exclusive<T>(T);

// SAFETY: a shared reference to it gives no access to the value.
unsafe impl<T> Sync for Exclusive<T> {}

/// The seat of a `run` future, from its first poll on.
struct DriverSeat<'p> {
    /// The future has to be `Sync`, which a runner is not.
    runner: Exclusive<Runner<'p>>,
}

impl<'p> DriverSeat<'p> {
    fn take(pool: &'p Shared) -> Self {
        pool.injector.note_rival();
        let index = pool.seats.drivers.acquire();
        // SAFETY: the table has just handed out this seat, and `drop` gives it back after the runner's last use.
        let runner = unsafe { Runner::driver(pool, index) };
        Self {
            runner: Exclusive(runner),
        }
    }

    fn poll<T>(
        &mut self,
        sleeper: &mut Sleeper<'_>,
        context: &mut Context<'_>,
        future: Pin<&mut impl Future<Output = T>>,
    ) -> Poll<T> {
        let runner = &self.runner.0;
        runner.enter(|| {
            let _polled = Polled::new(runner.seat());
            drive(runner, sleeper, context, future)
        })
    }
}

/// Says that the driver of a seat is being polled until dropped.
struct Polled<'p>(&'p Seat);

impl<'p> Polled<'p> {
    fn new(seat: &'p Seat) -> Self {
        seat.set_polling(true);
        Self(seat)
    }
}

impl Drop for Polled<'_> {
    fn drop(&mut self) {
        self.0.set_polling(false);
    }
}

/// One poll of a driver, which is the innermost runner of the thread.
fn drive<T>(
    runner: &Runner<'_>,
    sleeper: &mut Sleeper<'_>,
    context: &mut Context<'_>,
    future: Pin<&mut impl Future<Output = T>>,
) -> Poll<T> {
    let pool = runner.pool();
    if sleeper.wake() == Owes::Look {
        let _lent = frames::lend();
        if let Some(found) = find(runner, Owes::Look) {
            found.run(pool);
        }
    }
    if let Poll::Ready(value) = future.poll(context) {
        return Poll::Ready(value);
    }
    // The background tasks that this thread is in the middle of stand still while it runs others. Had the thread their
    // permits only in its sleep, it would be woken for a background task again and again, and never take it.
    let _lent = frames::lend();
    for _ in 0..TURNS_A_POLL {
        if let Some(task) = runner.next_at_hand() {
            runner.run_turn(task);
            continue;
        }
        runner.flush();
        match next(runner, sleeper, context) {
            Some(Found::Task(task)) => runner.run_turn(task),
            Some(found) => found.run(pool),
            None => return Poll::Pending,
        }
    }
    // It does something else next.
    runner.flush();
    context.waker().wake_by_ref();
    Poll::Pending
}

/// What the driver finds; without anything, it is asleep.
fn next<'p>(
    runner: &Runner<'p>,
    sleeper: &mut Sleeper<'_>,
    context: &Context<'_>,
) -> Option<Found<'p>> {
    let mut owes = Owes::Nothing;
    let mut searched = false;
    loop {
        let found = find(runner, std::mem::replace(&mut owes, Owes::Nothing));
        if found.is_some() {
            return found;
        }
        if !std::mem::replace(&mut searched, true) && sleeper.search() == Owes::Look {
            owes = Owes::Look;
            continue;
        }
        if sleeper.sleep(context) == Slept::Yes {
            return None;
        }
        if sleeper.wake() == Owes::Look {
            owes = Owes::Look;
        }
    }
}

/// Looks everywhere. What becomes visible again by that the driver publishes; if it owes a look, it publishes what is left,
/// also where it found nothing: a thief may have been in the way.
fn find<'p>(runner: &Runner<'p>, owes: Owes) -> Option<Found<'p>> {
    let pool = runner.pool();
    let taken = order::Driver::take(&Look::turn(runner));
    if taken
        .as_ref()
        .is_some_and(|taken| taken.refilled == Refilled::Yes)
    {
        pool.publish_moved();
    } else if owes == Owes::Look {
        wake_for_rest(pool);
    }
    taken.map(|taken| taken.found)
}

impl Drop for DriverSeat<'_> {
    fn drop(&mut self) {
        let runner = &self.runner.0;
        let pool = runner.pool();
        let moved = runner.hand_over();
        pool.seats.drivers.release(runner.index());
        pool.publish_tasks(moved);
    }
}
