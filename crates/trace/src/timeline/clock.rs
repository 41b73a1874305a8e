//! The clock of records.
//!
//! On x86_64 `rdtsc`, if the processor says that its counter is invariant: it then runs at one rate, in all sleep states, and the system keeps
//! the counters of all cores together. Elsewhere nanoseconds of the system's monotonic clock.

use std::time::Duration;

use terrace_sync::OnceLock;
use terrace_sync::time::Instant;

/// Two readings that are this far apart tell the rate to one part in ten thousand and better.
const CALIBRATION: Duration = Duration::from_millis(10);

/// Both clocks at one time.
#[derive(Clone, Copy)]
pub(crate) struct Reading {
    ticks: u64,
    at: Instant,
}

static FIRST: OnceLock<Reading> = OnceLock::new();

/// The first reading of the process.
fn first() -> Reading {
    *FIRST.get_or_init(|| Reading {
        ticks: counter::now().unwrap_or(0),
        at: Instant::now(),
    })
}

/// Which clock the process uses, and since when.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    counts: bool,
    first: Reading,
}

impl Clock {
    /// The clock of the process.
    pub(crate) fn new() -> Self {
        Self {
            first: first(),
            counts: counter::now().is_some(),
        }
    }

    /// The time in ticks.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        if self.counts {
            counter::read()
        } else {
            self.first.at.elapsed().as_nanos() as u64
        }
    }

    /// Nanoseconds a tick. Waits until the process is old enough to tell.
    pub(crate) fn rate(&self) -> f64 {
        if !self.counts {
            return 1.0;
        }
        if let Some(early) = CALIBRATION.checked_sub(self.first.at.elapsed()) {
            std::thread::sleep(early);
        }
        let ticks = counter::read().wrapping_sub(self.first.ticks);
        self.first.at.elapsed().as_nanos() as f64 / ticks.max(1) as f64
    }
}

#[cfg(all(target_arch = "x86_64", not(any(terrace_loom, terrace_shuttle))))]
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

#[cfg(not(all(target_arch = "x86_64", not(any(terrace_loom, terrace_shuttle)))))]
mod counter {
    pub(super) fn now() -> Option<u64> {
        None
    }

    pub(super) fn read() -> u64 {
        0
    }
}
