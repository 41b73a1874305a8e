//! What a sentinel watches: work that its owner is expected to take, and that publishers left alone for now.
//!
//! A sentinel is a parked worker that looks around from time to time (`Idle::park_as_sentinel`). A pool has two at most.
//!
//! | it sees                                              | it looks again after              | it takes                       |
//! |------------------------------------------------------|-----------------------------------|--------------------------------|
//! | an open scope, and a core is free                    | the pool's [`Beat`]; one sentinel does | a child whose scope's thread is stuck |
//! | an open scope, and no core is free                   | the beat, doubled each time       | –                              |
//! | threads that are busy with other things, and a core is free | a beat of its own; one sentinel does | a task in a slot that has not moved since the look before |
//! | threads that are busy with other things              | the beat, doubled each time; then 1 ms | –                         |
//! | no busy thread                                       | the beat, doubled each time; then it ends | –                      |
//! | no busy thread, a guest has come since the last look | [`LONG_PERIOD`]                   | –                              |
//! | in each of these cases, every millisecond            | –                                 | what has not moved for that millisecond |
//! | nothing to take, and nothing has moved, [`BORED`] milliseconds in a row | [`LONG_PERIOD`] if a thread forks; else it ends, and begins no watch before something has | – |
//!
//! A scope whose thread sleeps and whose list is empty does not count as open here while no thread is busy: it may wait for hours.
//!
//! [`Beat`]: crate::parts::pacing::Beat

#[cfg(test)]
mod tests;

use std::time::Duration;

use terrace_sync::time::CpuClock;

use super::found::Found;
use super::still::look_at;
use crate::parts::processor::{cores, spin};
use crate::parts::turns::{Seen, Spot};
use crate::pool::Shared;
use crate::tuned::{CALL, LONG_PERIOD, PERIOD};

/// After so many looks in a row without an open scope, a sentinel looks once in a millisecond, or ends its watch.
const CALM: u32 = 10;
/// The first of these looks, between which the sentinel sleeps for no more than a beat: scopes often follow one another.
const KEEN: u32 = 3;

/// So many thorough looks in a row see nothing, and nothing moves, before a sentinel leaves busy threads alone: they may sleep for hours. While
/// no worker watches, the next push wakes one. But pushes in nested joins do not ask, so a sentinel still looks now and then.
const BORED: u32 = 64;

/// What one worker knows as a sentinel.
#[derive(Default)]
pub(crate) struct Sentinel {
    /// What it saw at the last thorough look.
    seen: Vec<Seen>,
    /// The tasks in slots that it saw at the last look on a beat.
    slots: Vec<Seen>,
    /// The number of guests at the last look.
    guests: usize,
    /// Processor times then, if there were children or jobs of joins.
    processor: Option<Processor>,
    /// How long it has slept since then.
    waited: Duration,
    /// What it has seen stand still, and has not taken yet.
    still: Option<Seen>,
    /// The slot of a scope whose thread it has seen to be stuck, likewise.
    stuck: Option<usize>,
    /// The [`progress`] at the last thorough look, and how many looks in a row have seen the same, and nothing to take.
    progress: usize,
    idle: u32,
    /// Looks in a row without an open scope.
    quiet: u32,
    /// Looks in a row at an open scope while no core was free.
    crowded: u32,
    /// The worker has run a child, or met an open scope, since it last was [`CALM`]: more are likely to follow. So it should watch though no
    /// thread is active at the moment.
    pub(crate) keen: bool,
}

impl Sentinel {
    /// The worker has found nothing, and looks around for some microseconds before it watches. A task that stands in a slot all that time
    /// lies behind a long poll.
    #[inline]
    pub(crate) fn looks_around(&mut self, pool: &Shared) {
        self.slots = slots(pool).collect();
    }

