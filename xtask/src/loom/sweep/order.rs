//! Orderings, and what each may be weakened to.

use std::fmt;

/// An ordering of an access or a fence.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Order {
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    SeqCst,
}

const NAMES: [(&str, Order); 5] = [
    ("Relaxed", Order::Relaxed),
    ("Acquire", Order::Acquire),
    ("Release", Order::Release),
    ("AcqRel", Order::AcqRel),
    ("SeqCst", Order::SeqCst),
];

impl Order {
    pub(super) fn named(name: &str) -> Option<Self> {
        let found = NAMES.iter().find(|(n, _)| *n == name);
        found.map(|(_, order)| *order)
    }

    /// The next weaker ones: whatever sees one of these missing sees more missing, too.
    pub(super) fn weaker(self) -> &'static [Self] {
        match self {
            Self::Relaxed => &[],
            Self::Acquire | Self::Release => &[Self::Relaxed],
            Self::AcqRel => &[Self::Acquire, Self::Release],
            Self::SeqCst => &[Self::AcqRel],
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = NAMES.iter().find(|(_, order)| order == self);
        f.write_str(found.map_or("?", |(name, _)| name))
    }
}
