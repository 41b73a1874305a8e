//! The state of one group of workers, packed into 64 bits.

use terrace_sync::weakened;

/// Workers that share one word. Fewer in models, where two groups are to stay small.
pub const GROUP_CAPACITY: usize = if cfg!(terrace_loom) { 4 } else { 24 };

/// Bits of a mask of workers.
const WIDTH: u32 = 24;

/// One group's state, as a value.
///
/// | bits   | field | meaning                                                            |
/// |--------|-------|--------------------------------------------------------------------|
/// | 0..24  | `P`   | worker *i* is parked and takes any work of its group               |
/// | 24..48 | `R`   | worker *i* waits, and is to be woken for its own work only         |
/// |        | both  | worker *i* sleeps, and another thread has its place, see `hold`    |
/// | 48     | `W`   | sleepers may be outside this word: other groups, async drivers     |
/// | 49..64 | `S`   | number of search tokens in existence: workers looking for work     |
///
/// Clearing a `P` bit always adds one to `S` (the worker that wakes owns that token); clearing an `R` bit never does. Only the worker
/// itself sets its bits, but for the `R` bit of a holder. `W` is never cleared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word(u64);

const R_SHIFT: u32 = WIDTH;
const W_SHIFT: u32 = 2 * WIDTH;
const S_SHIFT: u32 = W_SHIFT + 1;
const P_MASK: u64 = (1 << WIDTH) - 1;
const R_MASK: u64 = P_MASK << R_SHIFT;
const S_MASK: u64 = !(P_MASK | R_MASK | WIDE);
const S_ONE: u64 = 1 << S_SHIFT;

const _: () = assert!(GROUP_CAPACITY <= WIDTH as usize);
const _: () = assert!(P_MASK & R_MASK == 0 && (P_MASK | R_MASK) & WIDE == 0);
const _: () = assert!(
    S_MASK.count_ones() == 15,
    "one token a worker must fit in S"
);

/// The `W` bit.
pub(crate) const WIDE: u64 = 1 << W_SHIFT;

/// One search token, as an addend of the word.
pub(crate) const TOKEN: u64 = S_ONE;

/// The `P` bit of worker `bit`.
pub(crate) const fn parked_bit(bit: u32) -> u64 {
    1 << bit
}

/// The `R` bit of worker `bit`.
pub(crate) const fn restricted_bit(bit: u32) -> u64 {
    1 << (R_SHIFT + bit)
}

impl Word {
    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub(crate) const fn bits(self) -> u64 {
        self.0
    }

    const fn p(self) -> u32 {
        (self.0 & P_MASK) as u32
    }

    const fn r(self) -> u32 {
        ((self.0 & R_MASK) >> R_SHIFT) as u32
    }

    /// The workers in `P` alone: they can be woken for any work.
    pub(crate) const fn parked(self) -> u32 {
        self.p() & !self.r()
    }

    /// The workers in `R` alone.
    pub(crate) const fn restricted(self) -> u32 {
        self.r() & !self.p()
    }

    /// The workers in both: other threads have their places.
    pub(crate) const fn held(self) -> u32 {
        self.p() & self.r()
    }

    /// `S`.
    pub(crate) const fn searching(self) -> u32 {
        (self.0 >> S_SHIFT) as u32
    }

    /// Whether nothing sleeps, in this word or outside it, and no worker searches.
    pub(crate) const fn is_calm(self) -> bool {
        self.0 == 0
    }

    /// Whether a worker of this group sleeps, in whatever way.
    pub(crate) const fn any_asleep(self) -> bool {
        self.0 & (P_MASK | R_MASK) != 0
    }

    /// `W`.
    pub(crate) const fn is_wide(self) -> bool {
        self.0 & WIDE != 0
    }

    pub(crate) const fn is_parked(self, bit: u32) -> bool {
        self.parked() & (1 << bit) != 0
    }

    pub(crate) const fn is_restricted(self, bit: u32) -> bool {
        self.restricted() & (1 << bit) != 0
    }

    pub(crate) const fn is_held(self, bit: u32) -> bool {
        self.held() & (1 << bit) != 0
    }

    /// Whether the thread of a worker that has parked sleeps on: it is parked, or held.
    pub(crate) const fn sleeps(self, bit: u32) -> bool {
        self.0 & parked_bit(bit) != 0
    }

    /// The word after another thread took the place of a parked worker. No token goes with it.
    pub(crate) fn taken(self, bit: u32) -> Self {
        debug_assert!(self.is_parked(bit), "held a worker that is not parked");
        Self(self.0 | restricted_bit(bit))
    }

