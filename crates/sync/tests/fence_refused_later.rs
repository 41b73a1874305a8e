//! A sandbox that the process enters after the choice of its fences: a thief has no heavy fence, and lives on without.
//!
//! One test: both the forms and the sandbox are the process's.
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(miri)
))]

use terrace_sync::{FenceKind, steal};
use terrace_testing::refuse_membarrier;

#[test]
fn a_thief_is_told_that_the_barrier_is_refused() {
    assert!(steal::try_heavy());
    refuse_membarrier();
    let system = steal::fence_kind() == FenceKind::Asymmetric && !cfg!(terrace_tsan);
    assert_eq!(steal::try_heavy(), !system, "a full fence needs no system");
}
