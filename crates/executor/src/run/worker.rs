//! The loop of one worker thread, which its thread runs, or a function of the program polls ([`run_polled`]).
//!
//! | state     | holds a token | next                                                        |
//! |-----------|---------------|-------------------------------------------------------------|
//! | searching | yes           | found: `stop_search`, run; nothing: spin once, then park    |
//! | running   | no            | after each piece of work it looks again, without a token: `next_at_hand`, then `find` |
//! | parked    | no (in `P`)   | woken: the waker's token is mine, search                    |
//! | sentinel  | no (in `P`)   | as parked; also wakes by itself and takes what stands still |
//! | waiting   | no (in `R`)   | see `super::wait`                                           |

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use terrace_local::cells::give_back;
use terrace_local::task::Runnable;
use terrace_local::thread_id;
use terrace_park::{Token, Woken};
use terrace_queue::fork::Offer;
use terrace_sync::thread::yield_now;
use terrace_thread::internal::has_tasks;
use terrace_trace::inspect::Began;

use crate::guard::OnDrop;
use crate::parts::injector::Refilled;
use crate::parts::pacing::Stopwatch;
use crate::parts::processor::{Awake, Naps, has_room_for, spin};
use crate::parts::scopes::{Looking, Slot};
use crate::parts::threads::{Kind, Main, WorkerLoop};
use crate::pool::Shared;
use crate::pool::fork::stop_forking;
use crate::pool::frames::run_task;
use crate::pool::runner::Runner;
use crate::protocol::publish::Sight;
use crate::tuned::{CALL, GLOBAL_INTERVAL, PERIOD, WAKE};
use crate::work::found::{Found, Taken};
use crate::work::sentinel::Sentinel;
use crate::work::source::Look;
use crate::work::{self, Order, Scan};

/// Why the loop stops.
enum Stop {
    /// The worker, which holds a token or has seen that others search, found nothing.
    Idle,
    /// It has had its turns.
    Turns,
    /// The pool closes, or the worker was asked to end and does.
    Ended,
}

/// How far a worker is in its loop.
#[derive(Default)]
struct Progress {
    token: Option<Token>,
    sentinel: Sentinel,
    /// Pinned tasks in a row. They come first, yet a pinned task that wakes itself again and again starves no other task.
    in_a_row: u32,
    /// It has watched as a sentinel until its time was over, and has run nothing since.
    watched: bool,
    /// How long the worker looks around before it sleeps; not before its first sleep.
    patience: Duration,
    naps: Naps,
    /// The turns that were left at the last look around.
    looked: usize,
}

/// One worker or spare, on its own thread's stack.
impl<'p> Runner<'p> {
    /// Whether it sleeps where it finds no work. A spare does so only for the tasks that are pinned to it, and only in a pool that is to
    /// have workers: its end drops them.
    fn stays(&self) -> bool {
        match self.kind {
            Kind::Worker => true,
            Kind::Spare => self.pool.workers() > 0 && has_tasks(),
        }
    }

    /// Ends the search that `token` stands for. The worker calls this before it runs anything.
    pub(super) fn stop_search(&self, token: &mut Option<Token>) {
        if let Some(token) = token.take() {
            let pool = self.pool;
            let scan = Scan::of_worker(self, Looking::ToWake);
            pool.idle.stop_search(token, &scan);
            pool.attend(|| scan.finds_something());
        }
    }

    /// The thread takes the worker's place: from now on wakers find it there. It counts as running, as users' hooks
    /// come next.
    pub(super) fn take_place(&self) {
        let token = self.pool.idle.enter(self.index);
        self.stop_search(&mut Some(token));
    }

    /// Gives the place up, and hands the tasks at its seat over to the others. The thread is not in the worker's
    /// context any more, so it queues nothing there later. Returns how many tasks there were.
    pub(super) fn leave_place(&self) -> usize {
        let pool = self.pool;
        let moved = self.hand_over();
        let scan = Scan::of_worker(self, Looking::ToWake);
        pool.idle.leave(self.index, None, &scan);
        pool.attend(|| scan.finds_something());
        moved
    }

    /// Runs until the pool closes or the worker is asked to end. A spare also ends when it finds no work and no task is pinned to it. The
    /// worker keeps its place.
    pub(super) fn run(&self) {
        self.in_loop.set(true);
        self.arrives();
        let mut progress = Progress::default();
        let mut turns = usize::MAX;
        loop {
            match self.work(&mut progress, &mut turns) {
                Stop::Turns => turns = usize::MAX,
                Stop::Idle if self.stays() => {
                    progress.naps.begin();
                    let token = progress.token.take();
                    let woken = sleep(self, token, &mut progress.sentinel);
                    progress.naps.end();
                    self.wakes(woken, &mut progress);
                }
                Stop::Idle | Stop::Ended => break,
            }
        }
        self.end_loop(&mut progress);
        self.in_loop.set(false);
    }