    /// The times to sleep between the looks of `worker` at `pool`; each is asked for when the one before is over. They end
    /// when there is something to do.
    pub(crate) fn sleeps<'s>(
        &'s mut self,
        pool: &'s Shared,
        worker: usize,
    ) -> impl Iterator<Item = Duration> + use<'s> {
        self.seen.clear();
        self.still = None;
        self.stuck = None;
        self.crowded = 0;
        self.quiet = if self.keen { 0 } else { CALM - 1 };
        // The first look is a thorough one.
        self.waited = PERIOD;
        std::iter::from_fn(move || self.look(pool, worker))
    }

    /// Whether a watch has ended as nothing moved, nothing has moved since, and no child lies in a list.
    pub(crate) fn is_bored(&self, pool: &Shared) -> bool {
        self.idle >= BORED && self.progress == progress(pool) && !pool.scopes.has_any()
    }

    fn look(&mut self, pool: &Shared, worker: usize) -> Option<Duration> {
        if self.waited >= PERIOD {
            self.look_thoroughly(pool);
        }
        if self.still.is_some() {
            return None;
        }
        let next = if self.idle < BORED {
            self.next_sleep(pool, worker)?
        } else {
            leave_beats(pool, worker);
            self.keen = false;
            pool.forks.any_forking().then_some(LONG_PERIOD)?
        };
        // A thorough look comes each period, neither earlier nor later, but where there is nothing to look at.
        let next = match next {
            LONG_PERIOD => next,
            _ => next.min(PERIOD - self.waited),
        };
        self.waited += next;
        Some(next)
    }

    fn next_sleep(&mut self, pool: &Shared, worker: usize) -> Option<Duration> {
        let (of_scopes, of_slots) = (&pool.scopes.beat, &pool.seats.beat);
        let busy = pool.busy();
        let open = pool.scopes.any_to_watch(busy == 0);
        let has_room = busy < cores();
        if open && has_room && of_scopes.claim(worker) {
            self.keen = true;
            self.quiet = 0;
            self.crowded = 0;
            self.stuck = pool.scopes.first_stuck();
            if self.stuck.is_some() {
                return None;
            }
            of_scopes.look_in_vain();
            return Some(of_scopes.period());
        }
        of_scopes.leave(worker);
        if has_room && busy > 0 && of_slots.claim(worker) {
            self.look_at_slots(pool);
            if self.still.is_some() {
                return None;
            }
            of_slots.look_in_vain();
            return Some(of_slots.period());
        }
        if open && has_room {
            // Another sentinel has the beat.
            return Some(PERIOD);
        }
        if open {
            self.crowded = self.crowded.saturating_add(1);
            return Some(of_scopes.period_doubled(1 + self.crowded));
        }
        self.quiet = self.quiet.saturating_add(1);
        if self.quiet >= CALM {
            self.keen = false;
            if busy == 0 && !pool.forks.any_forking() {
                let guests = pool.forks.entries();
                let came = std::mem::replace(&mut self.guests, guests) != guests;
                return came.then_some(LONG_PERIOD);
            }
            return Some(PERIOD);
        }
        Some(of_scopes.period_doubled(self.quiet.saturating_sub(KEEN)))
    }

    /// Compares what lies in slots with the last look on the beat, and once more some microseconds later: a task that stands there lies
    /// behind a long poll.
    fn look_at_slots(&mut self, pool: &Shared) {
        for again in [false, true] {
            let slots: Vec<_> = slots(pool).collect();
            self.still = slots.iter().find(|slot| self.slots.contains(slot)).copied();
            self.slots = slots;
            if again || self.still.is_some() || self.slots.is_empty() {
                return;
            }
            spin(CALL, || false);
        }
    }

    /// Compares what lies in lists, slots and deques with the thorough look before.
    fn look_thoroughly(&mut self, pool: &Shared) {
        let seen: Vec<_> = look_at(pool, pool.scopes.table.high(), Spot::Scope)
            .chain(slots(pool))
            .chain(look_at(pool, pool.forks.bound(), Spot::Fork))
            .collect();
        self.still = seen.iter().find(|item| self.seen.contains(item)).copied();
        if self.still.is_none() {
            let mut others = seen
                .iter()
                .filter(|item| !matches!(item.spot, Spot::Slot(_)));
            self.processor = others.next().map(|_| Processor::now(pool));
        }
        let before = std::mem::replace(&mut self.progress, progress(pool));
        let moves = before != self.progress || !seen.is_empty();
        self.idle = if moves {
            0
        } else {
            self.idle.saturating_add(1)
        };
        self.seen = seen;
        self.waited = Duration::ZERO;
    }

    /// Ends the watch of `worker`. If its time was over because something stands still, takes that.
    pub(crate) fn end<'p>(&mut self, pool: &'p Shared, worker: usize) -> Option<Found<'p>> {
        leave_beats(pool, worker);
        if let Some(scope) = self.stuck.take() {
            let slot = pool.scopes.table.get(scope)?;
            let child = slot.core.steal()?;
            pool.scopes.beat.found();
            return Some(Found::Child(child, slot));
        }
        let found = self.still.take()?.take(pool, None)?.found;
        let rests = match found {
            Found::Task(_) | Found::Lane(..) => {
                pool.seats.beat.found();
                false
            }
            Found::Child(..) => {
                pool.scopes.beat.found();
                self.rests(pool, |time| time.workers)
            }
            // Of a thread that is no worker, the process alone tells whether it computes.
            Found::Fork(_) if pool.forks.any_foreign() => self.rests(pool, |time| time.process),
            Found::Fork(_) => self.rests(pool, |time| time.workers),
        };
        if rests {
            pool.scopes.observe_blocking();
        }
        Some(found)
    }

    /// Whether less than a quarter of the last period was used, by this part of the processor times: the busy threads are blocked.
    fn rests(&self, pool: &Shared, part: impl Fn(&Processor) -> Duration) -> bool {
        self.processor.as_ref().is_some_and(|before| {
            let used = part(&Processor::now(pool)).saturating_sub(part(before));
            used < PERIOD / 4
        })
    }
}

fn leave_beats(pool: &Shared, worker: usize) {
    pool.scopes.beat.leave(worker);
    pool.seats.beat.leave(worker);
}

/// The tasks in the slots of all workers.
fn slots(pool: &Shared) -> impl Iterator<Item = Seen> {
    look_at(pool, pool.seats.workers.high(), Spot::Slot)
}

/// The pool's progress, and guests that came: what they fork and take back themselves is no progress.
fn progress(pool: &Shared) -> usize {
    pool.progress().wrapping_add(pool.forks.entries())
}

/// Processor times; zero where the system does not tell.
struct Processor {
    /// Of all workers of the pool together.
    workers: Duration,
    /// Of all threads of the process together.
    process: Duration,
}

impl Processor {
    fn now(pool: &Shared) -> Self {
        let process = CpuClock::of_this_process().and_then(|clock| clock.read());
        Self {
            workers: pool.seats.processor_time(),
            process: process.unwrap_or_default(),
        }
    }
}
