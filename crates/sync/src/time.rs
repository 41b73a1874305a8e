//! Reading clocks.

mod cpu;

pub use cpu::CpuClock;

#[cfg(not(any(terrace_loom, terrace_shuttle)))]
#[doc(no_inline)]
pub use std::time::Instant;

#[cfg(any(terrace_loom, terrace_shuttle))]
pub use modelled::Instant;

#[cfg(any(terrace_loom, terrace_shuttle))]
mod modelled {
    use std::cell::Cell;
    use std::time::Duration;

    /// The time that a reading of the clock takes, in modelled time.
    const STEP: Duration = Duration::from_micros(2);

    std::thread_local! {
        /// A checker runs the threads of an execution on one thread of the system.
        static NOW: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    }

    /// A point in time. Each reading of the clock, on any thread, is two microseconds after the one before, so that a
    /// schedule can be replayed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub struct Instant(Duration);

    impl Instant {
        /// The next point in time.
        pub fn now() -> Self {
            NOW.with(|now| {
                now.set(now.get() + STEP);
                Self(now.get())
            })
        }

        /// The time since then.
        pub fn elapsed(&self) -> Duration {
            Self::now().duration_since(*self)
        }

        /// The time from `earlier` to here; zero if that is later.
        pub fn duration_since(&self, earlier: Self) -> Duration {
            self.0.saturating_sub(earlier.0)
        }

        /// As [`duration_since`](Self::duration_since).
        pub fn saturating_duration_since(&self, earlier: Self) -> Duration {
            self.duration_since(earlier)
        }
    }

    impl std::ops::Sub for Instant {
        type Output = Duration;

        fn sub(self, earlier: Self) -> Duration {
            self.duration_since(earlier)
        }
    }
}
