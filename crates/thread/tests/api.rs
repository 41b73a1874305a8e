//! Auto traits, formats, and the notifier.

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use static_assertions::{assert_impl_all, assert_obj_safe};
use terrace_testing::{on_own_thread, watchdog};
use terrace_thread::{Notify, NotifyRef, ThreadId, ThreadSpawner};

assert_impl_all!(ThreadSpawner: Send, Sync, Clone, Unpin, UnwindSafe, RefUnwindSafe);
assert_impl_all!(ThreadId: Send, Sync, Copy, Ord, std::hash::Hash, Unpin, UnwindSafe);
assert_impl_all!(NotifyRef: Send, Sync);
assert_obj_safe!(Notify);

/// Counts its notifications.
#[derive(Default)]
struct Counter(AtomicUsize);

impl Notify for Counter {
    fn notify(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn the_notifier_hears_of_remote_work() {
    on_own_thread(|| {
        let counter = Arc::new(Counter::default());
        let heard = || counter.0.load(Ordering::Relaxed);
        terrace_thread::set_notify(counter.clone());
        terrace_thread::spawn_local(async {}).detach();
        assert_eq!(heard(), 0, "the thread knows what it does itself");
        let spawner = ThreadSpawner::current();
        thread::spawn({
            let spawner = spawner.clone();
            move || {
                spawner.spawn(async {}).detach();
                spawner.notify();
            }
        })
        .join()
        .expect("spawns");
        assert_eq!(heard(), 2);
        terrace_thread::notifier().notify();
        assert_eq!(heard(), 3);
        while terrace_thread::tick() {}
        terrace_thread::close();
        drop(spawner.spawn(async {}));
        assert_eq!(heard(), 3, "a closed thread is not told");
    });
}

#[test]
#[should_panic = "once a thread"]
fn the_notifier_is_set_once() {
    on_own_thread(|| {
        terrace_thread::set_notify(Arc::new(Counter::default()));
        terrace_thread::set_notify(Arc::new(Counter::default()));
    });
}

#[test]
fn formats_name_the_thread() {
    let _watchdog = watchdog();
    let spawner = ThreadSpawner::current();
    let id = terrace_thread::id();
    assert_eq!(spawner.thread_id(), id);
    assert_ne!(id.get(), 0);
    assert_eq!(format!("{id:?}"), format!("ThreadId({})", id.get()));
    let expected = format!("ThreadSpawner {{ thread: {id:?} }}");
    assert_eq!(format!("{spawner:?}"), expected);
}

/// A token given before the sleep ends it at once.
#[test]
fn park_keeps_a_token() {
    on_own_thread(|| {
        terrace_thread::notifier().notify();
        terrace_thread::park();
        let notifier = terrace_thread::notifier();
        let thread = thread::spawn(move || notifier.notify());
        terrace_thread::park();
        thread.join().expect("notifies");
    });
}

/// A process exits inside a pinned task that has waited before. The exit runs the destructor that closes the thread's
/// core, which must not wait for that task.
// Miri starts no processes.
#[cfg(not(miri))]
#[test]
fn exit_in_a_task() {
    /// Set in the process that this test starts.
    const CHILD: &str = "TERRACE_TEST_EXITS";
    let _watchdog = watchdog();
    if std::env::var_os(CHILD).is_some() {
        terrace_thread::spawn_local(async {
            futures_lite::future::yield_now().await;
            std::process::exit(7);
        })
        .detach();
        while terrace_thread::tick() {}
    }
    let status = terrace_testing::this_program()
        .args(["exit_in_a_task", "--exact"])
        .env(CHILD, "1")
        .status()
        .expect("a process can be started");
    assert_eq!(status.code(), Some(7));
}

#[test]
fn the_hook_rings_again_while_a_budget_leaves_work() {
    on_own_thread(|| {
        assert!(!terrace_thread::run_for(0), "no task, no core");
        let ring = Arc::new(AtomicUsize::new(0));
        let rung = || ring.swap(0, Ordering::Relaxed);
        for _ in 0..5 {
            terrace_thread::spawn_local(async {}).detach();
        }
        terrace_thread::set_on_ready({
            let ring = Arc::clone(&ring);
            move || {
                ring.fetch_add(1, Ordering::Relaxed);
            }
        });
        assert_eq!(rung(), 1, "tasks that were there before the hook");
        assert!(terrace_thread::run_for(2));
        assert_eq!(rung(), 1);
        assert!(terrace_thread::run_for(0), "polls nothing");
        assert_eq!(rung(), 1);
        assert!(!terrace_thread::run_for(3), "the last ones");
        assert_eq!(rung(), 0);
        assert!(!terrace_thread::run_for(usize::MAX));
    });
}

#[test]
#[should_panic(expected = "once a thread")]
fn a_thread_has_one_hook_of_either_style() {
    let _watchdog = watchdog();
    terrace_thread::set_notify(Arc::new(Counter::default()));
    terrace_thread::set_on_ready(|| ());
}