    /// Takes the next piece of work, in the order of its kind of worker.
    fn find(&self) -> Option<Taken<'p>> {
        let look = Look::turn(self);
        if self.kind == Kind::Spare {
            work::Spare::take(&look)
        } else if self.seat.is_asked_to_end() {
            work::Ending::take(&look)
        } else {
            work::Worker::take(&look)
        }
    }

    /// After a sleep: runs what a sentinel has seen stand still.
    fn wakes(&self, woken: Woken, progress: &mut Progress) {
        progress.watched = matches!(woken, Woken::TimedOut(_));
        let (Woken::Unparked(token) | Woken::TimedOut(token)) = woken;
        progress.token = Some(token);
        if let Some(found) = progress.sentinel.end(self.pool, self.index) {
            self.stop_search(&mut progress.token);
            self.run_found(found, &mut progress.sentinel);
            progress.watched = false;
        }
    }

    /// The worker leaves its loop.
    fn end_loop(&self, progress: &mut Progress) {
        self.flush();
        self.empty_slot();
        self.stop_search(&mut progress.token);
    }

    /// Runs what there is, for so many turns at most.
    #[inline]
    fn work(&self, progress: &mut Progress, turns: &mut usize) -> Stop {
        let pool = self.pool;
        // `Pool::close` unparks every worker after it has raised the flag.
        while !pool.holders.is_closing() {
            if self.seat.is_asked_to_end() && self.may_end() && self.seat.end() {
                return Stop::Ended;
            }
            if *turns == 0 {
                return Stop::Turns;
            }
            *turns -= 1;
            let pinned = terrace_thread::has_work();
            if pinned && progress.in_a_row < GLOBAL_INTERVAL {
                progress.in_a_row += 1;
                self.flush();
                self.stop_search(&mut progress.token);
                if !terrace_thread::tick() {
                    // A pusher has announced the task and not pushed it yet: let it go on.
                    yield_now();
                }
                progress.watched = false;
                continue;
            }
            progress.in_a_row = 0;
            if progress.token.is_none() {
                if let Some(task) = self.next_at_hand() {
                    self.run_turn(task);
                    progress.watched = false;
                    continue;
                }
            }
            self.flush();
            if !has_room_for(0) {
                self.rotation.pass();
            }
            if let Some(Taken { found, refilled }) = self.find() {
                if refilled == Refilled::Yes && progress.token.is_none() {
                    pool.publish_moved();
                }
                if let Some(token) = &progress.token {
                    let more = match &found {
                        Found::Child(_, slot) => pool.surplus(slot),
                        Found::Task(_) | Found::Lane(..) => {
                            let queued = self.seat.ring.len() + pool.injector.len_hint();
                            queued.min(pool.processors_left())
                        }
                        // A thread that forks hands out a job to one more.
                        Found::Fork(_) => {
                            let sight = pool.forks.sight(Looking::Awake, Offer::Open);
                            usize::from(sight == Sight::Ready).min(pool.processors_left())
                        }
                    };
                    pool.idle.wake_more(token, more);
                }
                self.stop_search(&mut progress.token);
                progress.patience = match &found {
                    Found::Child(_, slot) if pool.scopes.pacing(slot).outlasts_wakes() => {
                        Duration::ZERO
                    }
                    // A thread that joins, or drives a scope, often begins the next one at once.
                    Found::Fork(_) | Found::Child(..) => WAKE,
                    Found::Task(_) | Found::Lane(..) => CALL,
                };
                self.run_found(found, &mut progress.sentinel);
                progress.watched = false;
                continue;
            }
            if pinned {
                continue;
            }
            self.gather.end();
            if progress.token.is_none() {
                progress.token = pool.idle.try_search(self.index);
            }
            if progress.token.is_some()
                && !progress.watched
                && !self.polled.get()
                && !progress.patience.is_zero()
                && !pool.idle.shares_processor(self.index)
            {
                progress.sentinel.looks_around(pool);
                let passed = mem::replace(&mut progress.looked, *turns).wrapping_sub(*turns);
                let (naps, patience) = (&mut progress.naps, progress.patience);
                if naps.look(passed, patience, |patience| self.spin(patience)) {
                    continue;
                }
            }
            progress.patience = CALL;
            return Stop::Idle;
        }
        Stop::Ended
    }

    /// Whether a worker that was asked to end may do so now: the pool may want its queues empty first.
    fn may_end(&self) -> bool {
        if !self.pool.threads.draining.get() {
            return true;
        }
        let look = Look::from_seat(self, Looking::Awake);
        // A covered task lies in the slot of another worker, which runs it before it ends.
        self.seat.lifo.is_empty() && work::Ending::sight(&look) < Sight::Ready
    }

    /// Looks around for a while; true as soon as it sees work that it would take.
    fn spin(&self, patience: Duration) -> bool {
        let scan = Scan::of_worker(self, Looking::Awake);
        let look = Look::from_seat(self, Looking::Awake);
        let finds = || match self.kind {
            Kind::Worker => work::Worker::sight(&look),
            Kind::Spare => work::Spare::sight(&look),
        };
        spin(patience, || {
            terrace_park::Work::has_private_work(&scan, self.index) || finds() == Sight::Ready
        })
    }

    fn run_found(&self, found: Found<'_>, sentinel: &mut Sentinel) {
        if let Found::Child(child, slot) = found {
            sentinel.keen = true;
            return self.run_children(child, slot);
        }
        if let Found::Fork(_) = found {
            self.pool.scopes.forget_blocking();
        }
        found.run_in_loop(self);
    }

    /// Runs children of one scope, as long as its list offers any, or its thread is stuck.
    fn run_children(&self, first: Runnable, slot: &Slot<Shared>) {
        let pool = self.pool;
        let core = &slot.core;
        let look = Look::from_seat(self, Looking::Awake);
        let wanted =
            || work::BetweenChildren::sight(&look) != Sight::Nothing || terrace_thread::has_work();
        let mut watch = Stopwatch::start();
        let seen = core.progress();
        let mut next = Some(first);
        while let Some(child) = next {
            self.count_poll();
            run_task(child);
            if watch.child_ran(pool.scopes.pacing(slot)) {
                pool.reconsider(slot);
            }
            if wanted() {
                return;
            }
            let offered = || pool.offer(slot, Looking::Awake) == Sight::Ready;
            // Its thread has not moved since the first one: it cannot take them itself.
            next = if core.progress() == seen || offered() {
                core.steal()
            } else {
                None
            };
        }
    }
}

