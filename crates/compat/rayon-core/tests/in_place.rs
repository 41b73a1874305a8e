//! Threads that are in no pool call into the global one: they run in the place of a thread that sleeps, or sleep themselves.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::Duration;

use rayon_core::{ThreadPoolBuilder, current_thread_index};
use terrace_testing::watchdog;

const THREADS: usize = 2;

/// The global pool has so many threads, and this test has it for itself.
fn global() -> (MutexGuard<'static, ()>, impl Sized) {
    static MADE: Once = Once::new();
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    MADE.call_once(|| {
        let builder = ThreadPoolBuilder::new().num_threads(THREADS);
        builder.build_global().expect("no other pool is global");
    });
    (turn, watchdog())
}

thread_local! {
    /// Set on the threads of the tests.
    static FOREIGN: Cell<bool> = const { Cell::new(false) };
}

#[test]
fn a_call_runs_in_place_while_a_thread_sleeps() {
    let _turn = global();
    FOREIGN.set(true);
    let in_place = (0..1_000).any(|_| {
        thread::sleep(Duration::from_micros(100));
        rayon_core::join(|| FOREIGN.get() && current_thread_index().is_some(), || ()).0
    });
    assert!(in_place);
    assert_eq!(current_thread_index(), None);
}

#[test]
fn both_closures_of_a_call_from_outside_count_as_migrated() {
    let _turn = global();
    for _ in 0..100 {
        let both = rayon_core::join_context(|a| a.migrated(), |b| b.migrated());
        assert_eq!(both, (true, true));
    }
}

#[test]
fn a_panic_ends_the_call_and_gives_the_place_back() {
    let _turn = global();
    for _ in 0..100 {
        let caught = catch_unwind(AssertUnwindSafe(|| {
            rayon_core::scope(|_| std::panic::resume_unwind(Box::new(7)))
        }));
        assert_eq!(caught.unwrap_err().downcast_ref(), Some(&7));
        assert_eq!(current_thread_index(), None);
    }
}

/// The caller waits in another pool for a job of its own pool, which the other pool queues there.
#[test]
fn pools_call_each_other_from_a_place() {
    let _turn = global();
    let other = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for depth in 0..30 {
        let (sum, ()) = rayon_core::join(
            || {
                other.install(|| {
                    let (sender, receiver) = std::sync::mpsc::channel();
                    global_spawn(move || sender.send(depth).unwrap());
                    receiver.recv().unwrap()
                })
            },
            || (),
        );
        assert_eq!(sum, depth);
    }
}

/// Spawns in the global pool from a thread of another one.
fn global_spawn(job: impl FnOnce() + Send + 'static) {
    thread::spawn(move || rayon_core::spawn(job))
        .join()
        .unwrap();
}

#[test]
fn a_broadcast_reaches_the_place_of_a_caller() {
    let _turn = global();
    for _ in 0..50 {
        let (indices, ()) =
            rayon_core::join(|| rayon_core::broadcast(|context| context.index()), || ());
        assert_eq!(indices, [0, 1]);
    }
}

/// The caller waits for a half that another thread has taken. That thread broadcasts, so the caller has to run its part in the wait.
#[test]
fn a_broadcast_from_the_other_half_reaches_the_place_of_the_caller() {
    let _turn = global();
    for _ in 0..50 {
        let stolen = AtomicUsize::new(0);
        let second = || {
            stolen.store(1, Ordering::Relaxed);
            // Often the caller sleeps by then.
            thread::sleep(Duration::from_micros(200));
            rayon_core::broadcast(|context| context.index())
        };
        let first = || {
            while stolen.load(Ordering::Relaxed) == 0 {
                thread::yield_now();
            }
        };
        let ((), indices) = rayon_core::join(first, second);
        assert_eq!(indices, [0, 1]);
    }
}

