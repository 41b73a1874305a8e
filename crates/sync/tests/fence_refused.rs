//! A sandbox that refuses the barrier: both pairs are symmetric although the asymmetric form was asked for.
//!
//! One test: both the forms and the sandbox are the process's.
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(miri)
))]

mod litmus;

use terrace_sync::{FenceKind, fence_kind, steal};
use terrace_testing::refuse_membarrier;

#[test]
fn a_refused_barrier_means_symmetric_fences() {
    refuse_membarrier();
    // SAFETY: the call takes integers only.
    let refused = unsafe { libc::syscall(libc::SYS_membarrier, 0, 0, 0) };
    assert_eq!(refused, -1, "the sandbox is in place");
    // SAFETY: the harness's other thread waits for this one, and reads no environment until it has
    // ended.
    unsafe { std::env::set_var("TERRACE_FENCE", "asymmetric") };
    // SAFETY: the same.
    unsafe { std::env::set_var("TERRACE_STEAL_FENCE", "asymmetric") };
    litmus::one_of_two_sees_the_other();
    assert_eq!(fence_kind(), FenceKind::Symmetric);
    // ThreadSanitizer sees full fences only, and the stealing pair takes the code of the other form there.
    assert!(cfg!(terrace_tsan) || steal::fence_kind() == FenceKind::Symmetric);
}
