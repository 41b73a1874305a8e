//! The packed head of a ring.

/// The two positions a thief and the owner compete for, in one word.
///
/// | bits | name | meaning |
/// |---|---|---|
/// | 0..32 | `real` | next position to be taken |
/// | 32..64 | `steal` | first position whose slot may still be read by a thief |
///
/// Positions run over all of `u32` and wrap; a position's slot is its value modulo the capacity.
/// `steal != real` means that one thief is copying the positions from `steal` up to the `real` it set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) steal: u32,
    pub(super) real: u32,
}

impl Head {
    const STEAL_SHIFT: u32 = 32;

    /// No thief is copying; `position` is the next one to be taken.
    #[inline]
    pub(super) const fn idle(position: u32) -> Self {
        Self {
            steal: position,
            real: position,
        }
    }

    /// Whether a thief is copying.
    #[inline]
    pub(super) const fn stealing(self) -> bool {
        self.steal != self.real
    }

    #[inline]
    pub(super) const fn unpack(word: u64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "each half is taken on its own"
        )]
        Self {
            steal: (word >> Self::STEAL_SHIFT) as u32,
            real: word as u32,
        }
    }

    #[inline]
    pub(super) const fn pack(self) -> u64 {
        (self.steal as u64) << Self::STEAL_SHIFT | self.real as u64
    }

    /// The owner takes `n` positions. With a thief at work only `real` moves: `steal` is the thief's.
    #[inline]
    pub(super) const fn take(self, n: u32) -> Self {
        let real = self.real.wrapping_add(n);
        if self.stealing() {
            Self {
                steal: self.steal,
                real,
            }
        } else {
            Self::idle(real)
        }
    }

    /// A thief claims `n` positions: they stay between `steal` and `real` until it is done.
    #[inline]
    pub(super) const fn claim(self, n: u32) -> Self {
        Self {
            steal: self.steal,
            real: self.real.wrapping_add(n),
        }
    }

    /// The thief is done: the slots up to the present `real` belong to the owner again.
    #[inline]
    pub(super) const fn release(self) -> Self {
        Self::idle(self.real)
    }
}

#[cfg(test)]
mod tests {
    use super::Head;

    #[test]
    fn halves_do_not_overlap() {
        assert_eq!(
            Head {
                steal: u32::MAX,
                real: 0
            }
            .pack(),
            0xFFFF_FFFF_0000_0000
        );
        assert_eq!(
            Head {
                steal: 0,
                real: u32::MAX
            }
            .pack(),
            0x0000_0000_FFFF_FFFF
        );
        for head in [
            Head { steal: 1, real: 2 },
            Head {
                steal: u32::MAX,
                real: 7,
            },
            Head::idle(9),
        ] {
            assert_eq!(Head::unpack(head.pack()), head);
        }
    }

    #[test]
    fn transitions_wrap() {
        let head = Head::idle(u32::MAX);
        let claimed = head.claim(2);
        assert_eq!(
            claimed,
            Head {
                steal: u32::MAX,
                real: 1
            }
        );
        assert!(claimed.stealing());
        assert_eq!(
            claimed.take(1),
            Head {
                steal: u32::MAX,
                real: 2
            }
        );
        assert_eq!(claimed.take(1).release(), Head::idle(2));
        assert_eq!(head.take(1), Head::idle(0));
    }
}
