//! The clock of records.
//!
//! On x86_64 `rdtsc`, if the processor says that its counter is invariant: it then runs at one rate, in all sleep states, and the system keeps
//! the counters of all cores together. Elsewhere nanoseconds of the system's monotonic clock.

use std::time::Duration;

use terrace_sync::OnceLock;
use terrace_sync::time::Instant;

/// Two readings that are this far apart tell the rate to one part in ten thousand and better.
const CALIBRATION: Duration = Duration::from_millis(10);

/// The clock of the process, and its first reading.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    /// What the counter said, if it is the clock.
    ticks: Option<u64>,
    /// When that was.
    at: Instant,
}

static CLOCK: OnceLock<Clock> = OnceLock::new();

impl Clock {
    /// The clock of the process.
    pub(crate) fn new() -> Self {
        *CLOCK.get_or_init(|| Self {
            ticks: counter::now(),
            at: Instant::now(),
        })
    }

    /// The time in ticks.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        match self.ticks {
            Some(_) => counter::read(),
            None => self.at.elapsed().as_nanos() as u64,
        }
    }

    /// Nanoseconds a tick. Waits until the process is old enough to tell.
    pub(crate) fn rate(&self) -> f64 {
        let Some(first) = self.ticks else {
            return 1.0;
        };
        if let Some(early) = CALIBRATION.checked_sub(self.at.elapsed()) {
            std::thread::sleep(early);
        }
        let ticks = counter::read().wrapping_sub(first);
        self.at.elapsed().as_nanos() as f64 / ticks.max(1) as f64
    }
}

#[cfg(target_arch = "x86_64")]
mod counter {
    use core::arch::x86_64::{__cpuid, _rdtsc, CpuidResult};

    /// The leaf with the properties of the counter, and the bit that says it is invariant.
    const LEAF: u32 = 0x8000_0007;
    const INVARIANT: u32 = 1 << 8;

    /// The counter, if it is a clock.
    pub(super) fn now() -> Option<u64> {
        // Safe in later versions of Rust.
        let cpuid: unsafe fn(u32) -> CpuidResult = __cpuid;
        // SAFETY: each x86_64 processor has the instruction.
        let highest = unsafe { cpuid(LEAF & !0xFFFF) }.eax;
        if highest < LEAF {
            return None;
        }
        // SAFETY: as above, and the processor has this leaf.
        let properties = unsafe { cpuid(LEAF) }.edx;
        (properties & INVARIANT != 0).then(read)
    }

    #[inline(always)]
    pub(super) fn read() -> u64 {
        // SAFETY: each x86_64 processor has the instruction. Systems leave it on for programs, whose clocks use it.
        unsafe { _rdtsc() }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod counter {
    pub(super) fn now() -> Option<u64> {
        None
    }

    pub(super) fn read() -> u64 {
        0
    }
}
