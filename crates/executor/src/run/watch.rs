//! The watch: one thread of the process. It looks after pools whose workers are all awake, and starts a spare where
//! they are blocked.
//!
//! Suppose the awake workers of a pool block their threads while a task is queued. Then no worker of the pool looks for
//! it. None sleeps with a time-out, and a worker that waits sleeps until its own event comes. `Alarm` says
//! when a publisher calls the watch. It looks after [`PERIOD`] first, then less and less often, at least every
//! [`LONG_PERIOD`]:
//!
//! | at a look                                                                     | the watch                         |
//! |--------------------------------------------------------------------------------|-----------------------------------|
//! | nothing is takeable, for the [`CALM`]th time in a row                          | leaves the pool, by `Alarm::lower`|
//! | a worker is parked or searches                                                 | leaves it to that worker          |
//! | no thread waits in a scope or join of the pool, and no worker of it in a job   | waits for the next look: a program may hold its workers on purpose |
//! | a task or child was taken since the last look, or a task has ended             | waits for the next look           |
//! | only jobs of joins are queued, none of which the last look saw                 | waits for the next look           |
//! | a job of a join stood still, a thread sleeps in a join, a processor is free   | starts a spare                    |
//! | a worker used the processor                                                   | waits for the next look           |
//! | none of these                                                                 | starts a spare                    |
//!
//! The watch leaves a worker that computes for long alone: its processor time moves on. Where the system has no clock
//! for that, the watch starts the spare all the same. The first alarm starts the watch's thread. It sleeps without a
//! time-out while it has no pool to look after, and never ends.

use std::time::Duration;

use terrace_sync::thread::{self, Thread};
use terrace_sync::time::Instant;
use terrace_sync::unmodelled::Weak;
use terrace_sync::{Arc, Mutex};

use super::life;
use crate::guard::OnDrop;
use crate::parts::scopes::Looking;
use crate::parts::turns::{Seen as Job, Spot};
use crate::pool::Shared;
use crate::protocol::publish::Sight;
use crate::tuned::{LONG_PERIOD, PERIOD};
use crate::work::still::look_at;
use crate::work::{Scan, bystander_sight};

/// Looks in a row that find nothing takeable before the watch leaves.
const CALM: u32 = 4;
/// A worker that has used less of a period than one part in so many is blocked: it may have been interrupted.
const BUSY_PART: u32 = 16;

/// Pools whose alarm was raised since the last look.
struct Calls {
    pools: Vec<Weak<Shared>>,
    /// The thread, once it was started.
    thread: Option<Thread>,
}

terrace_sync::global! {
    static CALLS: Mutex<Calls> = Mutex::new(Calls { pools: Vec::new(), thread: None });
}

/// Tells the watch of a pool, and starts the watch's thread if there is none yet. Where the system starts no thread for
/// the watch, it starts none for a spare either.
pub(crate) fn call(pool: Weak<Shared>) {
    let mut calls = CALLS.lock();
    calls.pools.push(pool);
    match &calls.thread {
        Some(thread) => {
            let thread = thread.clone();
            drop(calls);
            thread.unpark();
        }
        None => {
            let started = thread::Builder::new()
                .name("terrace-watch".into())
                .spawn(watch);
            calls.thread = started.ok().map(|handle| handle.thread().into());
            if calls.thread.is_none() {
                // The next publish tries again.
                for pool in calls.pools.drain(..).filter_map(|pool| pool.upgrade()) {
                    pool.alarm.reset();
                }
            }
        }
    }
}

/// The thread.
fn watch() {
    let mut watched: Vec<Entry> = Vec::new();
    // Changes places with the list of calls, so that a call seldom allocates.
    let mut called = Vec::new();
    loop {
        std::mem::swap(&mut called, &mut CALLS.lock().pools);
        for pool in called.drain(..) {
            // A pool that has lost its workers and got new ones may call twice.
            if !watched.iter().any(|other| other.pool.ptr_eq(&pool)) {
                watched.push(Entry::new(pool));
            }
        }
        let Some(period) = watched.iter().map(|pool| pool.period).min() else {
            thread::park();
            continue;
        };
        thread::park_timeout(period);
        watched.retain_mut(Entry::look_if_due);
    }
}

