//! The identity of an ended thread never comes back with another thread, which would take itself for the owner. Ids are
//! never reused, so a new thread at the old one's addresses is still remote.

#[expect(dead_code, reason = "each test uses its part")]
mod common;

use std::cell::Cell;
use std::collections::HashSet;
use std::mem;
use std::sync::mpsc::channel;
use std::thread;

use common::send_waker_and_wait;
use terrace_testing::{Homebody, on_own_thread, watchdog};
use terrace_thread::{LocalExecutor, ThreadSpawner};

thread_local! {
    static ANCHOR: Cell<u8> = const { Cell::new(0) };
}

/// Where this thread's thread-locals lie.
fn address() -> usize {
    ANCHOR.with(|anchor| std::ptr::from_ref(anchor).addr())
}

/// How many threads may be started until one lies where another lay. In practice the first does.
const ATTEMPTS: usize = 1_000;

#[test]
fn ids_are_not_reused_where_addresses_are() {
    let _watchdog = watchdog();
    let mut ids = HashSet::from([terrace_thread::id()]);
    let mut addresses = HashSet::new();
    let mut reused = false;
    for _ in 0..ATTEMPTS {
        let (id, address) = thread::spawn(|| (terrace_thread::id(), address()))
            .join()
            .expect("ends");
        assert!(ids.insert(id), "{id:?} came twice");
        reused |= !addresses.insert(address);
    }
    assert!(
        reused,
        "the test saw no address come back and shows nothing"
    );
}

/// A thread has leaked its executor and ended, and a thread at the same addresses uses a waker of one of its tasks. The
/// wake must take the remote path, and leave queue and future alone.
#[test]
fn a_wake_from_the_same_address_is_remote() {
    on_own_thread(|| {
        let (old_address, old_id, waker, core) = thread::spawn(|| {
            let executor = LocalExecutor::new();
            let (send, wakers) = channel();
            let home = Homebody::new();
            executor
                .spawn(async move {
                    send_waker_and_wait(send).await;
                    home.check();
                })
                .detach();
            assert!(executor.try_tick());
            let core = executor.core().clone();
            mem::forget(executor);
            let waker = wakers.recv().expect("it was polled");
            (address(), terrace_thread::id(), waker, core)
        })
        .join()
        .expect("ends");
        let mut waker = Some(waker);
        for attempt in 1..=ATTEMPTS {
            let (waker_back, core) = (waker.take(), core.clone());
            waker = thread::spawn(move || {
                let waker = waker_back.expect("handed from thread to thread");
                assert_ne!(terrace_thread::id(), old_id);
                // The allocator decides whether an address comes back; the last thread is remote all the same.
                if address() != old_address && attempt < ATTEMPTS {
                    return Some(waker);
                }
                waker.wake();
                assert!(!core.is_here());
                assert!(!core.try_tick(), "the task belongs to the ended thread");
                None
            })
            .join()
            .expect("a stranger's wake does nothing");
            if waker.is_none() {
                return;
            }
        }
        unreachable!("the last attempt uses the waker");
    });
}

/// The same for the pinned core of a thread, which is closed at its end: nothing reaches the new thread's tasks.
#[test]
fn a_spawner_of_an_ended_thread_does_not_reach_its_successor() {
    on_own_thread(|| {
        let spawner = thread::spawn(ThreadSpawner::current).join().expect("ends");
        for _ in 0..100 {
            let spawner = spawner.clone();
            thread::spawn(move || {
                let mine = terrace_thread::spawn_local(async {});
                assert_ne!(spawner.thread_id(), terrace_thread::id());
                let task = spawner.spawn(async { unreachable!("its thread has ended") });
                assert!(task.is_finished());
                drop(task);
                assert!(terrace_thread::tick());
                assert!(!terrace_thread::tick());
                assert!(mine.is_finished());
            })
            .join()
            .expect("stays alone");
        }
    });
}