    /// The word after every worker in `parked` was woken: their `P` bits clear, one token for each.
    pub(crate) fn unparked(self, parked: u32) -> Self {
        debug_assert!(
            self.parked() & parked == parked,
            "woke a worker that is not parked"
        );
        let tokens = if weakened!("park-claim-no-token") {
            0
        } else {
            u64::from(parked.count_ones())
        };
        Self((self.0 & !u64::from(parked)) + tokens * S_ONE)
    }

    /// The word after the waits of every worker in `restricted` were ended: their `R` bits clear.
    pub(crate) fn released(self, restricted: u32) -> Self {
        debug_assert!(
            self.restricted() & restricted == restricted,
            "released a worker that does not wait"
        );
        let tokens = if weakened!("park-release-token") {
            u64::from(restricted.count_ones())
        } else {
            0
        };
        Self((self.0 & !(u64::from(restricted) << R_SHIFT)) + tokens * S_ONE)
    }

    /// The word with one token more.
    pub(crate) fn with_token(self) -> Self {
        Self(self.0 + S_ONE)
    }
}

impl std::fmt::Debug for Word {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "P {:024b} R {:024b} W {} S {}",
            self.parked(),
            self.restricted(),
            u8::from(self.is_wide()),
            self.searching()
        )
    }
}

/// The lowest `count` set bits of `mask`.
pub(crate) fn lowest(mask: u32, count: usize) -> u32 {
    let mut rest = mask;
    for _ in 0..count {
        rest &= rest.wrapping_sub(1);
    }
    mask & !rest
}

/// The highest set bit of `mask`.
pub(crate) fn highest(mask: u32) -> Option<u32> {
    mask.checked_ilog2()
}

/// The positions of the set bits of `mask`, lowest first.
pub(crate) fn bits_of(mask: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(mask), |rest| Some(rest & rest.wrapping_sub(1)))
        .take_while(|rest| *rest != 0)
        .map(u32::trailing_zeros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_overlap_and_cover_the_word() {
        let all_p = (0..24).fold(0, |w, i| w | parked_bit(i));
        let all_r = (0..24).fold(0, |w, i| w | restricted_bit(i));
        assert_eq!(all_p, 0x0000_0000_00ff_ffff);
        assert_eq!(all_r, 0x0000_ffff_ff00_0000);
        let word = Word::from_bits(all_p | (24 * TOKEN));
        assert_eq!(word.parked(), 0xff_ffff);
        assert_eq!(Word::from_bits(all_r).restricted(), 0xff_ffff);
        assert_eq!(word.searching(), 24);
        assert!(!word.is_wide() && Word::from_bits(WIDE).is_wide());
        assert_eq!(Word::from_bits(WIDE).searching(), 0);
    }

    #[test]
    fn waking_adds_a_token_and_releasing_does_not() {
        let word = Word::from_bits(parked_bit(1) | parked_bit(23) | restricted_bit(4));
        let woken = word.unparked(1 << 23);
        assert_eq!(woken.bits(), parked_bit(1) | restricted_bit(4) | TOKEN);
        let both = word.unparked(word.parked());
        assert_eq!(both.bits(), restricted_bit(4) | (2 * TOKEN));
        let released = both.released(1 << 4);
        assert_eq!(released.bits(), 2 * TOKEN);
        assert_eq!(released.with_token().searching(), 3);
    }

    #[test]
    fn a_held_worker_is_neither_parked_nor_restricted_and_sleeps() {
        let parked = Word::from_bits(parked_bit(3) | parked_bit(5) | restricted_bit(7) | WIDE);
        let word = parked.taken(5);
        assert_eq!(word.parked(), 1 << 3);
        assert_eq!(word.restricted(), 1 << 7);
        assert_eq!(word.held(), 1 << 5);
        assert!(word.sleeps(5) && word.is_held(5) && !word.is_held(3));
        assert_eq!(word.searching(), 0);
    }

    #[test]
    fn lowest_bits() {
        assert_eq!(lowest(0b1011_0100, 0), 0);
        assert_eq!(lowest(0b1011_0100, 1), 0b100);
        assert_eq!(lowest(0b1011_0100, 2), 0b1_0100);
        assert_eq!(lowest(0b11, 5), 0b11);
        assert_eq!(bits_of(0b1001_0010).collect::<Vec<_>>(), [1, 4, 7]);
        assert_eq!(bits_of(0).count(), 0);
    }
}
