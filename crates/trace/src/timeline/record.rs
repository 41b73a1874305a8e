//! What the second word of a record says.
//!
//! | kind | payload | written by |
//! |---|---|---|
//! | `Spawned` | task | the thread that spawns it |
//! | `Woken`, `WokenInPoll` | task | the thread that queues it, which has woken it, or has polled it while it was woken |
//! | `QueuedHigh`, `QueuedBackground` | task | the same thread, next: the task goes to that lane |
//! | `Poll` | task | the thread that begins to poll it. Right after its `Spawned`: an eager task |
//! | `PollEnd` | task | the same thread |
//! | `Begin`, `End` | a [`Span`] | the thread that is inside |
//! | `Steal` | number of tasks | the thief |
//! | `Park`, `Unpark` | 0 | the thread that sleeps |
//! | `WakeWorker` | index of the worker | the thread that wakes it |
//! | `Name` | site | the thread that polls a task with a name, in the poll |
//!
//! A thread ends what it began last. The beginning may be overwritten, and the end not there yet.

use crate::span::Span;

/// Bits of a task's number.
pub(crate) const NUMBER_BITS: u32 = 40;
/// Above the payload.
const KIND_SHIFT: u32 = 56;
/// What a `Begin` or `End` may be of.
const SPANS: [Span; 4] = [Span::Scope, Span::Join, Span::Job, Span::Blocking];
/// Of the payload.
const PAYLOAD: u64 = (1 << KIND_SHIFT) - 1;

macro_rules! kinds {
    ($($name:ident = $value:literal),+ $(,)?) => {
        /// The kind of a record.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Kind {
            $($name = $value),+
        }

        impl Kind {
            fn of(value: u64) -> Option<Self> {
                match value {
                    $($value => Some(Self::$name),)+
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    Spawned = 1,
    Woken = 2,
    WokenInPoll = 3,
    Poll = 4,
    PollEnd = 5,
    QueuedHigh = 6,
    QueuedBackground = 7,
    Steal = 8,
    Park = 9,
    Unpark = 10,
    WakeWorker = 11,
    Begin = 12,
    End = 13,
    Name = 14,
}

/// The second word of a record.
#[inline]
pub(crate) fn word(kind: Kind, payload: u64) -> u64 {
    (kind as u64) << KIND_SHIFT | payload & PAYLOAD
}

/// The kind and the payload of a second word. `None` if no record of this version has it.
pub(crate) fn unpack(word: u64) -> Option<(Kind, u64)> {
    Some((Kind::of(word >> KIND_SHIFT)?, word & PAYLOAD))
}

/// The payload of a task.
#[inline]
pub(crate) fn task(number: u64, site: u16) -> u64 {
    u64::from(site) << NUMBER_BITS | number & ((1 << NUMBER_BITS) - 1)
}

/// The number of a task.
pub(crate) fn number(payload: u64) -> u64 {
    payload & ((1 << NUMBER_BITS) - 1)
}

/// The site of a task, or the one in a `Name`.
pub(crate) fn site(payload: u64) -> u16 {
    (payload >> NUMBER_BITS) as u16
}

/// The span of a `Begin` or `End`.
pub(crate) fn span(payload: u64) -> Option<Span> {
    SPANS.into_iter().find(|span| *span as u64 == payload)
}

#[cfg(test)]
mod tests {
    use super::{Kind, SPANS, number, site, span, task, unpack, word};

    #[test]
    fn what_is_packed_comes_out_again() {
        let payload = task((1 << 40) - 1, u16::MAX);
        assert_eq!(
            unpack(word(Kind::Poll, payload)),
            Some((Kind::Poll, payload))
        );
        assert_eq!((number(payload), site(payload)), ((1 << 40) - 1, u16::MAX));
        assert_eq!(number(task(1 << 40, 3)), 0, "numbers begin anew");
        for of in SPANS {
            assert_eq!(span(of as u64), Some(of));
        }
        assert_eq!(unpack(0), None);
        assert_eq!(unpack(255 << 56), None);
        assert_eq!(span(0), None);
    }
}
