//! In which order each kind of looker takes work.

use super::found::Taken;
use super::source::{Look, Source};
use crate::protocol::sight::Sight;

/// A list of sources.
pub(crate) trait Order {
    /// The sources, the first one first.
    #[cfg(test)]
    const SOURCES: &'static [Source];

    /// Takes the next piece of work.
    fn take<'p>(look: &Look<'_, 'p>) -> Option<Taken<'p>>;

    /// The most urgent thing that a look at all sources shows.
    fn sight(look: &Look<'_, '_>) -> Sight;
}

/// Calls something for each order.
#[cfg(test)]
pub(super) trait Visit {
    fn order<O: Order>(&mut self, name: &str);
}

/// Makes the orders. Search and sight come from the one list, so that neither can lack a source that the other has; both are
/// written out source by source, so that each `match` over the source is decided when this is compiled.
macro_rules! orders {
    ($($(#[$doc:meta])* $name:ident: $($source:ident),+;)+) => {
        $($(#[$doc])*
        pub(crate) struct $name;

        impl Order for $name {
            #[cfg(test)]
            const SOURCES: &'static [Source] = &[$(Source::$source),+];

            #[inline]
            fn take<'p>(look: &Look<'_, 'p>) -> Option<Taken<'p>> {
                $(if let Some(taken) = Source::$source.take(look) {
                    return Some(taken);
                })+
                None
            }

            #[inline]
            fn sight(look: &Look<'_, '_>) -> Sight {
                let mut most = Sight::Nothing;
                $(match Source::$source.sight(look) {
                    Sight::Ready => return Sight::Ready,
                    seen => most = most.max(seen),
                })+
                most
            }
        })+

        /// Visits all of them.
        #[cfg(test)]
        pub(super) fn visit_all(visit: &mut impl Visit) {
            $(visit.order::<$name>(stringify!($name));)+
        }
    };
}

orders! {
    /// A worker. The slot comes twice, as it may be all there is after its turns in a row.
    Worker: GlobalTurn, HighLane, LifoSlot, InjectorByRound, OwnRing, LifoSlot, Injector, OfferingScopes, Peers,
        BackgroundLane, WatchedSlots;

    /// A worker that was asked to end. It does not sleep any more, so no time-out tells it of children that stand still: it
    /// takes any. The slots of other workers are left to these.
    Ending: GlobalTurn, HighLane, LifoSlot, InjectorByRound, OwnRing, LifoSlot, Injector, OfferingScopes, Peers,
        BackgroundLane, AnyScope, WatchedSlots;

    /// A spare, which was started since no worker comes for what is left. What the waiting workers hold comes first: it is
    /// mostly what they wait for.
    Spare: GlobalTurn, HighLane, LifoSlot, OwnRing, LifoSlot, Peers, AnyScope, InjectorOne, BackgroundLane, AnySlot;

    /// A `run` future. No sentinel watches for drivers, so it takes children whatever they are worth, and tasks out of the
    /// slots of workers.
    Driver: GlobalTurn, HighLane, InjectorByRound, OwnRing, Injector, Peers, AnyScope, BackgroundLane, AnySlot;

    /// A thread without a seat. What seats hold comes first: a thread that waits for a task mostly waits for one of these.
    Bystander: HighLane, Peers, Injector, AnyScope, BackgroundLane, AnySlot;

    /// A waiting worker that helps as the last resort, too deep in the help of others: what seats hold ends waits rather than
    /// adding one.
    HeldBySeats: Peers;

    /// What a worker looks for between two children of one scope.
    BetweenChildren: HighLane, LifoSlot, OwnRing, Injector, Peers, BackgroundLane;
}
