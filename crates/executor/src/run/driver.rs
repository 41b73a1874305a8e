//! Async drivers: the futures of `run` and `tick`, which run a pool's tasks while they are polled.
//!
//! A `run` future holds a seat, whose ring belongs to the pool. Other threads can steal from it, even if the future is
//! forgotten or never polled again. The driver sleeps by the protocol of `terrace_park::Driver`. In each poll:
//!
//! 1. If it was notified, it first runs one task, and wakes another driver if more is left. So it serves the
//!    notification before the future beside it runs, which may take long.
//! 2. It polls that future.
//! 3. It runs tasks: own ring, injector, thefts, children of scopes; after a round of the ring the injector first.
//!    After [`TURNS_A_POLL`] of them it returns, so that other futures on its thread have a turn.
//! 4. With nothing left, and if tasks ran since 2, it goes back to 2: one of them may have woken that future. It does so
//!    [`OWN_POLLS`] times: a future that queues a task in each of its polls lets the thread sleep, too.
//! 5. It searches for a few microseconds more, unless half of the drivers do. A publisher need not
//!    wake another driver in that time. A driver that naps again and again for a task or two searches for longer
//!    ([`Naps`]). Then it announces its sleep, looks once more, and returns.
//!
//! A driver that was notified, or has searched, owes the others a look: it publishes the tasks that it leaves behind.
//! So each driver wakes the next one, and publishers need not wake all of them.
//!
//! A driver that ends, or is dropped, moves the tasks in its ring to the injector and publishes.

use std::future::{Future, poll_fn};
use std::mem;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use terrace_local::cells::give_back;
use terrace_park::Driver;
use terrace_sync::hint::spin_loop;
use terrace_sync::thread::yield_now;

use crate::guard::OnDrop;
use crate::parts::injector::Refilled;
use crate::parts::processor::{Naps, has_room_for, spin};
use crate::parts::scopes::Looking;
use crate::parts::turns;
use crate::pool::Shared;
use crate::pool::frames::{self, Borrows};
use crate::pool::runner::Runner;
use crate::tuned::{CALL, NAP, OWN_POLLS, TURNS_A_POLL};
use crate::work::found::Found;
use crate::work::source::Look;
use crate::work::{self, Order, bystander_has_work, bystander_sight};

/// Runs tasks of the pool until `future` is done.
pub(crate) async fn run<T>(pool: &Shared, future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut seat = None;
    // It is dropped before the seat: a driver that was notified tells the next one before it hands its ring over.
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
            // While the thread runs other tasks, its own background tasks stand still: see `drive`.
            let lent = frames::lend();
            let taken = work::bystander_take(pool);
            if owes {
                wake_for_rest(pool);
            }
            if let Some(taken) = taken {
                // A tick that runs a task no longer counts as a sleeper, however long the task
                // takes.
                sleeper.place = None;
                turns::begin_turn();
                taken.found.run_without_seat(pool, Borrows::Executor);
                return Poll::Ready(());
            }
            drop(lent);
            if sleeper.sleep(context) {
                return Poll::Pending;
            }
        }
    })
    .await;
}

/// Polls one queued task, if there is one.
#[inline]
pub(crate) fn try_tick(pool: &Shared) -> bool {
    turns::begin_turn();
    // The usual case, for less: in a pool that only ever had ticks, the injector's oldest task is the first of the order.
    if let Some(outside) = frames::Outside::of_polls() {
        if let Some(task) = pool.injector.take_unrivalled() {
            outside.poll(pool, task);
            return true;
        }
    }
    try_tick_in_order(pool)
}

/// Polls the first task in the order of a bystander, if there is one.
// Not into `try_tick`, whose first branch would pay for the registers of this one.
#[inline(never)]
fn try_tick_in_order(pool: &Shared) -> bool {
    // While the thread runs other tasks, its own background tasks stand still: see `drive`.
    let _lent = frames::lend();
    match work::bystander_take(pool) {
        Some(taken) => {
            taken.found.run_without_seat(pool, Borrows::Executor);
            true
        }
        None => {
            give_back();
            false
        }
    }
}

