//! An executor that a thread of its own makes and ticks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::{self, ThreadId};

use terrace_executor::ThreadExecutor;
use terrace_fork::Config;

/// Calls `body` with a config that names this executor as the external one. Its thread ticks it until `body` returns.
/// Returns the id of that thread.
pub(crate) fn with_external(body: impl FnOnce(Config<'_>)) -> ThreadId {
    let (send, receive) = channel();
    let stop = AtomicBool::new(false);
    thread::scope(|threads| {
        let owner = threads.spawn(|| {
            let external = Arc::new(ThreadExecutor::new());
            send.send(Arc::clone(&external)).unwrap();
            let ticker = external.ticker().unwrap();
            while !stop.load(Ordering::Acquire) {
                ticker.try_tick();
                thread::yield_now();
            }
            thread::current().id()
        });
        let external = receive.recv().unwrap();
        body(Config {
            external: Some(external.queue()),
            local: None,
        });
        stop.store(true, Ordering::Release);
        owner.join().unwrap()
    })
}
