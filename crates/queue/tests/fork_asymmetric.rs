//! Owner and thieves of a fork deque against each other, with the asymmetric pair of fences. One test: the form is the process's.
#![cfg(not(any(terrace_loom, terrace_shuttle)))]

mod fork_stress;

use terrace_sync::{FenceKind, steal};

#[test]
fn each_job_is_run_once() {
    // SAFETY: the harness's other thread waits for this one, and reads no environment until it has
    // ended.
    unsafe { std::env::set_var("TERRACE_STEAL_FENCE", "asymmetric") };
    if steal::fence_kind() == FenceKind::Symmetric {
        eprintln!("the system has no barrier for all threads: this runs the symmetric form");
    }
    fork_stress::each_job_is_run_once(FenceKind::Asymmetric);
}
