//! The asymmetric form of the pairs of fences, asked for by the environment. One test: the forms are the process's.

mod litmus;

use terrace_sync::{FenceKind, fence_kind, steal};

#[test]
fn asymmetric_fences_order_the_handshake() {
    // SAFETY: the harness's other thread waits for this one, and reads no environment until it has
    // ended.
    unsafe { std::env::set_var("TERRACE_FENCE", "asymmetric") };
    // SAFETY: the same.
    unsafe { std::env::set_var("TERRACE_STEAL_FENCE", "asymmetric") };
    litmus::one_of_two_sees_the_other();
    // ThreadSanitizer and Miri see full fences only. There the stealing pair says asymmetric by itself.
    let checked = cfg!(any(terrace_tsan, miri));
    // Wine is Windows without the barrier, and takes variables of the host by this name.
    let is_wine = cfg!(windows) && std::env::var_os("WINEPREFIX").is_some();
    let able =
        (cfg!(windows) && !is_wine) || (cfg!(target_os = "linux") && membarrier_is_allowed());
    assert_eq!(fence_kind(), kind(able && !checked));
    assert_eq!(steal::fence_kind(), kind(able || checked));
}

fn kind(asymmetric: bool) -> FenceKind {
    if asymmetric {
        FenceKind::Asymmetric
    } else {
        FenceKind::Symmetric
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
