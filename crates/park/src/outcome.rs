//! What came of a publish, a timed park, a restricted wait.

use crate::Token;

/// What a publish did.
///
/// [`NoneParked`](Wake::NoneParked), [`Driver`](Wake::Driver) and [`WokeRestricted`](Wake::WokeRestricted) mean that no free
/// worker was asleep; the others do not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// A worker that serves the lane is searching, and will look again before it stops; or, where no worker can be woken,
    /// an async driver is, or was notified and has yet to look.
    Covered,
    /// This worker was parked and has been woken, owning a token.
    Woke(usize),
    /// Every live worker of the lane waits for its own work; this one was woken to do something about it, and a driver
    /// that was asleep was called, too.
    WokeRestricted(usize),
    /// No worker was asleep; an async driver was, and has been notified.
    Driver,
    /// A guard serves the lane; it looks again when its time-out runs out. Only from `publish_paced`.
    Guarded,
    /// Nobody to wake: some live worker is running, and looks again before it sleeps, or there is none.
    NoneParked,
}

/// How a timed park ended. Either way the worker owns a token again.
#[must_use = "the token inside must be given back to its Idle"]
#[derive(Debug)]
pub enum Woken {
    /// Somebody woke the worker, or work was visible.
    Unparked(Token),
    /// The time ran out.
    TimedOut(Token),
}

impl Woken {
    /// The token, however the sleep ended.
    pub fn into_token(self) -> Token {
        match self {
            Self::Unparked(token) | Self::TimedOut(token) => token,
        }
    }
}

/// How a restricted wait ended. The worker owns no token.
#[must_use = "the wait has ended, but not always because what was waited for is there"]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restricted {
    /// What was waited for, or an inlet of this worker, was visible; the worker did not sleep.
    Ready,
    /// Somebody ended the wait: the caller looks at everything again and waits again.
    Woken,
    /// Every live worker of some lane waits like this one, and work of that lane is visible: the
    /// caller starts a spare worker, or runs exactly one item.
    LastResort,
}
