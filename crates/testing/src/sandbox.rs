//! A sandbox that refuses the barrier.

/// Installs a filter on this thread, and those that it starts, that lets every system call pass but `membarrier`.
/// # Panics
/// If the system refuses the filter.
pub fn refuse_membarrier() {
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
    let filtered = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_TSYNC,
            &raw const filter,
        )
    };
    assert_eq!(filtered, 0, "the filter is installed");
}
