//! The word `top`: where thieves take.

/// The bits of the word.
///
/// | bits | content |
/// |---|---|
/// | 63 | the mark: the owner has to fence |
/// | 62..44 | index of the oldest job |
/// | 43..0 | epoch |
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Top(u64);

const MARK: u64 = 1 << 63;
const SHIFT: u32 = 44;
const EPOCH: u64 = (1 << SHIFT) - 1;

impl Top {
    /// The index 0 in the first epoch.
    pub(super) fn start(marked: bool) -> Self {
        Self(if marked { MARK } else { 0 })
    }

    #[inline(always)]
    pub(super) fn unpack(word: u64) -> Self {
        Self(word)
    }

    #[inline(always)]
    pub(super) fn pack(self) -> u64 {
        self.0
    }

    #[inline(always)]
    #[cfg(not(terrace_loom))]
    pub(super) fn is_marked(self) -> bool {
        self.0 & MARK != 0
    }

    /// Whether the index lies below `index`, and there is no mark. The mark lies above every index, so that one comparison tells both. The
    /// shift is that of this word, as the caller needs its own index once more.
    #[inline(always)]
    pub(super) fn is_unmarked_below(self, index: u32) -> bool {
        self.0 >> SHIFT < u64::from(index)
    }

    #[inline]
    pub(super) fn index(self) -> u32 {
        ((self.0 & !MARK) >> SHIFT) as u32
    }

    /// The next job is the oldest one, in the same epoch.
    #[inline]
    pub(super) fn next(self) -> Self {
        Self(self.0 + (1 << SHIFT))
    }

    /// An empty deque whose next push gets `index`, in a new epoch. The mark stays.
    #[inline]
    pub(super) fn renewed(self, index: u32) -> Self {
        let epoch = (self.0 + 1) & EPOCH;
        Self(self.0 & MARK | u64::from(index) << SHIFT | epoch)
    }

    /// As [`renewed`](Self::renewed), in the same epoch.
    #[inline]
    pub(super) fn moved(self, index: u32) -> Self {
        Self(self.0 & (MARK | EPOCH) | u64::from(index) << SHIFT)
    }
}

#[cfg(all(test, not(any(terrace_loom, terrace_shuttle))))]
mod tests {
    use super::{EPOCH, MARK, SHIFT, Top};

    #[test]
    fn the_parts_of_the_word_are_apart() {
        assert_eq!(MARK & EPOCH, 0);
        for marked in [false, true] {
            let top = Top::start(marked).next().next();
            assert_eq!((top.index(), top.is_marked()), (2, marked));
            let top = top.renewed(7);
            assert_eq!((top.index(), top.is_marked()), (7, marked));
            assert_eq!(top.pack() & EPOCH, 1);
            assert_eq!(top.is_unmarked_below(8), !marked);
            assert!(!top.is_unmarked_below(7));
            assert_eq!(top.moved(3).pack() & EPOCH, 1);
        }
    }

    #[test]
    fn the_last_epoch_is_followed_by_the_first() {
        let last = Top::unpack(MARK | 5 << SHIFT | EPOCH);
        assert_eq!(last.renewed(5).pack(), MARK | 5 << SHIFT);
    }
}
