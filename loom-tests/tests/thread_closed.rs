//! The end of a pool that foreign cells still know, or of a thread to which others still send calls.

use terrace_loom_tests::assert_each_once;
use terrace_sync::atomic::{AtomicBool, Ordering::Relaxed};
use terrace_sync::{Arc, light, model, thread};
use terrace_thread::closed::Closed;

/// The end of a pool, and one place for a runnable.
#[derive(Default)]
struct Pool {
    closed: Closed,
    queued: AtomicBool,
}

impl Pool {
    /// Drops what is queued. The look comes first, as in the queues.
    fn drain(&self) -> Vec<u32> {
        let queued = self.queued.load(Relaxed) && self.queued.swap(false, Relaxed);
        queued.then_some(0).into_iter().collect()
    }
}

/// A waker of a foreign cell queues it while the pool closes, or a broadcast its part while the thread does: one of the two threads drops
/// the runnable.
///
/// Seen to fail without the fence of the end (`thread-closed-fence`), and where the waker does not look
/// (`thread-closed-unseen`).
#[test]
fn thread_closed_leaves_no_foreign_runnable() {
    model(|| {
        let pool = Arc::new(Pool::default());
        let waker = {
            let pool = pool.clone();
            thread::spawn(move || {
                pool.queued.store(true, Relaxed);
                light();
                if pool.closed.is_set() {
                    pool.drain()
                } else {
                    Vec::new()
                }
            })
        };
        pool.closed.set();
        let mut dropped = pool.drain();
        dropped.extend(waker.join().unwrap());
        assert_each_once(dropped, 1);
    });
}

/// Two threads spawn by a weak handle while the pool closes, each after a look: the item of each is dropped once.
///
/// Seen to fail without the fence of the end (`thread-closed-fence`), and where the spawners do not look
/// (`thread-closed-unseen`).
#[test]
fn thread_closed_leaves_no_task_of_a_spawner() {
    model(|| {
        let pools = Arc::new([Pool::default(), Pool::default()]);
        let closed = |pools: &[Pool; 2]| pools[0].closed.is_set();
        let drain = |pools: &[Pool; 2]| {
            let [first, second] = [pools[0].drain(), pools[1].drain()];
            let second = second.into_iter().map(|item| item + 1);
            first.into_iter().chain(second).collect::<Vec<_>>()
        };
        let spawner = {
            let pools = pools.clone();
            move |item: u32| {
                if closed(&pools) {
                    return vec![item];
                }
                pools[item as usize].queued.store(true, Relaxed);
                light();
                if closed(&pools) {
                    drain(&pools)
                } else {
                    Vec::new()
                }
            }
        };
        let other = {
            let spawner = spawner.clone();
            thread::spawn(move || spawner(1))
        };
        let closer = {
            let pools = pools.clone();
            thread::spawn(move || {
                pools[0].closed.set();
                drain(&pools)
            })
        };
        let mut dropped = spawner(0);
        dropped.extend(other.join().unwrap());
        dropped.extend(closer.join().unwrap());
        assert_each_once(dropped, 2);
    });
}

/// The end of a broadcast: two threads send a part to a worker, which runs what it finds, and then ends. Each part is run, or dropped,
/// once, so both senders go on.
///
/// Seen to fail without the fence of the end (`thread-closed-fence`), and where the senders do not look
/// (`thread-closed-unseen`).
#[test]
fn thread_closed_ends_the_parts_of_two_broadcasts() {
    model(|| {
        let parts = Arc::new([Pool::default(), Pool::default()]);
        let drain = |parts: &[Pool; 2]| {
            let [first, second] = [parts[0].drain(), parts[1].drain()];
            let second = second.into_iter().map(|part| part + 1);
            first.into_iter().chain(second).collect::<Vec<_>>()
        };
        let senders = [0, 1].map(|part| {
            let parts = parts.clone();
            thread::spawn(move || {
                parts[part].queued.store(true, Relaxed);
                light();
                if parts[0].closed.is_set() {
                    drain(&parts)
                } else {
                    Vec::new()
                }
            })
        });
        let mut ended = drain(&parts);
        parts[0].closed.set();
        ended.extend(drain(&parts));
        for sender in senders {
            ended.extend(sender.join().unwrap());
        }
        assert_each_once(ended, 2);
    });
}