/// Sleeps until woken, as a sentinel if there is something to watch.
fn sleep(runner: &Runner<'_>, token: Option<Token>, sentinel: &mut Sentinel) -> Woken {
    let _asleep = goes_to_sleep(runner);
    let token = match watch(runner, token, sentinel, None) {
        Ok(woken) => return woken,
        Err(token) => token,
    };
    let scan = Scan::of_worker(runner, Looking::Parking);
    let token = runner.pool.idle.park(runner.index, token, &scan);
    terrace_trace::unpark();
    Woken::Unparked(token)
}

/// Sleeps as a sentinel, for at most `limit`, if there is something to watch, or was lately. Hands the token back if there is not, or if
/// two other workers watch.
///
/// Each place that a look before a sleep may show as covered is something to watch. No search takes from there, so a worker that neither
/// slept nor watched would spin. Most workers watch active threads, too, as those may open scopes. A worker with a reactor does not, as it
/// hears nothing of its reactor while it watches. While no worker watches, publishers wake one for each scope.
fn watch(
    runner: &Runner<'_>,
    token: Option<Token>,
    sentinel: &mut Sentinel,
    limit: Option<Duration>,
) -> Result<Woken, Option<Token>> {
    let pool = runner.pool;
    let scopes = || match runner.polled.get() {
        true => pool.scopes.any_to_watch(pool.busy() <= 1),
        false => pool.busy() > 1,
    };
    let watches = !sentinel.is_bored(pool) && (sentinel.keen || scopes())
        || pool.seats.slots_sight() != Sight::Nothing
        || pool.forks.any_forking();
    if !watches {
        return Err(token);
    }
    let index = runner.index;
    let scan = Scan::of_worker(runner, Looking::Parking);
    let mut left = limit;
    let sleeps = sentinel.sleeps(pool, index).map_while(|sleep| {
        let Some(left) = &mut left else {
            return Some(sleep);
        };
        let sleep = sleep.min(*left);
        *left -= sleep;
        (!sleep.is_zero()).then_some(sleep)
    });
    let woken = pool.idle.park_as_sentinel(index, token, &scan, sleeps)?;
    terrace_trace::unpark();
    Ok(woken)
}

/// The worker is about to sleep. It counts as asleep while the result lives.
fn goes_to_sleep(runner: &Runner<'_>) -> Awake {
    stop_forking(runner);
    terrace_trace::park();
    runner.seat.counts.parks.add(1);
    give_back();
    runner.settle();
    runner.rotation.sleeps();
    runner.seat.asleep.set(Began::here(thread_id));
    Awake::pause()
}

/// How long the worker is a sentinel at a time: two thorough looks.
const WATCH: Duration = PERIOD.saturating_mul(2);

