//! The registry of pending tasks of many threads.

use std::collections::BTreeSet;
use std::task::{Wake, Waker};
use std::thread;
use terrace_sync::Arc;
use terrace_sync::atomic::{AtomicUsize, Ordering};
use terrace_testing::watchdog;

use terrace_local::registry::{Register, Registry};

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
