//! Groups of tasks on pools: children that end on other threads, and random programs of eager spawns and groups.

use std::future::{Future, pending, ready};
use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;

use terrace_executor::{Builder, Executor, StaticExecutor, TaskGroup, TaskSet, block_on};
use terrace_testing::{Drops, Random, WakerSlot, Wakes, Yields, text, text_of, watchdog};

fn pool(workers: usize) -> Executor<'static> {
    Builder::new().workers(workers).build()
}

#[test]
fn values_come_in_order_on_every_pool() {
    let _watchdog = watchdog();
    for workers in [0, 1, 2] {
        let executor = pool(workers);
        let mut group = TaskGroup::<_, u32, ()>::new(&executor);
        for n in 0..200 {
            let child = async move {
                Yields(n % 5).await;
                Ok(n)
            };
            if n % 2 == 0 {
                group.spawn(child);
            } else {
                group.spawn_eager(child);
            }
        }
        let values = block_on(executor.run(group.join_all()));
        assert_eq!(values, Ok((0..200).collect()));
        assert!(group.is_empty() && executor.is_empty());
    }
}

#[test]
fn a_group_whose_children_are_done_does_not_suspend() {
    let _watchdog = watchdog();
    let executor = pool(1);
    let mut group = TaskGroup::<_, usize, ()>::new(&executor);
    for n in 0..50 {
        group.spawn_eager(async move { Ok(n) });
    }
    let mut join = Box::pin(group.join_all());
    let joined = join.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert_eq!(joined, Poll::Ready(Ok((0..50).collect())));
}

/// Children may borrow what the executor's tasks may borrow.
#[test]
fn children_borrow_for_the_executors_life() {
    let _watchdog = watchdog();
    let words = [String::from("one"), String::from("three")];
    let executor = Executor::new();
    let mut group = TaskGroup::<_, usize, ()>::new(&executor);
    for word in &words {
        group.spawn(async move { Ok(word.len()) });
    }
    assert_eq!(block_on(executor.run(group.join_all())), Ok(vec![3, 5]));
}

/// A failure cancels children that wait, that run on other threads, and that are queued. It is returned after all have ended.
#[test]
fn failures_wait_for_the_others() {
    let _watchdog = watchdog();
    for workers in [0, 1, 2] {
        for panics in [false, true] {
            let executor = pool(workers);
            let drops = Drops::new();
            let mut group = TaskGroup::<_, (), &str>::new(&executor);
            for n in 0..40 {
                let kept = drops.value();
                group.spawn_eager(async move {
                    let _kept = kept;
                    if n % 2 == 0 {
                        pending::<()>().await;
                    }
                    loop {
                        Yields(1).await;
                    }
                });
            }
            group.spawn(async move {
                Yields(3).await;
                if panics {
                    panic_any("failure");
                }
                Err("failure")
            });
            let join = || block_on(executor.run(group.join_all()));
            if panics {
                assert_eq!(text_of(join), "failure");
            } else {
                let mut join = join;
                assert_eq!(join(), Err("failure"));
            }
            assert_eq!(drops.count(), 40);
            assert!(executor.is_empty());
        }
    }
}

/// `cancel`, and a drop in the middle, with children on other threads.
#[test]
fn cancelled_and_dropped_groups() {
    let _watchdog = watchdog();
    for workers in [0, 2] {
        for awaits in [false, true] {
            let executor = pool(workers);
            let drops = Drops::new();
            let shielded = Arc::new(AtomicBool::new(false));
            let mut group = TaskGroup::<_, (), ()>::new(&executor);
            for _ in 0..50 {
                let kept = drops.value();
                group.spawn_eager(async move {
                    let _kept = kept;
                    loop {
                        Yields(1).await;
                    }
                });
            }
            let set = shielded.clone();
            group.spawn_shielded(async move {
                Yields(20).await;
                set.store(true, Ordering::Relaxed);
                Ok(())
            });
            if awaits {
                block_on(executor.run(group.cancel()));
                assert!(shielded.load(Ordering::Relaxed));
                assert_eq!(drops.count(), 50);
            }
            drop(group);
            block_on(executor.run(async {
                while !executor.is_empty() {
                    Yields(1).await;
                }
            }));
            assert!(shielded.load(Ordering::Relaxed));
            assert_eq!(drops.count(), 50);
        }
    }
}

/// An executor is dropped before a group, on workers: the group says so.
/// A look at a set meets the end of a task on another thread, and takes the wake that the end would have given: the look wakes then.
#[test]
fn a_look_at_a_set_takes_no_wake() {
    let _watchdog = watchdog();
    let executor = pool(1);
    let mut set = TaskSet::new(&executor);
    for _ in 0..20_000 {
        let may_end = Arc::new(AtomicBool::new(false));
        set.spawn({
            let may_end = Arc::clone(&may_end);
            async move {
                while !may_end.load(Ordering::Acquire) {
                    spin_loop();
                }
            }
        });
        let wakes = Wakes::new();
        assert!(wakes.poll(pin!(set.join_next())).is_pending());
        may_end.store(true, Ordering::Release);
        while set.try_join_next().is_none() {}
        assert!(wakes.count() > 0, "the task that waits is not woken");
    }
}