/// A worker whose loop is a future, on which a function of the program blocks.
///
/// | the function                       | the worker                                                              |
/// |------------------------------------|-------------------------------------------------------------------------|
/// | polls the future                   | runs up to [`GLOBAL_INTERVAL`] pieces of work, or parks by `Idle::park_in_poll` |
/// | waits beside it, between two polls | is not parked during the wait (`wait::sleep_on_worker`)                 |
/// | pushes beside it, in its reactor   | pushes into its own ring, and wakes itself                              |
/// | returns after the end              | ends                                                                    |
/// | returns or panics before           | goes on as a worker without such a function                             |
///
/// Such a worker uses no LIFO slot, as no sentinel watches while all are in their reactors. A sentinel hears nothing of its reactor. So
/// the worker is one only where a scope is open or a thread forks, or lately was, and for [`WATCH`] at a time; then it looks at its
/// reactor. Other workers also watch while threads are busy with tasks. Everything else is as with other workers: tokens, seats, waits,
/// spares.
///
/// A worker's loop as a future.
struct Polled<'w, 'p> {
    runner: &'w Runner<'p>,
    progress: Progress,
    ended: bool,
}

/// Calls the program's function with the worker's loop. Returns when the worker ends.
pub(super) fn run_polled(runner: &Runner<'_>, main: &Main) {
    runner.polled.set(true);
    let mut polled = Polled {
        runner,
        progress: Progress::default(),
        ended: false,
    };
    let mut poll = |context: &Context<'_>| polled.poll(context);
    let called = catch_unwind(AssertUnwindSafe(|| main(WorkerLoop(&mut poll))));
    if runner.parked.get() {
        polled.progress.token = Some(runner.end_park());
    }
    runner.end_loop(&mut polled.progress);
    let ended = polled.ended;
    runner.polled.set(false);
    let complaint = match called {
        Err(payload) => Some(payload),
        Ok(()) if ended => None,
        Ok(()) => catch_unwind(|| {
            panic!(
                "the function of `Builder::worker_main` has returned before its worker ends; the worker goes on \
                 outside of the reactor. The function has to block on the future that it gets"
            )
        })
        .err(),
    };
    if let Some(payload) = complaint {
        runner.pool.report(payload);
    }
    if !ended {
        runner.run();
    }
}

impl Polled<'_, '_> {
    /// Runs tasks, then parks the worker.
    fn poll(&mut self, context: &Context<'_>) -> Poll<()> {
        if self.ended {
            return Poll::Ready(());
        }
        let waker = context.waker().clone();
        let runner = self.runner;
        let polled = runner.enter(|| {
            runner.in_loop.set(true);
            runner.arrives();
            let _in_loop = OnDrop(|| runner.in_loop.set(false));
            self.poll_loop(waker)
        });
        self.ended = polled.is_ready();
        polled
    }

    fn poll_loop(&mut self, waker: Waker) -> Poll<()> {
        let runner = self.runner;
        if runner.parked.get() {
            let woken = runner.pool.idle.poll_park(runner.index, waker.clone());
            let Some(token) = woken else {
                return Poll::Pending;
            };
            runner.unparks();
            self.progress.token = Some(token);
        }
        let mut turns = GLOBAL_INTERVAL as usize;
        loop {
            match runner.work(&mut self.progress, &mut turns) {
                Stop::Turns => {
                    runner.flush();
                    runner.stop_search(&mut self.progress.token);
                    waker.wake();
                    return Poll::Pending;
                }
                Stop::Idle if runner.stays() => ready!(self.rest(&waker)),
                Stop::Idle | Stop::Ended => {
                    runner.end_loop(&mut self.progress);
                    return Poll::Ready(());
                }
            }
        }
    }

    /// Parks the worker. It watches for a while if there is something to watch. Pending if it is parked, or lets its reactor have a
    /// turn; ready if it goes on in this poll.
    fn rest(&mut self, waker: &Waker) -> Poll<()> {
        let runner = self.runner;
        let (pool, index) = (runner.pool, runner.index);
        let asleep = goes_to_sleep(runner);
        let scan = Scan::of_worker(runner, Looking::Parking);
        let token = self.progress.token.take();
        let token = match watch(runner, token, &mut self.progress.sentinel, Some(WATCH)) {
            Ok(woken) => {
                drop(asleep);
                let timed_out = matches!(woken, Woken::TimedOut(_));
                runner.wakes(woken, &mut self.progress);
                if !timed_out {
                    return Poll::Ready(());
                }
                // It looks at its reactor first.
                self.progress.sentinel.keen = false;
                runner.stop_search(&mut self.progress.token);
                waker.wake_by_ref();
                return Poll::Pending;
            }
            Err(token) => token,
        };
        match pool.idle.park_in_poll(index, token, &scan, waker.clone()) {
            None => {
                runner.parks(asleep);
                Poll::Pending
            }
            token => {
                drop(asleep);
                terrace_trace::unpark();
                self.progress.token = token;
                Poll::Ready(())
            }
        }
    }
}
