//! The sleep of an async driver: what it owes after a wake, how long it looks around before, and its place among the sleepers.

use std::task::Context;

use terrace_local::cells::give_back;
use terrace_park::Driver;
use terrace_sync::hint::spin_loop;
use terrace_sync::thread::yield_now;

use crate::parts::awake;
use crate::parts::naps::Naps;
use crate::parts::scopes::Looking;
use crate::parts::spin::{Patience, spin};
use crate::pool::shared::Shared;
use crate::protocol::sight::Sight;
use crate::work::order::bystander_sight;

/// The most urgent work that a driver or bystander may take.
fn sight(pool: &Shared) -> Sight {
    bystander_sight(pool, Looking::Awake)
}

/// A driver that owes the others a look calls this after its look. It wakes the next driver if work is left: several
/// publishes may have notified this driver alone. It leaves a task in a slot to the sentinel, if there is one.
pub(super) fn wake_for_rest(pool: &Shared) {
    if sight(pool).is_takeable(&pool.idle) {
        pool.publish();
    }
}

/// Whether a driver has to look for work on behalf of others.
#[derive(Clone, Copy, PartialEq, Eq)]
#[must_use = "what a driver that owes a look leaves behind it publishes"]
pub(super) enum Owes {
    /// It was notified, or has searched, so publishers relied on it.
    Look,
    /// No publisher relied on it.
    Nothing,
}

impl Owes {
    fn look_if(owes: bool) -> Self {
        if owes { Self::Look } else { Self::Nothing }
    }
}

/// Whether a driver sleeps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Slept {
    /// It has announced its sleep, and has seen nothing to take since.
    Yes,
    /// It has seen work to take.
    No,
}

/// A driver's place among the sleepers, taken when it first has nothing to do.
pub(super) struct Sleeper<'p> {
    pool: &'p Shared,
    place: Option<Driver<'p>>,
    naps: Naps,
}

impl<'p> Sleeper<'p> {
    pub(super) fn new(pool: &'p Shared) -> Self {
        Self {
            pool,
            place: None,
            naps: Naps::default(),
        }
    }

    /// Ends the sleep; a driver that had been notified owes a look.
    pub(super) fn wake(&mut self) -> Owes {
        self.naps.end();
        Owes::look_if(self.place.as_mut().is_some_and(Driver::wake))
    }

    /// Announces the sleep and looks once more.
    pub(super) fn sleep(&mut self, context: &Context<'_>) -> Slept {
        give_back();
        self.place().sleep(context.waker());
        // Covered work keeps it awake, too: no sentinel watches for drivers.
        if sight(self.pool) == Sight::Nothing {
            self.naps.begin();
            return Slept::Yes;
        }
        // A pusher may have announced the task before it pushed it: let it go on.
        spin_loop();
        Slept::No
    }

    fn place(&mut self) -> &mut Driver<'p> {
        self.place.get_or_insert_with(|| self.pool.idle.driver())
    }

    /// Looks around for a while, unless enough drivers do. So many `turns` have passed since the last time.
    /// A driver that searched owes a look.
    pub(super) fn search(&mut self, turns: usize) -> Owes {
        let pool = self.pool;
        let look = |patience| {
            // A thread that this driver's last task has woken may wait for this very processor.
            yield_now();
            spin(patience, || sight(pool) != Sight::Nothing)
        };
        let place = self.place.get_or_insert_with(|| pool.idle.driver());
        // Where drivers and workers fill the processors, none looks for long.
        let crowded = !awake::has_room_for(pool.seats.drivers.high());
        let turns = if crowded { usize::MAX } else { turns };
        let mut owes = Owes::Nothing;
        self.naps.look(turns, Patience::Short, |patience| {
            let mut found = false;
            owes = Owes::look_if(place.search(|| found = look(patience)));
            // A driver that is alone spares no other a wake, but may spare its own.
            let alone = owes == Owes::Nothing && pool.idle.driver_count().0 == 1;
            if alone && patience == Patience::Nap {
                found = look(patience);
                owes = Owes::look_if(found);
            }
            found
        });
        owes
    }

    pub(super) fn leave(&mut self) {
        self.place = None;
    }
}
