//! What a pool's `Debug` output says.

use std::fmt;

use terrace_queue::fork::Offer;

use super::shared::Shared;
use crate::parts::fork_seat::By;

impl Shared {
    /// A snapshot by relaxed loads, no lock: it can be taken of a pool that hangs.
    pub(crate) fn describe(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lengths = |rings: &mut dyn Iterator<Item = usize>| rings.collect::<Vec<_>>();
        let (drivers, asleep) = self.idle.driver_count();
        f.debug_struct(name)
            .field("id", &self.id.0)
            .field("active", &self.seats.active())
            .field("workers", &self.workers())
            .field("awake", &self.idle.awake())
            .field("injected", &self.injector.len_hint())
            .field("high", &self.lanes.high.len_hint())
            .field("background", &self.lanes.background.len_hint())
            .field(
                "rings",
                &lengths(&mut self.seats.workers.scan().map(|seat| seat.ring.len())),
            )
            .field(
                "driver_rings",
                &lengths(&mut self.seats.drivers.scan().map(|seat| seat.ring.len())),
            )
            .field("scopes", &Scopes(self))
            .field("joins", &Joins(self))
            .field("drivers", &format_args!("{drivers}, {asleep} asleep"))
            .field("idle", &self.idle)
            .finish()
    }
}

/// The open scopes: what keeps each of them open, and which threads could go on.
struct Scopes<'p>(&'p Shared);

impl fmt::Debug for Scopes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cores = self.0.scopes.table.scan().map(|slot| slot.core());
        let open = cores.filter(|core| core.pending() > 0);
        let lines = open.map(|core| Scope {
            pending: core.pending(),
            queued: core.len(),
            waiter_asleep: core.is_asleep(),
        });
        f.debug_list().entries(lines).finish()
    }
}

/// A scope that is open.
#[derive(Debug)]
#[expect(dead_code, reason = "the fields are printed")]
struct Scope {
    /// Children that have not ended; the body counts as one of them while it runs.
    pending: usize,
    /// Pending children that are queued for a thread. The others run, or wait to be woken.
    queued: usize,
    /// Whether the thread that opened it sleeps until they have ended.
    waiter_asleep: bool,
}

/// The threads in the middle of joins.
struct Joins<'p>(&'p Shared);

impl fmt::Debug for Joins<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seats = self.0.forks.seats();
        let busy = seats.filter(|seat| seat.is_forking() || seat.deque.is_in_use());
        let lines = busy.map(|seat| Join {
            seat: seat.number,
            by: seat.by(),
            offer: seat.deque.look().map(|_| seat.deque.offer()),
            forking: seat.is_forking(),
        });
        f.debug_list().entries(lines).finish()
    }
}

/// A thread in the middle of joins.
#[derive(Debug)]
#[expect(dead_code, reason = "the fields are printed")]
struct Join {
    seat: usize,
    /// Which kind of thread it is.
    by: By,
    /// Which threads its jobs are for. `None` if none of its jobs is queued.
    offer: Option<Offer>,
    /// Whether it may push a job without telling a sleeper. It does not while it sleeps.
    forking: bool,
}
