//! One pool: its state, made of its parts, and how an item becomes known to its sleepers. The files beside this one are the thread that
//! polls the pool's tasks, and where a runnable goes.

pub(crate) mod dump;
pub(crate) mod fork;
pub(crate) mod frames;
pub(crate) mod runner;
pub(crate) mod schedule;
pub(crate) mod spawn;

use terrace_local::Payload;
use terrace_local::registry::Registry;
use terrace_local::task::{PanicHandler, Runnable};
use terrace_park::{Idle, Wake};
use terrace_sync::unmodelled::Weak;
use terrace_sync::{Arc, OnceLock, heavy};
use terrace_thread::closed::Closed;
use terrace_trace::inspect;

use crate::parts::current::{ExecutorId, polls_here};
use crate::parts::forks::Forks;
use crate::parts::injector::{Injector, Lanes};
#[cfg(feature = "inspect")]
use crate::parts::long_polls;
use crate::parts::processor::cores;
use crate::parts::scopes::{Looking, Scopes, Slot};
use crate::parts::seat::{Seat, Seats};
use crate::parts::threads::Threads;
use crate::parts::waiters::{Event, QuietWaiters};
use crate::parts::{Flag, Level};
use crate::protocol::end::Holders;
use crate::protocol::publish::{Alarm, Sight};
use crate::tuned::FEW_SPARES;

/// The state of a pool.
pub(crate) struct Shared {
    this: Weak<Shared>,
    pub(crate) id: ExecutorId,
    /// Every decision about sleeping and waking.
    pub(crate) idle: Idle,
    /// Tasks of the lanes that go before the normal one, or after it.
    pub(crate) lanes: Lanes,
    /// Tasks that threads without a seat spawned or woke, and tasks that overflowed.
    pub(crate) injector: Injector,
    /// The seats of workers and drivers.
    pub(crate) seats: Seats,
    /// Open scopes.
    pub(crate) scopes: Scopes<Shared>,
    /// The seats of threads that fork.
    pub(crate) forks: Forks<Shared, fork::Job>,
    /// Tasks to wake when the pool is dropped.
    pub(crate) registry: Registry,
    /// What happens to the panic of a detached task.
    pub(crate) handler: Option<PanicHandler>,
    /// Tells the watch of the pool: the watch starts threads, so it stands above.
    watch: fn(Weak<Shared>),
    /// Whether the watch looks after the pool.
    pub(crate) alarm: Alarm,
    /// The threads that may poll tasks; the last of them drops the tasks when the pool closes.
    pub(crate) holders: Holders,
    /// Whether the pool has dropped its tasks.
    closed: Closed,
    /// Threads that wait for the end of every task.
    pub(crate) quiet: QuietWaiters,
    /// Threads that wait for a pool without workers. The handshake with publishers: a waiter listens, fences and looks once more. A publisher
    /// makes its item visible, fences, and then asks whether any listens.
    pub(crate) waiters: Event,
    /// Whether the pool has no workers and is no longer being shut down: the waiters drive it. One that reads an old value takes a task more,
    /// or reads the announcement that follows.
    pub(crate) may_drive: Flag,
    /// Whether they ever did.
    pub(crate) was_driven: Flag,
    /// How the pool starts its threads, and the threads that it has started.
    pub(crate) threads: Threads,
    /// Waits on top of which their workers run what they wait for.
    pub(crate) waits_beneath: Level,
    /// Records of its tasks, with feature `inspect`.
    pub(crate) records: inspect::Table,
    /// Its number in the list of all pools.
    number: OnceLock<usize>,
}

impl Shared {
    /// A pool without threads so far, with room for the workers that it is to have, and a few spares.
    pub(crate) fn new(
        threads: Threads,
        handler: Option<PanicHandler>,
        watch: fn(Weak<Self>),
    ) -> Arc<Self> {
        let workers = threads.config.workers;
        let places = if workers == 0 {
            0
        } else {
            workers + FEW_SPARES
        };
        let id = ExecutorId::new();
        let pool = Arc::new_cyclic(|this: &Weak<Self>| Self {
            this: this.clone(),
            id,
            idle: Idle::new(places),
            lanes: Lanes::default(),
            injector: Injector::default(),
            seats: Seats::default(),
            scopes: Scopes::new(),
            forks: Forks::new(),
            registry: Registry::default(),
            handler,
            watch,
            // The watch starts spares, and does nothing else.
            alarm: Alarm::new(workers == 0 || !threads.config.spares),
            holders: Holders::default(),
            closed: Closed::default(),
            quiet: QuietWaiters::default(),
            waiters: Event::default(),
            may_drive: Flag::default(),
            was_driven: Flag::default(),
            threads,
            waits_beneath: Level::default(),
            records: inspect::Table::new(id.0.get(), polls_here),
            number: OnceLock::new(),
        });
        #[cfg(feature = "inspect")]
        if let Some(reports) = &pool.threads.config.long_polls {
            long_polls::watch(id, pool.records.records(), reports);
        }
        pool
    }

