//! The life of a worker's thread, from its place in the pool to its end. `DESIGN.md` has the table. Also a loop that a function of the
//! program polls.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use terrace_park::Woken;
use terrace_sync::Arc;
use terrace_sync::atomic::Ordering;
use terrace_thread::{Notify, ThreadSpawner, internal};

use super::worker::{Progress, Stop, goes_to_sleep, watch};
use crate::guard::OnDrop;
use crate::parts::scopes::Looking;
use crate::parts::spin::Awake;
use crate::parts::threads::{Hook, Kind, Main, PollLoop, Signs, Thread, WorkerLoop};
use crate::pool::fork::leave_fork_seat;
use crate::pool::runner::Runner;
use crate::pool::shared::Shared;
use crate::protocol::sight::Sight;
use crate::tuned::{GLOBAL_INTERVAL, PERIOD};
use crate::work::order::{Scan, bystander_sight};

/// Wakes one worker, whether it searches, parks, or waits. If the program polls the worker's loop, it may do so by `block_on`, whose
/// sleep in the loop's park ends by an unpark (`wait::wait_in_park`).
struct WorkerNotify {
    pool: Arc<Shared>,
    index: usize,
}

impl Notify for WorkerNotify {
    fn notify(&self) {
        let idle = &self.pool.idle;
        idle.wake_worker(self.index);
        if self.pool.threads.config.main.is_some() {
            idle.unpark_thread(self.index);
        }
    }
}

/// What a worker or spare has in its pool: a seat, an entry in the list of threads, and its part of the counts. From [`take`](Self::take)
/// on it counts as live and running, until [`live`](Self::live) or [`abandon`](Self::abandon) counts it out. Its drop does nothing.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) pool: Arc<Shared>,
    pub(super) index: usize,
    kind: Kind,
    signs: Arc<Signs>,
}

impl Place {
    /// Takes the place with the seat `index`, which the caller has acquired, and lists it, without a thread so far. `None` for a spare
    /// that no thread of the pool needs any more.
    pub(super) fn take(
        pool: &Arc<Shared>,
        list: &mut Vec<Thread>,
        index: usize,
        kind: Kind,
    ) -> Option<Self> {
        if !pool.threads.starts(kind) {
            return None;
        }
        for thread in list.iter_mut().filter(|thread| thread.seat == index) {
            thread.gone = true;
        }
        pool.worker_seat(index).reset();
        pool.idle.ensure(index);
        // It counts as live before it runs, so that the pool does not look stuck until then.
        pool.idle.adopt_live(index);
        pool.holders.enter();
        let signs = Arc::<Signs>::default();
        list.push(Thread {
            seat: index,
            kind,
            gone: false,
            in_shutdown: false,
            signs: Arc::clone(&signs),
            thread: None,
            handle: None,
        });
        Some(Self {
            pool: Arc::clone(pool),
            index,
            kind,
            signs,
        })
    }

    /// Its entry in the list of threads.
    pub(super) fn entry<'l>(&self, list: &'l mut [Thread]) -> Option<&'l mut Thread> {
        list.iter_mut().find(|entry| self.is(entry))
    }

    /// Takes its entry off the list.
    pub(super) fn unlist(&self, list: &mut Vec<Thread>) {
        list.retain(|entry| !self.is(entry));
    }

    fn is(&self, entry: &Thread) -> bool {
        Arc::ptr_eq(&entry.signs, &self.signs)
    }

    /// No thread will run in this place, which is off the list. May call users' wakers: the caller holds no lock.
    pub(super) fn abandon(&self) {
        let pool = &self.pool;
        // Before users' wakers: one of them may wait until the other threads have ended.
        self.count_out();
        if self.kind == Kind::Spare {
            pool.threads.starting.fall();
        }
        pool.leave_holders();
        pool.idle.abandon_live(self.index, &Scan::for_workers(pool));
        pool.seats.workers.release(self.index);
    }

    fn count_out(&self) {
        // Ordering: Release, pairs with the Acquire in `Thread::has_ended`.
        self.signs.out.store(true, Ordering::Release);
        // Ordering: Release, pairs with the Acquire in `Caller::is_alone`.
        self.pool.threads.running.fetch_sub(1, Ordering::Release);
        self.pool.threads.ended.notify(usize::MAX);
    }

    /// The calling thread is the worker in this place, from its start hook to its end. Then it counts itself out.
    pub(super) fn live(&self) {
        let pool = &self.pool;
        let moved = self.work();
        pool.seats.workers.release(self.index);
        // Waiting threads may have to run the tasks that are left.
        let left = || bystander_sight(pool, Looking::Awake) != Sight::Nothing;
        if moved > 0 || (pool.workers() == 0 && left()) {
            pool.publish_tasks(moved.max(1));
        }
        pool.leave_holders();
        self.count_out();
    }

    /// Everything that the thread does as a worker. Returns how many tasks it has left to others at its end.
    fn work(&self) -> usize {
        let (pool, index) = (&self.pool, self.index);
        internal::bind_worker(Arc::new(WorkerNotify {
            pool: Arc::clone(pool),
            index,
        }));
        let _set = self.signs.spawner.set(ThreadSpawner::current());
        if self.kind == Kind::Worker {
            pool.threads.ended.notify(usize::MAX);
        }
        // SAFETY: the taker of this place has acquired the seat for it, and this is the only runner of it: a place runs once. `live`
        // gives the seat back after this function.
        let runner = unsafe { Runner::worker(pool, index, self.kind) };
        runner.seat.start_clock();
        runner.on_thread(|| runner.enter(|| work_in_place(&runner)));
        leave_fork_seat(&runner);
        // Before the worker gives its place up: `leave` may call users' wakers, which may wait.
        internal::unbind_worker();
        runner.seat.stop_clock();
        runner.leave_place()
    }
}

/// What the thread does while it is the worker: from its entry to the end of its pinned tasks.
fn work_in_place(runner: &Runner<'_>) {
    let _awake = Awake::begin();
    let pool = runner.pool;
    let config = &pool.threads.config;
    runner.take_place();
    run_hook(pool, config.on_start.as_ref());
    match &config.main {
        None => runner.run(),
        Some(main) => run_polled(runner, main),
    }
    run_hook(pool, config.on_stop.as_ref());
    // Pinned tasks end on their thread, while it still counts as a worker.
    terrace_thread::close();
}

/// Runs a hook. A panic in it has been reported by the panic hook; it ends nothing else.
fn run_hook(pool: &Shared, hook: Option<&Hook>) {
    let Some(hook) = hook else { return };
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| hook())) {
        pool.report(payload);
    }
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
fn run_polled(runner: &Runner<'_>, main: &Main) {
    runner.polled.set(true);
    let mut polled = Polled {
        runner,
        progress: Progress::default(),
        ended: false,
    };
    let called = catch_unwind(AssertUnwindSafe(|| main(WorkerLoop::new(&mut polled))));
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

impl PollLoop for Polled<'_, '_> {
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
}

impl Polled<'_, '_> {
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
