//! The symmetric form of the pair of fences, asked for by the environment. One test: the form is the process's.

mod litmus;

use terrace_sync::{FenceKind, fence_kind};

#[test]
fn symmetric_fences_order_the_handshake() {
    // SAFETY: the harness's other thread waits for this one, and reads no environment until it has
    // ended.
    unsafe { std::env::set_var("TERRACE_FENCE", "symmetric") };
    litmus::one_of_two_sees_the_other();
    assert_eq!(fence_kind(), FenceKind::Symmetric);
}