/// The seat of a `run` future, from its first poll on.
struct DriverSeat<'p> {
    runner: Runner<'p>,
}

// The `run` future has to be `Sync`; a runner is not.
// SAFETY: the methods of a seat take `&mut self`, and no other code reads the field. So a shared reference to a seat gives no access
// to the runner.
unsafe impl Sync for DriverSeat<'_> {}

impl<'p> DriverSeat<'p> {
    fn take(pool: &'p Shared) -> Self {
        pool.injector.note_rival();
        let index = pool.seats.drivers.acquire();
        // SAFETY: the table has just handed out this seat, and `drop` gives it back after the runner's last use.
        let runner = unsafe { Runner::driver(pool, index) };
        Self { runner }
    }

    fn poll<T>(
        &mut self,
        sleeper: &mut Sleeper<'_>,
        context: &mut Context<'_>,
        future: Pin<&mut impl Future<Output = T>>,
    ) -> Poll<T> {
        let runner = &self.runner;
        runner.enter(|| {
            runner.seat.polling.set(true);
            let _polled = OnDrop(|| runner.seat.polling.set(false));
            drive(runner, sleeper, context, future)
        })
    }
}

/// One poll of a driver, which is the innermost runner of the thread.
fn drive<T>(
    runner: &Runner<'_>,
    sleeper: &mut Sleeper<'_>,
    context: &mut Context<'_>,
    mut future: Pin<&mut impl Future<Output = T>>,
) -> Poll<T> {
    let pool = runner.pool;
    if sleeper.wake() {
        let _lent = frames::lend();
        if let Some(found) = find(runner, true) {
            runner.count_poll();
            found.run(pool);
        }
    }
    turns::begin_turn();
    if let Poll::Ready(value) = future.as_mut().poll(context) {
        return Poll::Ready(value);
    }
    // The background tasks that this thread is in the middle of stand still while it runs others, so it lends their
    // permits now. If it lent them only in its sleep, publishers would wake it for a background task again and again,
    // and it would never take it.
    let mut lent = frames::lend();
    // Whether tasks ran since the last poll of `future`, and how often it may be polled again.
    let mut ran = false;
    let mut own_polls = OWN_POLLS;
    // The turn of the last look around.
    let mut looked = 0;
    for turn in 0..TURNS_A_POLL {
        if let Some(task) = runner.next_at_hand() {
            runner.run_turn(task);
            ran = true;
            continue;
        }
        runner.flush();
        if let Some(found) = find(runner, false) {
            found.run_in_loop(runner);
            ran = true;
            continue;
        }
        if mem::take(&mut ran) && own_polls > 0 {
            own_polls -= 1;
            // Mostly one of the tasks has woken it: a sleep would be for nothing.
            drop(lent);
            turns::begin_turn();
            if let Poll::Ready(value) = future.as_mut().poll(context) {
                return Poll::Ready(value);
            }
            lent = frames::lend();
            continue;
        }
        let turns = turn - mem::replace(&mut looked, turn);
        match next(runner, sleeper, context, turns) {
            Some(found) => found.run_in_loop(runner),
            None => return Poll::Pending,
        }
        ran = true;
    }
    // The thread does something else next, so the driver publishes a deferred task.
    runner.flush();
    runner.settle();
    if !has_room_for(pool.seats.drivers.high()) {
        runner.rotation.pass();
    }
    context.waker().wake_by_ref();
    Poll::Pending
}

