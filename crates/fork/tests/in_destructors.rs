//! A scope that a destructor opens while its thread drops what it has not run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use terrace_executor::Builder;
use terrace_fork::scope;
use terrace_testing::on_own_thread;
use terrace_thread::ThreadSpawner;

static CHILD_RAN: AtomicBool = AtomicBool::new(false);

/// Opens a scope with a pinned child in its destructor. Before the child runs, another thread sends a call to the thread.
struct OpensScope(ThreadSpawner);

impl Drop for OpensScope {
    fn drop(&mut self) {
        let executor = Builder::new().workers(0).build();
        scope(&executor, |s| {
            s.spawn_on_scope(async { CHILD_RAN.store(true, Ordering::Relaxed) });
            let spawner = self.0.clone();
            let sender = thread::spawn(move || spawner.call(async {}).detach());
            sender.join().expect("it sends a call");
        });
    }
}

/// A thread that has closed drops calls, on whatever thread they are sent, and no other work: the pinned child of a scope runs.
#[test]
fn a_call_to_a_closing_thread_drops_no_child_of_a_scope() {
    on_own_thread(|| {
        let spawner = ThreadSpawner::current();
        let opens = OpensScope(spawner.clone());
        spawner.call(async move { drop(opens) }).detach();
        terrace_thread::close();
        assert!(CHILD_RAN.load(Ordering::Relaxed), "the child was dropped");
    });
}