    /// A counted reference to itself.
    pub(crate) fn arc(&self) -> Arc<Self> {
        self.this.upgrade().expect("a pool in use is alive")
    }

    /// The number of worker threads that the pool is to have.
    #[inline]
    pub(crate) fn workers(&self) -> usize {
        self.threads.workers()
    }

    /// Hands a payload that no task's handle and no scope will see to the handler.
    pub(crate) fn report(&self, payload: Payload) {
        match &self.handler {
            Some(handler) => handler.call(payload),
            None => terrace_local::drop_payload(payload),
        }
    }

    /// The seat of the worker with this index.
    pub(crate) fn worker_seat(&self, index: usize) -> &Seat {
        let seat = self.seats.workers.get(index);
        seat.expect("a thread has a seat")
    }

    /// A number that changes whenever a task or child is taken, or a task ends: a hash of hints.
    pub(crate) fn progress(&self) -> usize {
        let seats = self.seats.progress().wrapping_mul(1_000_003);
        seats.wrapping_add(self.scopes.progress())
    }

    /// Whether the worker with this index was asked to end.
    pub(crate) fn is_asked_to_end(&self, index: usize) -> bool {
        self.worker_seat(index).is_asked_to_end()
    }
}

/// The questions before a wake, and before an awake worker takes what another thread would come to: how many threads more the work is worth.
impl Shared {
    /// Awake workers, and threads off the pool that drive a scope: the threads that are busy with children; a hint. A worker that has
    /// announced its sleep is none of them.
    pub(crate) fn busy(&self) -> usize {
        // A thread whose scope sleeps, and that runs a scope of another sleeper on top of it, is counted out twice for that time.
        let busy = self.idle.awake().wrapping_add(self.scopes.drivers.get());
        (busy as isize).max(0) as usize
    }

    /// Awake workers, and guests in the middle of a join: the threads that are busy with tasks and jobs; a hint.
    fn busy_with_jobs(&self) -> usize {
        self.idle.awake() + self.forks.guests()
    }

    /// How many processors are left for workers that run tasks and jobs. More threads than processors take turns, and pay for each turn.
    /// Should the busy ones block their threads, the last searcher still wakes one more each time
    /// ([`Idle::stop_search`](terrace_park::Idle::stop_search)), and a sentinel takes what stands still.
    pub(crate) fn processors_left(&self) -> usize {
        cores().saturating_sub(self.busy_with_jobs())
    }

    /// How many threads more the *bound* allows where so many are busy, before another wake is left to the sentinel: one for each processor
    /// that is left. Where threads were seen to block lately, any number.
    pub(crate) fn room(&self, looking: Looking, busy: usize) -> usize {
        if self.scopes.is_blocking() {
            return usize::MAX;
        }
        // A worker that is awake would not be one more. If its answer differed from that of its next look before a sleep, it would find
        // nothing, park, see the item, search again, and so on.
        let own = usize::from(looking == Looking::Awake);
        (cores() + own).saturating_sub(busy)
    }

    /// Whether a job of a join is worth a wake, where so many threads more are about to be busy with jobs.
    pub(crate) fn may_wake_for_job(&self, more: usize) -> bool {
        self.room(Looking::ToWake, self.busy_with_jobs() + more) > 0
    }

    /// Whether a worker may take an offered job of a join.
    pub(crate) fn may_join_in(&self, looking: Looking) -> bool {
        self.room(looking, self.busy_with_jobs()) > 0
    }

    /// How many threads the children in `slot` are worth, beside the one that comes to one of them soon. At most as many as may become
    /// busy.
    pub(crate) fn surplus(&self, slot: &Slot<Self>) -> usize {
        if !self.scopes.worth_taking(slot) {
            return 0;
        }
        let (pacing, blocking) = (self.scopes.pacing(slot), self.scopes.is_blocking());
        // The thread that drives the scope runs one of them soon, unless it is blocked in one, or still in a long body. If it sleeps, its
        // body has ended, and the worker that asks runs one.
        let in_body = || !slot.core.is_asleep() && pacing.body_is_long();
        let soon = usize::from(!blocking && !in_body());
        let queued = slot.core.len().saturating_sub(soon);
        if queued == 0 || !(blocking || pacing.worth_waking(queued)) {
            return 0;
        }
        let busy = self.busy();
        // No more than there are: the scope's thread, and all workers.
        let others = (self.workers() + 1).saturating_sub(busy);
        queued.min(self.room(Looking::ToWake, busy)).min(others)
    }

