//! The registry of pending tasks of many threads.

use std::collections::BTreeSet;
use std::future::pending;
use std::ptr::NonNull;
use std::task::{Wake, Waker};
use std::thread;

use futures_lite::future::block_on;
use terrace_sync::Arc;
use terrace_sync::atomic::{AtomicUsize, Ordering};
use terrace_testing::watchdog;

use terrace_local::registry::{Register, Registry};
use terrace_local::task::{Core, CoreRef, Runnable, Schedule, build};

/// As many as a registry has shards.
const SHARDS: usize = 8;

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Threads of all shards, two of each, insert a waker each. The keys differ, any thread removes a key once, and `close` wakes
/// what is left.
#[test]
fn every_shard_is_reached() {
    let _watchdog = watchdog();
    let registry = Registry::default();
    let woken = Arc::new(Woken::default());
    let insert = || {
        let waker = Waker::from(Arc::clone(&woken));
        // SAFETY: there are no tasks, and nothing but this test uses the registry.
        unsafe { registry.insert(&waker) }
    };
    let insert_on_another_thread = |_| thread::scope(|scope| scope.spawn(insert).join().unwrap());
    let mut keys: BTreeSet<u32> = (0..2 * SHARDS).map(insert_on_another_thread).collect();
    assert_eq!(keys.len(), 2 * SHARDS);
    // SAFETY: there are no tasks, and nothing but this test uses the registry.
    let remove = |key| unsafe { registry.remove(key) }.is_some();
    let first = keys.pop_first().unwrap();
    assert!(remove(first) && !remove(first));
    let left = keys.len();
    registry.close(|| {
        let some = !keys.is_empty();
        while let Some(key) = keys.pop_last() {
            assert!(remove(key));
        }
        some
    });
    assert_eq!(woken.0.load(Ordering::Relaxed), left);
}

/// A core whose registry has no key left.
struct Crowded;

impl Register for Crowded {
    unsafe fn insert(&self, _: &Waker) -> u32 {
        panic!("too many")
    }

    unsafe fn remove(&self, _: u32) -> Option<Waker> {
        unreachable!("no task has a key")
    }
}

impl Core for Crowded {
    fn registry(&self) -> Option<&dyn Register> {
        Some(self)
    }
}

impl Schedule for Crowded {
    unsafe fn schedule(_: NonNull<Self>, task: Runnable) {
        drop(task);
    }
}

/// Its future is dropped, and its handle gets the panic. The thread that polls it gets none.
#[test]
fn a_task_that_cannot_register_ends_like_one_that_panics() {
    let _watchdog = watchdog();
    let held = std::sync::Arc::new(());
    let holds = std::sync::Arc::clone(&held);
    let future = async move {
        let _holds = holds;
        pending::<()>().await;
    };
    // SAFETY: the future and its output are Send and 'static.
    let (runnable, task) = unsafe { build(CoreRef::Shared(Arc::new(Crowded)), future) };
    runnable.run();
    assert!(task.is_finished());
    assert_eq!(std::sync::Arc::strong_count(&held), 1, "its future is gone");
    let end = std::panic::catch_unwind(|| block_on(task));
    assert_eq!(end.unwrap_err().downcast_ref(), Some(&"too many"));
}
