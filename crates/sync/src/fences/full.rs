//! Two full fences: where no system call makes other threads fence, and where a checker has to see both.

use super::kind::FenceKind;
use crate::atomic::{Ordering, fence};

/// Whether a checker watches. It sees full fences only, and code has to take the way of the asymmetric form all the same.
const CHECKED: bool = cfg!(any(terrace_loom, terrace_shuttle, terrace_tsan, miri));

/// A pair of fences.
pub(super) struct Pair(FenceKind);

/// The pair behind sleeping and waking.
pub(super) static SLEEP: Pair = Pair(FenceKind::Symmetric);

/// The pair of owners of deques and thieves.
pub(super) static STEAL: Pair = Pair(if CHECKED {
    FenceKind::Asymmetric
} else {
    FenceKind::Symmetric
});

impl Pair {
    #[inline(always)]
    #[cfg_attr(terrace_loom, track_caller)]
    #[expect(clippy::unused_self, reason = "the other form has a choice in it")]
    pub(super) fn light(&self) {
        fence(Ordering::SeqCst);
    }

    #[inline(always)]
    #[cfg_attr(terrace_loom, track_caller)]
    #[expect(clippy::unused_self, reason = "the other form has a choice in it")]
    pub(super) fn heavy(&self) {
        fence(Ordering::SeqCst);
    }

    #[inline(always)]
    #[cfg_attr(terrace_loom, track_caller)]
    pub(super) fn try_heavy(&self) -> bool {
        self.heavy();
        true
    }

    pub(super) fn choose(&self) -> FenceKind {
        self.0
    }
}

/// Never: a full fence needs no system call.
#[inline(always)]
pub(super) fn is_refused() -> bool {
    false
}

/// See [`super::barriers`].
pub(super) fn barriers() -> usize {
    0
}

/// Binds the compiler only; a full fence where a checker watches.
#[inline(always)]
#[cfg_attr(terrace_loom, track_caller)]
pub(super) fn compiler_only() {
    if CHECKED {
        fence(Ordering::SeqCst);
    } else {
        core::sync::atomic::compiler_fence(Ordering::SeqCst);
    }
}
