//! A process that forks while it has a pool: the child has the calling thread alone, and makes pools of its own.
//!
//! ThreadSanitizer lets no thread start in the child of a process with several threads.
#![cfg(all(target_os = "linux", not(any(miri, terrace_tsan))))]

use std::time::Duration;

use terrace_executor::{Builder, Executor, Shutdown, block_on};
use terrace_testing::watchdog;

/// The exit code of a child that has come to its end.
const CODE: i32 = 7;

/// Spawns tasks, and awaits them.
fn sums(pool: &Executor<'static>) -> u64 {
    let tasks: Vec<_> = (1..=100_u64)
        .map(|n| pool.spawn(async move { n }))
        .collect();
    tasks.into_iter().map(block_on).sum()
}

/// What the child does with the pool of its parent, and with one of its own.
fn child(parents: &Executor<'static>) {
    parents.spawn(async {}).detach();
    let waited = parents.wait_idle(Some(Duration::from_millis(1)));
    assert!(waited.is_err(), "the child has no worker of that pool");

    let own = Builder::new().workers(2).build();
    assert_eq!(sums(&own), 5050);
    let (a, b) = own.join(|_| 6, |_| 7);
    assert_eq!(a * b, 42);
    own.shutdown(Shutdown::FinishAll, None)
        .expect("it has ended");
}

#[test]
fn a_child_makes_pools_of_its_own_and_the_parents_stay_whole() {
    let _watchdog = watchdog();
    let pool = Builder::new().workers(2).build();
    assert_eq!(sums(&pool), 5050);
    // A thread that sleeps holds no lock that the child would find locked.
    while !format!("{pool:?}").contains("awake: 0") {
        std::thread::yield_now();
    }
    // SAFETY: no other thread holds a lock that the child takes, see above; the system's allocator sees to its own.
    let process = unsafe { libc::fork() };
    if process == 0 {
        // SAFETY: the call takes a number. It ends a child that hangs: the watchdog is a thread of the parent alone.
        unsafe { libc::alarm(60) };
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| child(&pool)));
        let code = if ended.is_ok() { CODE } else { 1 };
        // SAFETY: the call takes a number, and ends the process without the destructors of the parent's state.
        unsafe { libc::_exit(code) };
    }
    assert!(process > 0, "the system forks");
    let mut status = 0;
    // SAFETY: the number is that of a child, and the status has room.
    let ended = unsafe { libc::waitpid(process, &raw mut status, 0) };
    assert_eq!(ended, process);
    assert!(
        libc::WIFEXITED(status),
        "the child ends by itself: {status}"
    );
    assert_eq!(libc::WEXITSTATUS(status), CODE);
    assert_eq!(sums(&pool), 5050);
}