/// A driver that has found nothing looks around for a while: the next work, or `None` after it has announced its sleep. So many `turns`
/// have passed since the last time.
fn next<'p>(
    runner: &Runner<'p>,
    sleeper: &mut Sleeper<'_>,
    context: &Context<'_>,
    turns: usize,
) -> Option<Found<'p>> {
    runner.gather.end();
    if sleeper.search(turns) {
        let found = find(runner, true);
        if found.is_some() {
            return found;
        }
    }
    runner.settle();
    while !sleeper.sleep(context) {
        let owes = sleeper.wake();
        let found = find(runner, owes);
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Takes work from any source. The driver publishes the tasks that it moved. If it owes a look, it publishes the tasks
/// that are left, even if it found none: a thief may have been in the way.
fn find<'p>(runner: &Runner<'p>, owes: bool) -> Option<Found<'p>> {
    let pool = runner.pool;
    let taken = work::Driver::take(&Look::turn(runner));
    if taken
        .as_ref()
        .is_some_and(|taken| taken.refilled == Refilled::Yes)
    {
        pool.publish_moved();
    } else if owes {
        wake_for_rest(pool);
    }
    taken.map(|taken| taken.found)
}

impl Drop for DriverSeat<'_> {
    fn drop(&mut self) {
        let runner = &self.runner;
        let pool = runner.pool;
        let moved = runner.hand_over();
        pool.seats.drivers.release(runner.index);
        pool.publish_tasks(moved);
    }
}

/// A driver that owes the others a look calls this after its look. It wakes the next driver if work is left: several
/// publishes may have notified this driver alone. It leaves a task in a slot to the sentinel, if there is one.
fn wake_for_rest(pool: &Shared) {
    if bystander_sight(pool, Looking::Awake).is_takeable(&pool.idle) {
        pool.publish();
    }
}

/// A driver's place among the sleepers, taken when it first has nothing to do.
struct Sleeper<'p> {
    pool: &'p Shared,
    place: Option<Driver<'p>>,
    naps: Naps,
}

impl<'p> Sleeper<'p> {
    fn new(pool: &'p Shared) -> Self {
        Self {
            pool,
            place: None,
            naps: Naps::default(),
        }
    }

    /// Ends the sleep; a driver that had been notified owes a look.
    #[must_use = "what a driver that owes a look leaves behind it publishes"]
    fn wake(&mut self) -> bool {
        self.naps.end();
        self.place.as_mut().is_some_and(Driver::wake)
    }

    /// Announces the sleep and looks once more. False if there is work to take.
    #[must_use = "a driver that sees work takes it"]
    fn sleep(&mut self, context: &Context<'_>) -> bool {
        give_back();
        let place = self.place.get_or_insert_with(|| self.pool.idle.driver());
        place.sleep(context.waker());
        // Covered work keeps it awake, too: no sentinel watches for drivers.
        if !bystander_has_work(self.pool) {
            self.naps.begin();
            return true;
        }
        // A pusher may have announced the task before it pushed it: let it go on.
        spin_loop();
        false
    }

    /// Looks around for a while, unless enough drivers do. So many `turns` have passed since the last time.
    /// A driver that searched owes a look.
    #[must_use = "as for `wake`"]
    fn search(&mut self, turns: usize) -> bool {
        let pool = self.pool;
        let look = |patience| {
            // A thread that this driver's last task has woken may wait for this very processor.
            yield_now();
            spin(patience, || bystander_has_work(pool))
        };
        let place = self.place.get_or_insert_with(|| pool.idle.driver());
        // Where drivers and workers fill the processors, none looks for long.
        let crowded = !has_room_for(pool.seats.drivers.high());
        let turns = if crowded { usize::MAX } else { turns };
        let mut owes = false;
        self.naps.look(turns, CALL, |patience| {
            let mut found = false;
            owes = place.search(|| found = look(patience));
            // A driver that is alone spares no other a wake, but may spare its own.
            let alone = !owes && pool.idle.driver_count().0 == 1;
            if alone && patience == NAP {
                found = look(patience);
                owes = found;
            }
            found
        });
        owes
    }
}