    /// What the list of `slot` means for a worker. Of the orders, only those of workers ask: they are counted while they are awake.
    #[inline]
    pub(crate) fn offer(&self, slot: &Slot<Self>, looking: Looking) -> Sight {
        if slot.core.is_empty() {
            return Sight::Nothing;
        }
        let is_ready = slot.core.is_asleep()
            || match looking {
                Looking::ToWake | Looking::InWait => self.surplus(slot) > 0,
                Looking::Awake | Looking::Parking => {
                    self.scopes.worth_taking(slot) && self.room(looking, self.busy()) > 0
                }
            };
        if is_ready {
            Sight::Ready
        } else {
            Sight::Covered
        }
    }
}

/// How an item becomes known. Each of these is called after the item was made visible.
impl Shared {
    /// Wakes a sleeper for an item, if the sleeping protocol asks for it.
    #[inline]
    pub(crate) fn publish(&self) {
        let wake = self.idle.publish();
        self.look_after(wake);
        self.notify_waiters(1);
    }

    /// As [`publish`](Self::publish), for a task in a LIFO slot: a sentinel that watches is enough.
    #[inline]
    pub(crate) fn publish_unless_watched(&self) {
        let wake = self.idle.publish_paced();
        self.look_after(wake);
        if wake != Wake::Watched {
            self.notify_waiters(1);
        }
    }

    /// A thread begins to fork without telling of each job: a sentinel that watches is enough. A worker that this wakes
    /// becomes the sentinel.
    pub(crate) fn publish_forking(&self) {
        match self.idle.publish_paced() {
            // That worker does not watch.
            Wake::WokeRestricted(_) => self.unattended(),
            // A worker that searches looks at the seat before it sleeps.
            wake => self.look_after(wake),
        }
    }

    /// As [`publish`](Self::publish), after a move of tasks from a shared place into the caller's ring. The caller is a
    /// worker without a token, or a driver. While the tasks were on the way, no other thread saw them.
    #[inline]
    pub(crate) fn publish_moved(&self) {
        let wake = self.idle.moved();
        self.look_after(wake);
        self.notify_waiters(1);
    }

    /// Wakes as many sleepers as `items` tasks are worth.
    pub(crate) fn publish_tasks(&self, items: usize) {
        if items > 0 {
            let woken = self.idle.publish_batch(items);
            // They may all be drivers. A worker that was woken searches, or has looked.
            if (woken == 0 || self.any_driver()) && self.idle.searching() == 0 {
                self.unattended();
            }
            self.notify_waiters(items);
        }
    }

    /// The waiter calls this between children when the estimate of their length has changed. It wakes another thread if
    /// the children queued in `slot` are now worth it.
    pub(crate) fn reconsider(&self, slot: &Slot<Self>) {
        if self.surplus(slot) > 0 {
            self.publish();
        }
    }

    /// Called when a scope's body has ended. The children that the body left are a batch: the caller wakes two workers,
    /// and each of them wakes two more.
    pub(crate) fn publish_children(&self, slot: &Slot<Self>) {
        self.scopes.forget_blocking();
        match self.surplus(slot) {
            1 => self.publish(),
            more => self.publish_tasks(more),
        }
    }

    /// Wakes up to `count` threads that drive the pool in their waits. The caller has fenced, as after a publish.
    #[inline]
    pub(crate) fn notify_waiters(&self, count: usize) {
        if self.waiters.any() {
            self.waiters.notify(count);
        }
    }

    /// Whether a publish may have relied on a driver.
    #[inline]
    fn any_driver(&self) -> bool {
        self.seats.drivers.high() > 0
    }

    /// After a publish: where no worker sleeps or searches, the watch looks after the item. A driver that was notified may be left
    /// unpolled, for example by a thread that runs something else on top of its wait.
    #[inline]
    fn look_after(&self, wake: Wake) {
        match wake {
            Wake::NoneParked | Wake::Driver => self.unattended(),
            Wake::Covered if self.any_driver() && self.idle.searching() == 0 => self.unattended(),
            Wake::Covered | Wake::Woke(_) | Wake::WokeRestricted(_) | Wake::Watched => {}
        }
    }

