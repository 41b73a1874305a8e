//! The results of a publish, a timed park, a restricted wait.

use crate::token::Token;

/// What a publish did. [`Idle`](crate::Idle) has an example.
///
/// [`NoneParked`](Wake::NoneParked), [`Driver`](Wake::Driver) and [`WokeRestricted`](Wake::WokeRestricted) mean that no free
/// worker was asleep; the others do not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// A worker searches, and looks again before it stops. Or no worker can be woken, and an async driver will look: it
    /// searches, or it was notified and has not looked yet.
    Covered,
    /// This worker was parked. The publish has woken it, and it owns a token.
    Woke(usize),
    /// Every live worker waits for its own work. The publisher has woken this one as the last resort, and has notified
    /// a driver that was asleep.
    WokeRestricted(usize),
    /// No worker was asleep. An async driver was, and the publish has notified it.
    Driver,
    /// The sentinel watches, and looks again when its time-out runs out. Only from `publish_paced`.
    Watched,
    /// The publish woke no thread: a live worker runs and looks again before it sleeps, or no worker is live.
    NoneParked,
}

/// How a timed park ended. Either way the worker owns a token again.
/// [`Idle::park_as_sentinel`](crate::Idle::park_as_sentinel) has an example.
#[must_use = "the token inside must be given back to its Idle"]
#[derive(Debug)]
pub enum Woken {
    /// Another thread woke the worker, or work was visible.
    Unparked(Token),
    /// The time ran out.
    TimedOut(Token),
}

/// How a restricted wait ended. The worker owns no token.
/// [`Idle::wait_restricted`](crate::Idle::wait_restricted) has an example.
#[must_use = "the wait has ended, but not always because what was waited for is there"]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restricted {
    /// The worker saw what it waits for, or private work, and did not sleep.
    Ready,
    /// Another thread ended the wait. The worker looks at everything again, and waits again.
    Woken,
    /// Every live worker waits like this one, and work is visible. The worker starts a spare, or runs exactly one item.
    LastResort,
}
