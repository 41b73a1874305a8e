//! The word `gift`: a request, or a job that its owner gives away.

/// The state of the word.
///
/// | state | becomes | by |
/// |---|---|---|
/// | `NONE` | `ASKED` | a thief, compare-exchange |
/// | `ASKED` | given | the owner, store |
/// | `NONE` | given | the owner, unasked, swap: it answers a request that has come since its look |
/// | given | `NONE` | a thief that takes it, or the owner that takes it back, compare-exchange |
///
/// | bits | content |
/// |---|---|
/// | 1..0 | `NONE`, `ASKED`, or given |
/// | 21..2 | index of the job given |
/// | 63..22 | count of gifts: a word is never given twice |
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Gift(u64);

const STATE: u64 = 3;
const GIVEN: u64 = 2;
const INDEX_SHIFT: u32 = 2;
const COUNT_SHIFT: u32 = 22;

impl Gift {
    pub(super) const NONE: Self = Self(0);
    pub(super) const ASKED: Self = Self(1);

    /// The `count`th gift, the job of `index`.
    #[inline]
    pub(super) fn given(count: u64, index: u32) -> Self {
        Self(count << COUNT_SHIFT | u64::from(index) << INDEX_SHIFT | GIVEN)
    }

    #[inline]
    pub(super) fn unpack(word: u64) -> Self {
        Self(word)
    }

    #[inline]
    pub(super) fn pack(self) -> u64 {
        self.0
    }

    #[inline]
    pub(super) fn is_given(self) -> bool {
        self.0 & STATE == GIVEN
    }

    /// Whether the job of `index` is given.
    #[inline]
    pub(super) fn is_of(self, index: u32) -> bool {
        let below_count = (1 << COUNT_SHIFT) - 1;
        self.0 & below_count == Self::given(0, index).0
    }
}

#[cfg(all(test, not(any(terrace_loom, terrace_shuttle))))]
mod tests {
    use super::Gift;

    #[test]
    fn the_parts_of_the_word_are_apart() {
        for count in [0, 1, 1 << 41] {
            let gift = Gift::given(count, 16_384);
            assert!(gift.is_given() && gift.is_of(16_384) && !gift.is_of(16_383));
        }
        assert_ne!(Gift::given(1, 0).pack(), Gift::given(2, 0).pack());
        for gift in [Gift::NONE, Gift::ASKED] {
            assert!(!gift.is_given() && !gift.is_of(0));
        }
    }
}
