//! Which form a pair of fences takes: chosen once, by its first heavy fence.
//!
//! DESIGN.md of the crate argues why no light fence of one form ever meets a heavy fence of the other.

use super::kind::FenceKind;
use crate::atomic::Ordering;

// It does not count its operations: only the first one of a process makes the choice.
#[cfg(terrace_loom)]
use crate::atomic::AtomicU32;
#[cfg(not(terrace_loom))]
use core::sync::atomic::AtomicU32;

const UNKNOWN: u32 = 0;
const SYMMETRIC: u32 = 1;
const ASYMMETRIC: u32 = 2;

/// The choice, and the two questions that fences ask of it.
///
/// | state | a light fence is | a heavy fence |
/// |---|---|---|
/// | `UNKNOWN` | full | chooses first: one compare-exchange, the first one's choice stands |
/// | `SYMMETRIC` | full | is full |
/// | `ASYMMETRIC` | the compiler's | makes all threads fence |
#[derive(Debug, Default)]
pub struct Choice {
    state: AtomicU32,
}

impl Choice {
    const_fn! {
        /// Nothing chosen yet.
        pub const fn new() -> Self {
            Self { state: AtomicU32::new(UNKNOWN) }
        }
    }

    /// The form of a light fence. Never [`Asymmetric`](FenceKind::Asymmetric) unless that is the choice.
    #[inline(always)]
    pub fn light(&self) -> FenceKind {
        // Ordering: Relaxed; an old value means a full fence, which is right with any choice.
        match self.state.load(Ordering::Relaxed) {
            ASYMMETRIC => FenceKind::Asymmetric,
            _ => FenceKind::Symmetric,
        }
    }

    /// The form of a heavy fence: always the choice itself, which `decide` makes here if none is made.
    #[inline]
    pub fn heavy(&self, decide: impl FnOnce() -> FenceKind) -> FenceKind {
        // Ordering: Acquire pairs with the Release of the choice: `decide` has made its preparations.
        match self.state.load(Ordering::Acquire) {
            SYMMETRIC => FenceKind::Symmetric,
            ASYMMETRIC => FenceKind::Asymmetric,
            _ => self.choose(decide()),
        }
    }

    /// Chooses `wanted`, unless another thread was faster.
    #[cold]
    fn choose(&self, wanted: FenceKind) -> FenceKind {
        let state = match wanted {
            FenceKind::Symmetric => SYMMETRIC,
            FenceKind::Asymmetric => ASYMMETRIC,
        };
        if weakened!("sync-choice-overwritten") {
            self.state.store(state, Ordering::Release);
            return wanted;
        }
        // Ordering: Release publishes the preparations of `decide`; Acquire sees those of the thread that was faster.
        let (set, found) = if weakened!("sync-choice-relaxed") {
            (Ordering::Relaxed, Ordering::Relaxed)
        } else {
            (Ordering::AcqRel, Ordering::Acquire)
        };
        let chosen = self.state.compare_exchange(UNKNOWN, state, set, found);
        if weakened!("sync-choice-unresolved") {
            return FenceKind::Symmetric;
        }
        match chosen.map_or_else(|found| found, |_| state) {
            ASYMMETRIC => FenceKind::Asymmetric,
            _ => FenceKind::Symmetric,
        }
    }
}
