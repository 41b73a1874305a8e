//! A pool without threads. Alone in its program: threads that wait in other tests would drive it, too.
#![cfg(feature = "multi_threaded")]

use std::thread;

use terrace_tasks::{TaskPoolBuilder, block_on};
use terrace_testing::on_own_thread;

#[test]
fn a_pool_without_threads_runs_its_tasks_in_block_on_and_scopes() {
    on_own_thread(|| {
        let pool = TaskPoolBuilder::new().num_threads(0).build();
        let here = thread::current().id();
        assert_eq!(block_on(pool.spawn(async { thread::current().id() })), here);
        let task = pool.spawn(async { thread::current().id() });
        let ids = pool.scope(|scope| scope.spawn(task));
        assert_eq!(ids, [here]);
    });
}