/// A caller that was asleep in its place can be reached. If it leaves before it has run what was sent to the place, the thread that
/// sleeps there runs that.
#[test]
fn a_part_that_a_caller_leaves_runs_in_its_place() {
    let _turn = global();
    for _ in 0..50 {
        let (sender, parts) = std::sync::mpsc::channel();
        rayon_core::scope(|_| {
            let stolen = AtomicUsize::new(0);
            let first = || {
                while stolen.load(Ordering::Relaxed) == 0 {
                    thread::yield_now();
                }
            };
            let second = || {
                stolen.store(1, Ordering::Relaxed);
                // Often the caller sleeps by then.
                thread::sleep(Duration::from_micros(200));
            };
            rayon_core::join(first, second);
            rayon_core::spawn_broadcast(move |context| sender.send(context.index()).unwrap());
        });
        let mut indices: Vec<usize> = parts.iter().collect();
        indices.sort_unstable();
        assert_eq!(indices, [0, 1]);
    }
}

/// Halves that wait for each other need two threads, also where one of them is a caller in a place.
#[test]
fn halves_that_meet() {
    let _turn = global();
    for _ in 0..20 {
        let met = Barrier::new(2);
        rayon_core::join(|| met.wait(), || met.wait());
    }
}

fn next(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

/// Which thread is at work as which index.
static OWNERS: [AtomicU64; THREADS] = [const { AtomicU64::new(0) }; THREADS];
static NUMBERS: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static NUMBER: u64 = NUMBERS.fetch_add(1, Ordering::Relaxed);
}

/// No other thread is at work with the index of this one. A job that runs inside of a wait finds its own thread there.
fn alone(f: impl FnOnce()) {
    let index = current_thread_index().expect("inside of the pool");
    let me = NUMBER.with(|number| *number);
    let before = OWNERS[index].swap(me, Ordering::Relaxed);
    assert!(
        before == 0 || before == me,
        "two threads with index {index}"
    );
    f();
    OWNERS[index].store(before, Ordering::Relaxed);
}

fn random_call(seed: &mut u64, depth: u32, ran: &AtomicUsize) {
    alone(|| {
        ran.fetch_add(1, Ordering::Relaxed);
        if next(seed).is_multiple_of(8) {
            thread::yield_now();
        }
    });
    if depth == 0 {
        return;
    }
    let (mut left, mut right) = (next(seed) | 1, next(seed) | 1);
    match next(seed) % 6 {
        0..3 => {
            rayon_core::join(
                || random_call(&mut left, depth - 1, ran),
                || random_call(&mut right, depth - 1, ran),
            );
        }
        3 => rayon_core::scope(|scope| {
            scope.spawn(move |_| random_call(&mut left, depth - 1, ran));
            scope.spawn(move |_| random_call(&mut right, depth - 1, ran));
        }),
        4 => rayon_core::scope_fifo(|scope| {
            scope.spawn_fifo(move |_| random_call(&mut left, depth - 1, ran));
            scope.spawn_broadcast(move |_, _| {
                ran.fetch_add(1, Ordering::Relaxed);
            });
        }),
        _ => {
            let counted = rayon_core::broadcast(|_| ran.fetch_add(1, Ordering::Relaxed));
            assert_eq!(counted.len(), THREADS);
        }
    }
}

#[test]
fn random_calls_from_many_threads_have_indices_of_their_own() {
    let _turn = global();
    let ran = AtomicUsize::new(0);
    thread::scope(|scope| {
        for caller in 1..=4u64 {
            let ran = &ran;
            scope.spawn(move || {
                let mut seed = caller.wrapping_mul(0x9E37_79B9_7F4A_7C15);
                for round in 0..100 {
                    rayon_core::scope(|_| random_call(&mut seed, round % 5, ran));
                    if round % 16 == 0 {
                        thread::sleep(Duration::from_micros(300));
                    }
                }
            });
        }
    });
    assert!(ran.into_inner() >= 400);
}
