//! The short look around before a thread sleeps.

use std::time::Duration;

use terrace_sync::hint::spin_loop;
use terrace_sync::time::Instant;

/// How long it may take, at most (invariant 8).
const SPIN: Duration = Duration::from_micros(5);

/// Asks again and again whether `found`, for at most [`SPIN`]; true as soon as it is.
///
/// Always as long: made shorter after looks in vain, a lone remote task finds its worker asleep, and the worker its
/// waiter, which costs ten times what the looks do. Nor with a yield of the thread after each look: on a machine that is
/// not full it finds as much, and a lone task waits for the system call.
pub(crate) fn spin(found: impl Fn() -> bool) -> bool {
    // The one thread of a page: no other thread brings it anything, and it has no clock.
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
        if start.elapsed() >= SPIN {
            return false;
        }
    }
}
