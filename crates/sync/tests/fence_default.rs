//! The forms of the two pairs where the environment asks for none. One test: the forms are the process's.
#![cfg(all(target_os = "linux", not(miri)))]

use terrace_sync::{FenceKind, fence_kind, heavy, light, steal};

#[test]
fn only_the_stealing_pair_is_asymmetric_by_default() {
    for variable in ["TERRACE_FENCE", "TERRACE_STEAL_FENCE"] {
        // SAFETY: the harness's other thread waits for this one, and reads no environment until it has
        // ended.
        unsafe { std::env::remove_var(variable) };
    }
    // Each pair makes its own choice, whichever fences first.
    heavy();
    light();
    steal::heavy();
    steal::light();
    assert_eq!(fence_kind(), FenceKind::Symmetric);
    // SAFETY: the call takes integers only.
    let able = unsafe { libc::syscall(libc::SYS_membarrier, 0, 0, 0) >= 0 };
    let wanted = if able || cfg!(terrace_tsan) {
        FenceKind::Asymmetric
    } else {
        FenceKind::Symmetric
    };
    assert_eq!(steal::fence_kind(), wanted);
}
