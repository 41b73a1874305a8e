//! Random choices out of a seed.

use std::time::Duration;

/// Steele, Lea and Flood's SplitMix64: the same numbers on every run.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Choices that the seed decides.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Choices of their own, decided by this one's next.
    #[must_use]
    pub fn split(&mut self) -> Self {
        Self(self.number())
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is small and not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.number() % bound as u64) as usize
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of `choices`.
    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// Fewer microseconds than `bound`.
    pub fn micros(&mut self, bound: usize) -> Duration {
        Duration::from_micros(self.below(bound) as u64)
    }
}
