//! What a pool's `Debug` output says.

use std::fmt;

use super::Shared;

impl Shared {
    /// A snapshot by relaxed loads, no lock: it can be taken of a pool that hangs.
    pub(crate) fn describe(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lengths = |rings: &mut dyn Iterator<Item = usize>| rings.collect::<Vec<_>>();
        let (drivers, asleep) = self.idle.driver_count();
        f.debug_struct(name)
            .field("id", &self.id.0)
            .field("active", &self.active())
            .field("workers", &self.workers())
            .field("awake", &self.idle.awake())
            .field("injected", &self.injected.len_hint())
            .field("high", &self.lanes.high.len_hint())
            .field("background", &self.lanes.background.len_hint())
            .field(
                "rings",
                &lengths(&mut self.seats.scan().map(|seat| seat.ring.len())),
            )
            .field(
                "driver_rings",
                &lengths(&mut self.driver_seats.scan().map(|seat| seat.ring.len())),
            )
            .field(
                "scopes",
                &lengths(&mut self.board.scan().map(|slot| slot.core().len())),
            )
            .field("drivers", &format_args!("{drivers}, {asleep} asleep"))
            .field("idle", &self.idle)
            .finish()
    }
}
