//! The loop of one worker thread.
//!
//! | state     | holds a token | next                                                        |
//! |-----------|---------------|-------------------------------------------------------------|
//! | searching | yes           | found: `stop_search`, run; nothing: spin once, then park    |
//! | running   | no            | after each piece of work it looks again, without a token: `next_at_hand`, then `find` |
//! | parked    | no (in `P`)   | woken: the waker's token is mine, search                    |
//! | guard     | no (in `P`)   | as parked; also wakes by itself and takes what stood still  |
//! | waiting   | no (in `R`)   | see `super::wait`                                           |

use std::cell::Cell;
use std::ptr::NonNull;

use terrace_local::task::Runnable;
use terrace_park::{Token, Woken};
use terrace_queue::Owner;
use terrace_sync::Arc;
use terrace_sync::atomic::Ordering;
use terrace_sync::thread::yield_now;

use super::context::Context;
use super::search::{Found, Scan};
use super::seat::Seat;
use super::spin::spin;
use super::stalled::Stalled;
use super::turns::{GLOBAL_INTERVAL, Turns};
use super::{LANE, Looking, Shared, context};
use crate::again::Again;
use crate::scope::pacing::{GUARD_PERIOD, Stopwatch};
use crate::scope::slot::Slot;
use crate::woken::IN_A_ROW;

/// One worker, on its own thread's stack.
pub(crate) struct Worker {
    pool: Arc<Shared>,
    index: usize,
    /// What is entered while it runs.
    pub(crate) context: Context,
    /// One of the pool's, held by this thread.
    seat: NonNull<Seat>,
    /// A spare ends when it runs out of work.
    spare: bool,
    pub(crate) turns: Turns,
    /// Tasks out of its slot that it ran in a row.
    in_a_row: Cell<u32>,
    /// Foreign jobs run on top of each other by waits of last resort.
    pub(crate) nested_help: Cell<u32>,
}

impl Worker {
    /// The worker that holds the seat with this index.
    pub(crate) fn new(pool: Arc<Shared>, index: usize, spare: bool) -> Self {
        let seat = pool.seats.get(index).expect("a seat was acquired");
        Self {
            context: Context::new(&pool, seat, index as u32),
            seat: NonNull::from(seat),
            pool,
            index,
            spare,
            turns: Turns::new(index),
            in_a_row: Cell::new(0),
            nested_help: Cell::new(0),
        }
    }

    /// Its seat.
    #[inline]
    pub(crate) fn seat(&self) -> &Seat {
        // SAFETY: the pool, which the worker refers to, frees its seats when it is dropped itself.
        unsafe { self.seat.as_ref() }
    }

    pub(crate) fn pool(&self) -> &Arc<Shared> {
        &self.pool
    }

