//! The slot of the task that a worker has just woken.

use std::ptr::{NonNull, without_provenance_mut};
use std::time::Duration;

use terrace_executor::protocol::publish::Sight;
use terrace_loom_tests::assert_each_once;
use terrace_park::{Idle, Restricted, Woken, Work};
use terrace_queue::{LifoSlot, OwnedWord};
use terrace_sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use terrace_sync::cell::UnsafeCell;
use terrace_sync::{Arc, model, thread};

/// A task that is a number.
struct Number(u32);

// SAFETY: the words are the numbers plus one, and nothing is behind them.
unsafe impl OwnedWord for Number {
    fn into_raw(self) -> NonNull<()> {
        NonNull::new(without_provenance_mut(self.0 as usize + 1)).expect("at least one")
    }

    unsafe fn from_raw(raw: NonNull<()>) -> Self {
        Self((raw.as_ptr().addr() - 1) as u32)
    }
}

/// A slot, and a cell for each task, which the worker writes before it puts the task.
struct Written {
    slot: LifoSlot<Number>,
    cells: [UnsafeCell<u32>; 2],
}

// SAFETY: the worker writes a cell before it puts the task, and the taker reads it afterwards. The model checks that.
unsafe impl Sync for Written {}

impl Written {
    fn put(&self, task: u32) -> Option<u32> {
        self.cells[task as usize].with_mut(|cell| {
            // SAFETY: the task is not in the slot yet, so no other thread has it.
            unsafe { *cell = task }
        });
        self.slot
            .put(Number(task))
            .map(|displaced| self.read(displaced.0))
    }

    fn take(&self) -> Option<u32> {
        self.slot.take().map(|task| self.read(task.0))
    }

    fn read(&self, task: u32) -> u32 {
        // SAFETY: this thread took the task, and its cell is not written again.
        self.cells[task as usize].with(|cell| unsafe { *cell })
    }
}

/// The worker wakes two tasks while a thief looks: each comes out once, with the value written before.
///
/// Seen to fail with a swap that is a load and a store (`queue-slot-swap-split`), and without its Acquire
/// (`queue-slot-swap-release`). Also without the Release of the store (`queue-slot-put-relaxed`), and with a put
/// that takes the slot for empty (`queue-slot-put-blind`).
#[test]
fn executor_slot_gives_each_task_once() {
    model(|| {
        let written = Arc::new(Written {
            slot: LifoSlot::default(),
            cells: [UnsafeCell::new(9), UnsafeCell::new(9)],
        });
        let thief = {
            let written = written.clone();
            thread::spawn(move || written.take())
        };
        let mut taken: Vec<u32> = written.put(0).into_iter().collect();
        taken.extend(written.put(1));
        taken.extend(written.take());
        taken.extend(thief.join().unwrap());
        assert_each_once(taken, 2);
    });
}

/// Worker 0 with its slot, others that sleep, and a queue.
struct Pool {
    idle: Idle,
    slot: LifoSlot<Number>,
    queued: AtomicUsize,
    latch: AtomicBool,
}

impl Pool {
    fn new(workers: usize) -> Arc<Self> {
        let idle = Idle::new(workers);
        for worker in 0..workers {
            idle.adopt_live(worker);
        }
        Arc::new(Self {
            idle,
            slot: LifoSlot::default(),
            queued: AtomicUsize::new(0),
            latch: AtomicBool::new(false),
        })
    }

    /// The effect of running the task.
    fn set_latch(&self) {
        self.latch.store(true, Relaxed);
        self.idle.wake_worker(0);
    }
}

impl Work for Pool {
    fn takeable(&self) -> bool {
        self.queued.load(Relaxed) > 0
            || Sight::covered_if(!self.slot.is_empty()).is_takeable(&self.idle)
    }

    fn has_private_work(&self, _worker: usize) -> bool {
        false
    }
}

/// Worker 0 wakes a task and computes without end. Worker 1 is the sentinel for a while and then runs another task
/// without end. Worker 2, asleep for good, gets the task.
///
/// Seen to deadlock with slots that are never takeable (`executor-covered-never-takeable`): the sentinel ends with a full slot.
#[test]
fn executor_slot_outlives_its_sentinel() {
    model(|| {
        let pool = Pool::new(3);
        let guard = {
            let pool = pool.clone();
            thread::spawn(move || {
                let token = pool.idle.enter(1);
                let woken = pool
                    .idle
                    .park_as_sentinel(1, token, &*pool, [Duration::from_millis(2)])
                    .expect("the only sentinel");
                let (Woken::Unparked(token) | Woken::TimedOut(token)) = woken;
                pool.idle.stop_search(token, &*pool);
            })
        };
        let sleeper = {
            let pool = pool.clone();
            thread::spawn(move || {
                let mut token = pool.idle.enter(2);
                let task = loop {
                    match pool.slot.take() {
                        Some(task) => break task,
                        None => token = pool.idle.park(2, token, &*pool),
                    }
                };
                pool.idle.stop_search(token, &*pool);
                task
            })
        };
        assert!(pool.slot.put(Number(7)).is_none());
        pool.idle.publish_paced();
        assert_eq!(sleeper.join().unwrap().0, 7);
        guard.join().unwrap();
    });
}

/// The only worker wakes a task and then waits for it in the middle of a poll, while a thief looks. One of the two runs
/// it.
///
/// Seen to fail its assertion with a slot that is kept (`queue-slot-kept`).
#[test]
fn executor_slot_is_emptied_before_a_wait() {
    model(|| {
        let pool = Pool::new(1);
        let worker = {
            let pool = pool.clone();
            thread::spawn(move || {
                let token = pool.idle.enter(0);
                pool.idle.stop_search(token, &*pool);
                assert!(pool.slot.put(Number(7)).is_none());
                pool.idle.publish_paced();
                pool.slot.empty(|_| {
                    pool.queued.store(1, Relaxed);
                    pool.idle.publish();
                });
                let ready = || pool.latch.load(Relaxed);
                while !ready() {
                    if let Restricted::LastResort = pool.idle.wait_restricted(0, &*pool, ready) {
                        assert_eq!(pool.queued.swap(0, Relaxed), 1, "nothing in the queue");
                        pool.set_latch();
                    }
                }
            })
        };
        if pool.slot.take().is_some() {
            pool.set_latch();
        }
        worker.join().unwrap();
    });
}
