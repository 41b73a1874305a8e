//! The asymmetric form of the pair of fences, asked for by the environment. One test: the form is the process's.

mod litmus;

use terrace_sync::{FenceKind, fence_kind};

#[test]
fn asymmetric_fences_order_the_handshake() {
    // SAFETY: the harness's other thread waits for this one, and reads no environment until it has
    // ended.
    unsafe { std::env::set_var("TERRACE_FENCE", "asymmetric") };
    litmus::one_of_two_sees_the_other();
    let able = cfg!(target_os = "linux") && !cfg!(terrace_tsan) && !cfg!(miri);
    if able && membarrier_is_allowed() {
        assert_eq!(fence_kind(), FenceKind::Asymmetric);
    } else {
        assert_eq!(fence_kind(), FenceKind::Symmetric);
    }
}

/// Whether the system under test has the call at all, by its answer to a query.
#[cfg(all(target_os = "linux", not(miri)))]
fn membarrier_is_allowed() -> bool {
    // SAFETY: the call takes integers only.
    unsafe { libc::syscall(libc::SYS_membarrier, 0, 0, 0) >= 0 }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn membarrier_is_allowed() -> bool {
    false
}