    pub(crate) fn is_spare(&self) -> bool {
        self.spare
    }

    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// The owner's side of its ring.
    #[inline]
    pub(crate) fn ring(&self) -> Owner<'_, Runnable> {
        // SAFETY: only this thread takes the owner's side of its own seat (`Worker` is not Sync and there is one a
        // seat), and the ring's operations do not come back here.
        unsafe { self.seat().ring.owner() }
    }

    /// The task in its slot; but after [`IN_A_ROW`] of them others have a turn.
    #[inline]
    pub(crate) fn pop_woken(&self) -> Option<Runnable> {
        let row = self.in_a_row.get();
        if row == IN_A_ROW {
            self.in_a_row.set(0);
            return None;
        }
        let task = self.seat().woken.take();
        self.in_a_row.set(if task.is_some() { row + 1 } else { 0 });
        task
    }

    /// The next task out of the slot or the own ring, where nothing else has a turn before: what
    /// [`find`](Shared::find) would find, for less. What has yielded is settled with unless the task is the ring's.
    #[inline]
    fn next_at_hand(&self) -> Option<Runnable> {
        if self.seat().woken.is_empty() {
            return self.pool.pop_own(&self.ring(), &self.turns);
        }
        let row = self.in_a_row.get();
        if row == IN_A_ROW || !self.pool.is_own_turn(&self.turns) {
            return None;
        }
        self.settle();
        let task = self.seat().woken.take()?;
        self.in_a_row.set(row + 1);
        self.turns.slot_ran();
        Some(task)
    }

    /// Publishes what has yielded, unless it is next.
    #[inline]
    fn settle(&self) {
        self.context.again.settle(|| self.pool.publish());
    }

    /// Moves the task in its slot to where others find it: before the worker waits in the middle of a poll, or ends.
    pub(crate) fn empty_slot(&self) {
        self.seat().woken.empty(|task| {
            self.ring().push_or_overflow(task, &self.pool.injected);
            self.pool.publish();
        });
    }

    fn scan(&self, looking: Looking) -> Scan<'_> {
        Scan {
            pool: &self.pool,
            looking,
            exhausted: None,
            heeds_closing: true,
        }
    }

    /// Ends the search that `token` stands for, before anything is run.
    pub(crate) fn stop_search(&self, token: &mut Option<Token>) {
        if let Some(token) = token.take() {
            self.pool
                .idle
                .stop_search(token, &self.scan(Looking::ToWake));
        }
    }

    /// Runs until the pool closes or, as a spare, until there is nothing left to do.
    pub(crate) fn run(&self) {
        let pool = &*self.pool;
        let mut token = Some(pool.idle.enter(self.index));
        let mut stalled = Stalled::default();
        // Pinned tasks come first, yet one that wakes itself for ever starves nobody.
        let mut in_a_row = 0;
        let mut rested = false;
        // Ordering: Relaxed, a flag; `close` unparks everybody after raising it.
        while !pool.closing.load(Ordering::Relaxed) {
            if self.seat().is_asked_to_end() && self.may_end() && self.seat().end() {
                break;
            }
            let pinned = terrace_thread::has_work();
            if pinned && in_a_row < GLOBAL_INTERVAL {
                in_a_row += 1;
                self.settle();
                self.stop_search(&mut token);
                if !terrace_thread::tick() {
                    // Announced by a thread that has not pushed it yet: let it.
                    yield_now();
                }
                rested = false;
                continue;
            }
            in_a_row = 0;
            if token.is_none() {
                if let Some(task) = self.next_at_hand() {
                    run_turn(task, &self.context.again);
                    rested = false;
                    continue;
                }
            }
            self.settle();
            let (found, moved) = pool.find(self);
            if moved && token.is_none() {
                pool.publish_moved();
            }
            if let Some(found) = found {
                if let Some(token) = &token {
                    let more = match &found {
                        Found::Child(_, slot) => pool.surplus(slot, true),
                        Found::Task(_) | Found::Lane(..) => {
                            self.seat().ring.len() + pool.injected.len_hint()
                        }
                    };
                    pool.idle.hand_on(token, LANE, more);
                }
                self.stop_search(&mut token);
                self.run_found(found);
                rested = false;
                continue;
            }
            if pinned {
                continue;
            }
            if token.is_none() {
                token = pool.idle.try_search(self.index);
            }
            if token.is_some() && !rested && self.spin() {
                continue;
            }
            if self.spare {
                break;
            }
            let (woken, timed_out) = self.sleep(token.take());
            token = Some(woken);
            rested = timed_out;
            if timed_out {
                if let Some(found) = pool.find_stalled(&mut stalled) {
                    self.stop_search(&mut token);
                    self.run_found(found);
                    rested = false;
                }
            }
        }
        self.settle();
        self.empty_slot();
        let token = token.or_else(|| pool.idle.try_search(self.index));
        pool.idle
            .leave(self.index, token, &self.scan(Looking::ToWake));
    }

    /// Whether a worker that was asked to end may do so now: the pool may want its queues empty first.
    fn may_end(&self) -> bool {
        !self.pool.threads.is_draining() || (self.seat().woken.is_empty() && !self.pool.has_any())
    }

    /// Looks around for a while; true as soon as something is there.
    fn spin(&self) -> bool {
        let scan = self.scan(Looking::Awake);
        spin(|| terrace_park::Work::inlet(&scan, self.index) || self.pool.has_work_for_awake())
    }

    /// Sleeps until woken; as the guard, if somebody is active and nobody else is it. Whether a
    /// guard's time ran out is the second value.
    fn sleep(&self, token: Option<Token>) -> (Token, bool) {
        let pool = &*self.pool;
        let scan = self.scan(Looking::Parking);
        terrace_trace::park(self.index);
        let token = if pool.others_active() || pool.has_woken() {
            match pool
                .idle
                .park_as_guard(self.index, token, &scan, GUARD_PERIOD)
            {
                Ok(woken) => {
                    terrace_trace::unpark(self.index);
                    return match woken {
                        Woken::Unparked(token) => (token, false),
                        Woken::TimedOut(token) => (token, true),
                    };
                }
                Err(token) => token,
            }
        } else {
            token
        };
        let token = pool.idle.park(self.index, token, &scan);
        terrace_trace::unpark(self.index);
        (token, false)
    }

    fn run_found(&self, found: Found<'_>) {
        match found {
            Found::Task(task) => run_turn(task, &self.context.again),
            Found::Child(child, slot) => self.run_children(child, slot),
            found @ Found::Lane(..) => found.run(&self.pool),
        }
    }

    /// Runs children of one scope, as long as its list offers any.
    fn run_children(&self, first: Runnable, slot: &Slot) {
        let pool = &*self.pool;
        let mut watch = Stopwatch::start();
        let mut next = Some(first);
        while let Some(child) = next {
            run_task(child);
            if watch.child_ran(&pool.pacing) {
                pool.reconsider(slot);
            }
            if terrace_thread::has_work() || !self.seat().woken.is_empty() || pool.has_tasks() {
                return;
            }
            next = match pool.offer(slot, Looking::Awake) {
                super::Offer::Ready => slot.core().steal(),
                _ => None,
            };
        }
    }
}

/// Polls a task once, wherever. Panics do not come out of it: the task's cell keeps them for its handle.
pub(crate) fn run_task(task: Runnable) {
    context::forbid_again();
    poll_task(task);
}

/// Polls a task once, in a loop whose next turn follows.
#[inline]
pub(crate) fn run_turn(task: Runnable, again: &Again) {
    again.allow();
    poll_task(task);
}

/// Polls a task once.
#[inline]
fn poll_task(task: Runnable) {
    let worker = if terrace_trace::ENABLED {
        context::index()
    } else {
        0
    };
    terrace_trace::run_begin(worker);
    task.run();
    terrace_trace::run_end(worker);
}

impl Shared {
    /// Whether an awake worker would find anything.
    fn has_work_for_awake(&self) -> bool {
        self.has_tasks()
            || self
                .board
                .scan()
                .any(|slot| self.offer(slot, Looking::Awake) == super::Offer::Ready)
    }
}
