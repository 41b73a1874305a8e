//! Delays at random places, under `--cfg terrace_jitter`: before read-modify-writes, fences, locks, parks and unparks.
//!
//! A window of a few instructions between two steps of a protocol is then often milliseconds wide. So a random program comes to
//! schedules within minutes that a busy machine shows once in hours.

use core::cell::Cell;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;

/// Of so many steps one yields, one in eight of these spins, and one in eight of those sleeps.
const YIELDS: u64 = 128;
/// How long a thread sleeps.
const NAP: Duration = Duration::from_micros(200);

/// The number of threads that have come here.
static THREADS: AtomicU64 = AtomicU64::new(1);

std::thread_local! {
    /// The state of this thread's random numbers, after Marsaglia's xorshift; never 0.
    static STATE: Cell<u64> = Cell::new(
        THREADS.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
    );
}

/// Delays the thread, seldom.
pub(crate) fn step() {
    // In destructors of thread-locals there may be no state any more.
    let Ok(random) = STATE.try_with(|state| {
        let mut x = state.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        state.set(x);
        x
    }) else {
        return;
    };
    if random % YIELDS != 0 {
        return;
    }
    match random / YIELDS % 64 {
        0 => std::thread::sleep(NAP),
        1..8 => (0..random % 4_096).for_each(|_| core::hint::spin_loop()),
        _ => std::thread::yield_now(),
    }
}
