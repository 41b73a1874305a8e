//! The short look around before a thread sleeps.
//!
//! It pays where the next piece of work, or the end of a wait, mostly comes in less time than a sleep costs; elsewhere it
//! burns that time in vain. So it gets shorter with each look in a row that has not helped, down to a sixteenth, and every
//! sixteenth of these takes the whole time again.

use std::cell::Cell;
use std::time::Duration;

use terrace_sync::hint::spin_loop;
use terrace_sync::time::Instant;

/// How long a look may take, at most (invariant 8).
pub(crate) const SPIN: Duration = Duration::from_micros(5);

/// The look is halved so many times, at most.
const HALVINGS: u32 = 4;

/// Of looks that have not helped, every so many takes the whole time.
const RETRY: u32 = 16;

/// Remembers how the last looks of one thread have ended.
pub(crate) struct Spin {
    /// Looks in a row that have not helped.
    in_vain: Cell<u32>,
}

impl Spin {
    pub(crate) const fn new() -> Self {
        Self {
            in_vain: Cell::new(0),
        }
    }

    /// Looks for a while whether `found`; true as soon as it is.
    pub(crate) fn look(&self, found: impl Fn() -> bool) -> bool {
        let in_vain = self.in_vain.get();
        let limit = limit(in_vain);
        let start = Instant::now();
        loop {
            for _ in 0..16 {
                spin_loop();
            }
            if found() {
                self.in_vain.set(0);
                return true;
            }
            if start.elapsed() >= limit {
                self.in_vain.set(in_vain.wrapping_add(1));
                return false;
            }
        }
    }
}

/// How long a look may take after so many in vain.
fn limit(in_vain: u32) -> Duration {
    if in_vain % RETRY == 0 {
        SPIN
    } else {
        SPIN / (1 << in_vain.min(HALVINGS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_in_vain_get_shorter() {
        let limits: Vec<u128> = (0..18)
            .map(|n| SPIN.as_nanos() / limit(n).as_nanos())
            .collect();
        assert_eq!(limits[..6], [1, 2, 4, 8, 16, 16]);
        assert_eq!(limits[14..], [16, 16, 1, 16]);
    }

    #[test]
    fn one_that_helps_makes_the_next_long_again() {
        let spin = Spin::new();
        assert!(!spin.look(|| false));
        assert!(!spin.look(|| false));
        assert_eq!(spin.in_vain.get(), 2);
        assert!(spin.look(|| true));
        assert_eq!(spin.in_vain.get(), 0);
    }
}
