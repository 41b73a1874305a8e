//! Waiting for all tasks in a sandbox that the process has entered after its first executor: no barrier makes the threads of
//! workers see the waiter.
//!
//! One test: the sandbox is the process's.
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(miri)
))]

use std::time::Duration;

use terrace_executor::{Builder, Executor, Shutdown};
use terrace_testing::{Random, Yields, refuse_membarrier, watchdog};

#[test]
fn a_wait_for_all_tasks_ends_where_the_barrier_is_refused() {
    let _watchdog = watchdog();
    let executors: Vec<Executor<'static>> = [0, 1, 3]
        .map(|workers| Builder::new().workers(workers).build())
        .into();
    refuse_membarrier();
    let mut random = Random::new(1);
    for executor in &executors {
        for _ in 0..200 {
            for _ in 0..random.below(5) {
                executor.spawn(Yields(random.below(3) as u32)).detach();
            }
            executor.wait_idle(None).expect("there is no limit");
            assert_eq!(executor.metrics().num_alive_tasks(), 0);
        }
        let pending = executor.spawn(std::future::pending::<()>());
        let error = executor
            .wait_idle(Some(Duration::from_millis(5)))
            .expect_err("a task waits for ever");
        assert_eq!(error.tasks(), 1);
        drop(pending);
        executor.shutdown(Shutdown::FinishAll, None).unwrap();
    }
}
