//! A panic ends its task alone: as many workers live after it as before. And destructors that panic.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::thread::{sleep, yield_now};
use std::time::Duration;

use terrace_executor::{Builder, block_on};
use terrace_testing::{payload_of, watchdog};

const WORKERS: usize = 4;
const ROUNDS: usize = 20;

/// Panics without a report.
fn fail() -> ! {
    resume_unwind(Box::new("planned"))
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        fail();
    }
}

#[test]
fn all_workers_live_after_as_many_panics() {
    let _watchdog = watchdog();
    let counts = Arc::new([const { AtomicUsize::new(0) }; 3]);
    let count = |which: usize| {
        let counts = Arc::clone(&counts);
        move || {
            counts[which].fetch_add(1, Ordering::Relaxed);
        }
    };
    let (handled, started, stopped) = (count(0), count(1), count(2));
    let executor = Builder::new()
        .workers(WORKERS)
        .on_thread_start(started)
        .on_thread_stop(stopped)
        .panic_handler(move |_| handled())
        .build();
    for _ in 0..ROUNDS {
        // All workers are in it when each of them panics.
        let meeting = Arc::new(Barrier::new(WORKERS));
        let tasks: Vec<_> = (0..WORKERS)
            .map(|i| {
                let meeting = Arc::clone(&meeting);
                executor.spawn(async move {
                    meeting.wait();
                    if i % 2 == 0 {
                        fail();
                    }
                    Bomb
                })
            })
            .collect();
        for (i, task) in tasks.into_iter().enumerate() {
            if i % 2 == 0 {
                assert!(catch_unwind(AssertUnwindSafe(|| block_on(task))).is_err());
            } else {
                task.detach();
            }
        }
    }
    // They meet only if every worker is left.
    let meeting = Arc::new(Barrier::new(WORKERS));
    let tasks: Vec<_> = (0..WORKERS)
        .map(|_| {
            let meeting = Arc::clone(&meeting);
            executor.spawn(async move { meeting.wait().is_leader() })
        })
        .collect();
    let leaders = tasks.into_iter().map(block_on).filter(|leads| *leads);
    assert_eq!(leaders.count(), 1);
    let read = |which: usize| counts[which].load(Ordering::Relaxed);
    assert_eq!((read(1), read(2)), (WORKERS, 0), "no worker was replaced");
    drop(executor);
    assert_eq!(read(2), WORKERS);
    assert_eq!(
        read(0),
        WORKERS / 2 * ROUNDS,
        "outputs that nobody took, and whose destructors panic"
    );
}

/// The parts have ended before the caller has told all workers of them.
#[test]
fn the_handler_gets_the_panic_of_a_spawned_broadcasts_destructor() {
    let _watchdog = watchdog();
    for workers in 0..=2 {
        let (sender, payloads) = channel();
        let executor = Builder::new()
            .workers(workers)
            // The one who tells a worker calls this.
            .on_thread_start(|| terrace_thread::set_on_ready(|| sleep(Duration::from_millis(20))))
            .panic_handler(move |payload| sender.send(payload).expect("the test waits"))
            .build();
        executor.broadcast(|_| ());
        let bomb = Bomb;
        executor.spawner().spawn_broadcast(move |_| _ = &bomb);
        if workers == 0 {
            while executor.try_tick() {}
        }
        let payload = payloads.recv().expect("a part drops the closure");
        assert_eq!(payload.downcast_ref(), Some(&"planned"));
    }
}

#[test]
fn the_result_of_a_half_beside_a_panic_may_panic_in_its_destructor() {
    let _watchdog = watchdog();
    // With workers either thread runs the forked half.
    for workers in [0, 1, 2] {
        let executor = Builder::new().workers(workers).build();
        for round in 0..300 {
            let half = |waits: usize, fails: bool| {
                (0..waits).for_each(|_| yield_now());
                if fails {
                    resume_unwind(Box::new("a half"));
                }
                Bomb
            };
            for forked_fails in [true, false] {
                let payload = payload_of(|| {
                    executor.join(
                        |_| half(round % 7, forked_fails),
                        |_| half(round % 9, !forked_fails),
                    )
                });
                assert_eq!(payload.downcast_ref(), Some(&"a half"));
            }
        }
    }
}

#[test]
fn the_results_of_parts_beside_a_panic_may_panic_in_their_destructors() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(WORKERS).build();
    for fails in 0..WORKERS {
        let payload = payload_of(|| {
            executor.broadcast(|part| {
                if part.index == fails {
                    resume_unwind(Box::new("a part"));
                }
                Bomb
            })
        });
        assert_eq!(payload.downcast_ref(), Some(&"a part"));
    }
}

/// The first worker's comes out, whatever becomes of the others.
#[test]
fn the_payloads_of_other_parts_may_panic_in_their_destructors() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(WORKERS).build();
    let payload = payload_of(|| {
        executor.broadcast::<()>(|part| match part.index {
            0 => resume_unwind(Box::new("the first")),
            _ => resume_unwind(Box::new(Bomb)),
        })
    });
    assert_eq!(payload.downcast_ref(), Some(&"the first"));
}
