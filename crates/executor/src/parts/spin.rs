//! The short look around before a thread sleeps.

use std::time::Duration;

use terrace_sync::hint::spin_loop;
use terrace_sync::time::Instant;

use crate::tuned::{CALL, WAKE};

/// How long a thread looks around, at most.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Patience {
    /// No longer than one look takes: what comes next takes so long that a wake costs little beside it.
    Never,
    /// [`CALL`]: nothing is known of the next item.
    #[default]
    Short,
    /// [`WAKE`]: another thread is in the middle of what this one waits for, or has handed out a part of its work just now and is likely
    /// to hand out more.
    Long,
    /// 50 µs, the way of a woken thread back to its processor with room to spare: the thread has slept again and again for a few tasks
    /// each. See [`Naps`](super::naps::Naps).
    Nap,
}

impl Patience {
    fn most(self) -> Duration {
        match self {
            Self::Never => Duration::ZERO,
            Self::Short => CALL,
            Self::Long => WAKE,
            Self::Nap => Duration::from_micros(50),
        }
    }
}

/// Asks again and again whether `found`, for as long as `patience` says; true as soon as it is.
///
/// Looks in vain make none shorter. If they did, a lone remote task would find its worker asleep, and the
/// worker its waiter asleep. That costs ten times as much as the looks. Nor does it yield the thread after each look.
/// On a machine with idle cores a yield finds no more, and makes a lone task wait for the system call.
///
/// It pays only where the thread that brings the next item can run at the same time. A waker notes its processor in the
/// sleeper that it wakes (`terrace_sync::thread::LastProcessor`). Where that is the processor on which the woken thread is
/// now, the callers sleep at once: the kernel often puts a waiter and its only worker on one core. They also do where the awake
/// workers of the process fill its processors ([`has_room_for`](super::awake::has_room_for)).
pub(crate) fn spin(patience: Patience, found: impl Fn() -> bool) -> bool {
    spin_for(patience.most(), found)
}

/// Asks again and again whether `found`, for at most about `most`; true as soon as it is.
pub(crate) fn spin_for(most: Duration, found: impl Fn() -> bool) -> bool {
    // A page has one thread: no other thread brings it a task, and it has no clock.
    if cfg!(target_family = "wasm") {
        return false;
    }
    let start = Instant::now();
    loop {
        for _ in 0..16 {
            spin_loop();
        }
        if found() {
            return true;
        }
        if start.elapsed() >= most {
            return false;
        }
    }
}
