//! A scope that a destructor opens while its thread drops what it has not run.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use terrace_executor::{Builder, Worker, block_on};
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

/// A destructor of a thread-local, which runs when the worker has given its place back.
struct Looks(Sender<bool>);

impl Drop for Looks {
    fn drop(&mut self) {
        self.0
            .send(Worker::with_current(Worker::is_in_pool))
            .unwrap();
    }
}

thread_local! {
    static LOOKS: RefCell<Option<Looks>> = const { RefCell::new(None) };
}

#[test]
fn a_thread_that_was_a_worker_is_in_no_pool() {
    on_own_thread(|| {
        let executor = Builder::new().workers(1).build();
        let (sender, is_in_pool) = channel();
        let joins = executor.spawn(async {
            LOOKS.set(Some(Looks(sender)));
            Worker::with_current(|worker| worker.join(|_| 1, |_| 2))
        });
        assert_eq!(block_on(joins), (1, 2));
        drop(executor);
        assert_eq!(is_in_pool.recv(), Ok(false));
    });
}