/// A pool that the watch looks after.
struct Entry {
    pool: Weak<Shared>,
    /// Until the next look.
    period: Duration,
    /// When it was looked at last.
    at: Instant,
    /// Between the last two looks.
    looked: Duration,
    /// Looks in a row that found nothing takeable.
    calm: u32,
    /// What the last look saw where something was takeable and no worker looked for it.
    last: Option<Seen>,
}

struct Seen {
    progress: usize,
    /// The oldest job of each thread that joins.
    jobs: Vec<Job>,
    /// Of all workers together.
    processor: Duration,
}

impl Entry {
    fn new(pool: Weak<Shared>) -> Self {
        Self {
            pool,
            period: PERIOD,
            at: Instant::now(),
            looked: PERIOD,
            calm: 0,
            last: None,
        }
    }

    /// Looks at the pool if its period is over; false if the watch may leave it.
    fn look_if_due(&mut self) -> bool {
        // Another pool may be due earlier, and a call ends a period, too.
        let looked = self.at.elapsed();
        if looked < self.period {
            return true;
        }
        self.at = Instant::now();
        self.looked = looked;
        self.look()
    }

    /// Looks at the pool; false if the watch may leave it.
    fn look(&mut self) -> bool {
        let Some(pool) = self.pool.upgrade() else {
            return false;
        };
        if pool.holders.is_closing() || !pool.is_served() {
            return false;
        }
        self.period = (self.period * 2).min(LONG_PERIOD);
        if !is_takeable(&pool) {
            self.calm += 1;
            self.last = None;
            return self.calm < CALM || !pool.alarm.lower(|| is_takeable(&pool));
        }
        self.calm = 0;
        let is_attended = pool.idle.any_parked() || pool.idle.searching() > 0;
        // What is only to be expected does not count.
        if is_attended || !has_waiter(&pool) || !Scan::in_wait(&pool).finds_something() {
            self.last = None;
            return true;
        }
        self.judge(&pool);
        true
    }

    /// Called when a task is takeable, every worker is awake or waits for its own event, and some thread waits.
    fn judge(&mut self, pool: &Arc<Shared>) {
        let now = Seen {
            progress: pool.progress(),
            jobs: look_at(pool, pool.forks.bound(), Spot::Fork).collect(),
            processor: pool.seats.processor_time(),
        };
        let Some(last) = self.last.take() else {
            self.last = Some(now);
            return;
        };
        // A thread that joins pops its own jobs. That moves no task, and no job of another thread.
        let same_job = || now.jobs.iter().any(|job| last.jobs.contains(job));
        let has_tasks = || bystander_sight(pool, Looking::ToWake) != Sight::Nothing;
        let still = now.progress == last.progress && (has_tasks() || same_job());
        let used = now.processor.saturating_sub(last.processor);
        // A spare that is on its way may take the task.
        let coming = pool.threads.is_starting_spare();
        let rests = used < self.looked / BUSY_PART;
        self.last = Some(now);
        // A thread that would run the job was not told of it.
        let is_stranded =
            || pool.forks.any_asleep() && pool.forks.any_job() && pool.processors_left() > 0;
        let stuck = still && (rests || is_stranded());
        if stuck && !coming {
            // The spare looks at every source. The watch soon judges anew what it leaves.
            self.last = None;
            self.period = PERIOD;
            start_spare(pool);
        }
    }
}

/// Lets another thread start a spare: the user's code names threads and may wait, and the watch has other pools to look at. Until it has, the
/// pool counts as one that starts a spare.
fn start_spare(pool: &Arc<Shared>) {
    pool.threads.starting.rise();
    let (pool, counted) = (Arc::clone(pool), Arc::clone(pool));
    // Also where the system starts no thread.
    let counted = OnDrop(move || counted.threads.starting.fall());
    let starter = thread::Builder::new().name("terrace-spare".into());
    let started = starter.spawn(move || {
        let _counted = counted;
        life::start_spare(&pool);
    });
    drop(started);
}

/// Whether something is queued that a worker could take, or a thread may fork at any moment without a publish.
fn is_takeable(pool: &Shared) -> bool {
    Scan::for_workers(pool).finds_something()
}

/// Whether a worker sleeps in the middle of a job, or a thread in a scope or join of this pool, or children lie in a scope.
/// Such a waiter may wait for the very task that no thread takes.
fn has_waiter(pool: &Shared) -> bool {
    pool.idle.any_restricted()
        || pool.scopes.has_waiter()
        || pool.forks.any_asleep()
        || pool.waits_beneath.get() > 0
}
