//! The symmetric form of the pairs of fences, asked for by the environment. One test: the forms are the process's.

mod litmus;

use terrace_sync::{FenceKind, fence_kind, steal};

#[test]
fn symmetric_fences_order_the_handshake() {
    // SAFETY: the harness's other thread waits for this one, and reads no environment until it has
    // ended.
    unsafe { std::env::set_var("TERRACE_FENCE", "symmetric") };
    // SAFETY: the same.
    unsafe { std::env::set_var("TERRACE_STEAL_FENCE", "symmetric") };
    litmus::one_of_two_sees_the_other();
    assert_eq!(fence_kind(), FenceKind::Symmetric);
    // ThreadSanitizer and Miri see full fences only, and the stealing pair takes the code of the other form there.
    let checked = cfg!(any(terrace_tsan, miri));
    assert!(checked || steal::fence_kind() == FenceKind::Symmetric);
}
