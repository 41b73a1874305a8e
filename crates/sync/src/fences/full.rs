//! Two full fences: where no system call makes other threads fence, and where a checker has to see both.

use super::kind::FenceKind;
use crate::atomic::{Ordering, fence};

#[inline(always)]
#[cfg_attr(terrace_loom, track_caller)]
pub(super) fn light() {
    fence(Ordering::SeqCst);
}

#[inline(always)]
#[cfg_attr(terrace_loom, track_caller)]
pub(super) fn heavy() {
    fence(Ordering::SeqCst);
}

pub(super) fn choose() -> FenceKind {
    FenceKind::Symmetric
}