#[test]
fn the_executor_closes_first() {
    let _watchdog = watchdog();
    let executor: &'static Executor<'static> = Box::leak(Box::new(pool(2)));
    let mut group = TaskGroup::<_, (), ()>::new(executor);
    let slot = WakerSlot::default();
    group.spawn_eager(slot.forever());
    executor
        .shutdown(terrace_executor::Shutdown::DropQueued, None)
        .expect("no limit");
    group.spawn_eager(ready(Ok(())));
    assert!(!group.is_empty());
    drop(group);
}

/// What a random program counts.
#[derive(Default)]
struct Ledger {
    born: AtomicUsize,
    dropped: AtomicUsize,
}

/// A value of one future of the program.
struct Entry(Arc<Ledger>);

impl Entry {
    fn new(ledger: &Arc<Ledger>) -> Self {
        ledger.born.fetch_add(1, Ordering::Relaxed);
        Self(ledger.clone())
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

type Child = Pin<Box<dyn Future<Output = Result<u32, u32>> + Send>>;

/// A child that does as its random numbers say: it ends, fails, panics, waits for another thread, spawns eagerly and keeps,
/// drops, cancels, detaches or forgets the handle, or has a group, which it joins, drops in the middle, or cancels.
fn child(executor: &'static StaticExecutor, ledger: Arc<Ledger>, seed: u64, depth: u32) -> Child {
    let entry = Entry::new(&ledger);
    Box::pin(async move {
        let _entry = entry;
        let mut random = Random::new(seed);
        let mut below = |bound: usize| random.below(bound);
        for step in 0..3_u64 {
            let again =
                |number: usize| seed.wrapping_mul(31).wrapping_add(step * 7 + number as u64);
            match below(if depth == 0 { 5 } else { 12 }) {
                0 => return Err(1),
                1 if below(3) == 0 => panic_any("random"),
                2 => Yields(below(3) as u32).await,
                3 => terrace_testing::completed_elsewhere().await,
                1 | 4 => {}
                5 => {
                    drop(executor.spawn_eager(child(executor, ledger.clone(), again(1), depth - 1)))
                }
                6 => executor
                    .spawn_eager(child(executor, ledger.clone(), again(2), depth - 1))
                    .detach(),
                7 => {
                    let task =
                        executor.spawn_eager(child(executor, ledger.clone(), again(3), depth - 1));
                    let _ = task.cancel().await;
                }
                8 => {
                    let task =
                        executor.spawn_eager(child(executor, ledger.clone(), again(4), depth - 1));
                    let dropped = thread::spawn(move || drop(task));
                    dropped.join().expect("drops it");
                }
                9 => {
                    executor
                        .spawn_eager(child(executor, ledger.clone(), again(5), depth - 1))
                        .await?;
                }
                _ => {
                    let mut group = TaskGroup::<_, u32, u32>::new(executor);
                    for number in 0..below(20) {
                        let child = child(executor, ledger.clone(), again(10 + number), depth - 1);
                        match below(4) {
                            0 => group.spawn(child),
                            1 => group.spawn_shielded(child),
                            _ => group.spawn_eager(child),
                        };
                    }
                    match below(5) {
                        0 => drop(group),
                        1 => group.cancel().await,
                        2 => {
                            group.next().await;
                        }
                        _ => drop(group.join_all().await?),
                    }
                }
            }
        }
        Ok(depth)
    })
}

/// Random programs: every future is dropped once, and none is left.
#[test]
fn random_programs() {
    let _watchdog = watchdog();
    for workers in [0, 1, 2] {
        let executor = Builder::new()
            .workers(workers)
            .panic_handler(|payload| assert_eq!(text(&*payload), "random"))
            .build()
            .leak();
        for seed in 0..60 {
            let ledger = Arc::new(Ledger::default());
            let program = child(executor, ledger.clone(), seed * 1_000_003 + 7, 3);
            let ran = catch_unwind(AssertUnwindSafe(|| {
                block_on(executor.run(executor.spawn_eager(program)))
            }));
            if let Err(payload) = ran {
                assert_eq!(text(&*payload), "random");
            }
            block_on(executor.run(async {
                while !executor.is_empty() {
                    Yields(1).await;
                }
            }));
            let born = ledger.born.load(Ordering::Relaxed);
            assert_eq!(ledger.dropped.load(Ordering::Relaxed), born, "seed {seed}");
        }
    }
}