    /// A publish found no worker asleep and none that searches. The caller has fenced after it made the item visible.
    #[inline]
    pub(crate) fn unattended(&self) {
        if !self.alarm.is_raised() {
            self.call_watch();
        }
    }

    /// A worker that gives its token back, or leaves, calls this. If all others are awake, it looks after the publishes
    /// that relied on its search. `look` tells whether a worker could take anything.
    #[inline]
    pub(crate) fn attend(&self, look: impl FnOnce() -> bool) {
        if !self.alarm.is_raised() && !self.idle.any_parked() {
            self.attend_all_awake(look);
        }
    }

    #[cold]
    fn attend_all_awake(&self, look: impl FnOnce() -> bool) {
        // Fence pair: `light` in a publish: either it sees the token gone, or `look` sees its item.
        heavy();
        if look() {
            self.call_watch();
        }
    }

    /// The pool has got its first worker.
    pub(crate) fn reset_alarm(&self) {
        if self.threads.config.spares {
            self.alarm.reset();
        }
    }

    /// Whether threads of the pool run what is queued: it has workers, or those that end do so before. Elsewhere the watch starts no spare,
    /// which would run what a shutdown drops.
    pub(crate) fn is_served(&self) -> bool {
        self.workers() > 0 || (self.threads.draining.get() && self.threads.left.get() > 0)
    }

    #[cold]
    fn call_watch(&self) {
        // The watch goes by time and never ends; a checker of schedules can run neither. The handshake has models of
        // its own.
        if cfg!(terrace_shuttle) {
            return;
        }
        if self.is_served() && self.alarm.raise() {
            (self.watch)(self.this.clone());
        }
    }
}

/// The background lane, whose permits depend on how many threads there are.
impl Shared {
    /// The number of permits: all workers but one, or all drivers but one where drivers are more;
    /// at least one.
    pub(crate) fn permits(&self) -> usize {
        let drivers = self.seats.drivers.high();
        self.workers().max(drivers).saturating_sub(1).max(1)
    }

    /// Whether a worker could take a background task now; valid after a fence.
    #[inline]
    pub(crate) fn has_background(&self) -> bool {
        !self.lanes.background.is_empty() && self.lanes.permits.is_free(self.permits())
    }

    /// Takes a background task, and the permit for it.
    #[inline]
    pub(crate) fn take_background(&self) -> Option<Runnable> {
        if !self.has_background() || !self.lanes.permits.take(self.permits()) {
            return None;
        }
        let task = self.lanes.background.pop();
        if task.is_none() {
            // Another thread took the last one.
            self.give_permit_back();
        }
        task
    }

    /// Gives a permit back, and publishes if a background task is queued.
    pub(crate) fn give_permit_back(&self) {
        self.lanes.permits.give_back();
        if self.has_background() {
            self.publish();
        }
    }
}

/// The end.
impl Shared {
    /// Drops every queued task, and returns their number. Called when no worker runs any more.
    pub(crate) fn drop_queued(&self) -> usize {
        let mut dropped = 0;
        let in_lanes = || {
            self.lanes
                .high
                .pop()
                .or_else(|| self.lanes.background.pop())
        };
        let next = || self.seats.steal_one(0).or_else(|| self.injector.take());
        while let Some(task) = next().or_else(in_lanes) {
            dropped += 1;
            drop(task);
        }
        dropped
    }

    /// Counts a holder out. The last holder of a closed pool wakes every registered task, so that it is queued, and
    /// drops the queued tasks, until none is left.
    pub(crate) fn leave_holders(&self) {
        if self.holders.leave() {
            self.registry.close(|| self.drop_queued() > 0);
            self.closed.set();
            self.drop_queued();
        }
    }

    /// Whether the pool has dropped its tasks, and runs no further ones.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.is_set()
    }

    /// Queues a new runnable by `push`, which drops it if the executor ends beside it.
    pub(crate) fn queue_if_open(&self, runnable: Runnable, push: impl FnOnce(Runnable)) {
        if self.is_closed() {
            drop(runnable);
        } else {
            push(runnable);
        }
    }

    /// Called after each publish of a runnable by a thread that does not keep the pool open. Once the pool has dropped its tasks, no thread takes the runnable, so the
    /// caller drops it.
    #[inline]
    pub(crate) fn drop_if_closed(&self) {
        if self.closed.is_set() {
            self.drop_queued();
        }
    }
}
