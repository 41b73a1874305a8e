//! A spare that comes too late: the watch has asked for it, and the pool is shut down before the spare has its name.

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use terrace_executor::scope::{OpenScope, ScopeKind};
use terrace_executor::{Builder, Shutdown, block_on};
use terrace_testing::watchdog;

/// Tells that its thread ends.
struct Ends(Sender<()>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.send(()).expect("the test waits");
    }
}

thread_local! {
    static ENDS: RefCell<Option<Ends>> = const { RefCell::new(None) };
}

#[test]
fn a_pool_that_was_shut_down_gets_no_spare() {
    let _watchdog = watchdog();
    let (naming, is_naming) = channel();
    let (name, named) = channel::<()>();
    let (ends, has_ended) = channel();
    let closure = Mutex::new((naming, named, ends));
    let starts = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&starts);
    let executor = Builder::new()
        .workers(1)
        .thread_name(move |index| {
            if index > 0 {
                let (naming, named, ends) = &*closure.lock().unwrap();
                ENDS.set(Some(Ends(ends.clone())));
                naming.send(()).unwrap();
                named.recv().unwrap();
            }
            format!("late-{index}")
        })
        .on_thread_start(move || {
            counter.fetch_add(1, Ordering::Relaxed);
        })
        .build();
    let (release, released) = channel::<()>();
    let blocker = executor.spawn(async move { released.recv().unwrap() });
    thread::scope(|threads| {
        // A task behind it, for which a thread waits: the watch asks for a spare.
        let behind = executor.spawn(async {});
        threads.spawn(|| {
            let scope = OpenScope::open(&executor, ScopeKind::of::<()>());
            // SAFETY: the child borrows nothing, and the scope is waited for.
            unsafe { scope.handle().spawn(behind) };
            assert!(scope.wait(&[]).is_none());
        });
        is_naming.recv().unwrap();
        release.send(()).unwrap();
    });
    executor.shutdown(Shutdown::RunQueued, None).unwrap();
    block_on(blocker);
    name.send(()).unwrap();
    has_ended.recv().unwrap();
    assert_eq!((executor.threads(), starts.load(Ordering::Relaxed)), (0, 1));
}
