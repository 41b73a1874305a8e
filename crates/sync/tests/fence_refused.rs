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

/// Installs a filter on this thread, and those that it starts, that lets every system call pass but `membarrier`.
fn refuse_membarrier() {
    let statement = |code: u32, value: u32| libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf: 0,
        k: value,
    };
    let number = libc::SYS_membarrier as u32;
    let mut program = [
        // The number of the system call is the first word of what a filter may look at.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
        libc::sock_filter {
            code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16,
            jt: 0,
            jf: 1,
            k: number,
        },
        statement(
            libc::BPF_RET | libc::BPF_K,
            libc::SECCOMP_RET_ERRNO | libc::EPERM as u32,
        ),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: the call takes integers only.
    let bound = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    assert_eq!(bound, 0, "no new privileges");
    // SAFETY: `filter` names a program of that length, both alive during the call, which copies them.
    let filtered = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &filter) };
    assert_eq!(filtered, 0, "the filter is installed");
}

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
