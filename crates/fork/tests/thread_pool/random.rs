//! Random programs: all that a pool offers, mixed, on two pools whose sizes change.

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use terrace_executor::Task;
use terrace_fork::{MemberScope, RawJob, ThreadPool, Worker, block_on, here};
use terrace_testing::{Random, Yields, text, watchdog};

static POOLS: [ThreadPool; 2] = [ThreadPool::new(), ThreadPool::new()];

/// Closures and raw jobs that were spawned, and that ran.
static SPAWNED: AtomicUsize = AtomicUsize::new(0);
static RAN: AtomicUsize = AtomicUsize::new(0);

fn count(worker: &Worker, leaves: usize) -> usize {
    if leaves <= 1 {
        return leaves;
    }
    let half = leaves / 2;
    let (a, b) = worker.join(
        |worker| count(worker, half),
        |worker| count(worker, leaves - half),
    );
    a + b
}

/// A raw job in a box.
#[repr(C)]
struct Counts {
    job: RawJob,
    leaves: usize,
}

impl Counts {
    /// A job to be queued once, by its caller.
    fn queueable(leaves: usize) -> NonNull<RawJob> {
        SPAWNED.fetch_add(1, Ordering::Relaxed);
        let job = RawJob::new(Self::run, Self::drop);
        NonNull::from(Box::leak(Box::new(Self { job, leaves }))).cast()
    }

    /// # Safety
    /// The job is one of [`queueable`](Self::queueable), and the caller's.
    unsafe fn run(job: NonNull<RawJob>, worker: &Worker) {
        // SAFETY: the job is the first field of a `Counts` out of `Box::leak`, and the caller's.
        let this = unsafe { Box::from_raw(job.cast::<Self>().as_ptr()) };
        assert_eq!(count(worker, this.leaves), this.leaves);
        if this.leaves % 4 == 1 {
            // SAFETY: the job is new, and its functions free it.
            unsafe { worker.spawn_raw(Self::queueable(this.leaves / 2)) };
        }
        RAN.fetch_add(1, Ordering::Relaxed);
    }

    /// # Safety
    /// None is needed.
    unsafe fn drop(_: NonNull<RawJob>) {
        unreachable!("the pools are not dropped");
    }
}

/// The task that `spawn` spawns on one worker ends with these leaves, unless the worker is missing or ends first.
fn on_one_worker(leaves: usize, spawn: impl FnOnce() -> Task<usize>) {
    match catch_unwind(AssertUnwindSafe(spawn)) {
        Ok(task) => {
            let value = block_on(task.fallible());
            assert!(value.is_none_or(|value| value == leaves));
        }
        Err(payload) => assert!(text(&*payload).starts_with("spawn_on: there is no worker")),
    }
}

/// One step of a program; `depth` says how many steps it lies in.
fn step(random: &mut Random, depth: usize) {
    let pool = &POOLS[random.below(2)];
    let leaves = random.below(60);
    match random.below(15) {
        0 => assert_eq!(pool.with_worker(|worker| count(worker, leaves)), leaves),
        1 => {
            let mut items = vec![0; leaves];
            pool.scope(|scope| {
                for item in &mut items {
                    scope.spawn(async move {
                        Yields(1).await;
                        *item += 1;
                    });
                }
            });
            assert_eq!(items, vec![1; leaves]);
        }
        2 => {
            let task = pool.spawn(async move {
                Yields(leaves as u32 % 3).await;
                Worker::with_current(|worker| count(worker, leaves))
            });
            assert_eq!(pool.block_on(task), leaves);
        }
        3 => {
            let calls = AtomicUsize::new(0);
            let parts = pool.broadcast(|part| {
                calls.fetch_add(1, Ordering::Relaxed);
                assert_eq!(count(part.worker, leaves), leaves);
                part.index
            });
            assert_eq!(parts.len(), calls.load(Ordering::Relaxed));
            assert!(parts.is_sorted());
        }
        4 => pool.spawn_broadcast(|part| assert!(part.index < part.participants)),
        5 => {
            SPAWNED.fetch_add(1, Ordering::Relaxed);
            pool.spawn(move |worker: &Worker| {
                assert_eq!(count(worker, leaves), leaves);
                RAN.fetch_add(1, Ordering::Relaxed);
            });
        }
        6 => {
            let worker = random.below(3);
            on_one_worker(leaves, || pool.spawn_on(worker, async move { leaves }));
        }
        7 => {
            pool.yield_now();
            pool.yield_local();
        }
        8 => _ = pool.resize_to(random.below(4)),
        9 if depth < 2 => {
            let (mut one, mut other) = (random.split(), random.split());
            pool.join(
                |_| step(&mut one, depth + 1),
                |_| step(&mut other, depth + 1),
            );
        }
        10 if depth < 2 => {
            let mut inner = random.split();
            pool.scope(|scope| scope.spawn(async { step(&mut inner, depth + 1) }));
        }
        11 => {
            let panics = |_: &Worker| panic_any(leaves);
            let joined = catch_unwind(|| pool.join(panics, |worker| count(worker, leaves)));
            let payload = joined.expect_err("a half panics");
            assert_eq!(*payload.downcast::<usize>().unwrap(), leaves);
            let parts = catch_unwind(AssertUnwindSafe(|| {
                pool.broadcast(|_| -> () { panic_any(leaves) })
            }));
            match parts {
                Err(payload) => assert_eq!(*payload.downcast::<usize>().unwrap(), leaves),
                // Every worker ended first.
                Ok(parts) => assert!(parts.is_empty()),
            }
        }
        12 => {
            let (act, mut inner) = (random.below(7), random.split());
            pool.with_worker(|worker| verb(worker, act, leaves, &mut inner, depth));
        }
        // SAFETY: the job is new, and its functions free it.
        13 => unsafe { pool.spawn_raw(Counts::queueable(leaves)) },
        _ => {
            let membership = pool.enroll();
            thread::scope(|threads| {
                threads.spawn(|| {
                    membership.activate(|worker| assert_eq!(count(worker, leaves), leaves))
                });
            });
        }
    }
}

/// A step by the handle of a member.
fn verb(worker: &Worker, act: usize, leaves: usize, random: &mut Random, depth: usize) {
    match act {
        0 => {
            SPAWNED.fetch_add(2, Ordering::Relaxed);
            worker.spawn(move |worker: &Worker| {
                worker.spawn(|_: &Worker| {
                    RAN.fetch_add(1, Ordering::Relaxed);
                });
                assert_eq!(count(worker, leaves), leaves);
                RAN.fetch_add(1, Ordering::Relaxed);
            });
        }
        1 => {
            let local = worker.spawn_local(async move {
                Yields(leaves as u32 % 3).await;
                here::join(|worker: &Worker| count(worker, leaves), || leaves)
            });
            assert_eq!(worker.block_on(local), (leaves, leaves));
        }
        2 => {
            let parts = worker.broadcast(|part| count(part.worker, leaves));
            assert!(parts.iter().all(|&part| part == leaves));
            here::spawn_broadcast(|part| assert!(part.index < part.participants));
        }
        3 => {
            let on = random.below(3);
            on_one_worker(leaves, || worker.spawn_on(on, async move { leaves }));
            on_one_worker(leaves, || here::spawn_on(on, async move { leaves }));
        }
        // SAFETY: the job is new, and its functions free it.
        4 => unsafe { worker.spawn_raw(Counts::queueable(leaves)) },
        5 if depth < 2 => worker.scope(|scope| {
            scope.spawn(async { step(random, depth + 1) });
        }),
        _ => {
            let task = here::spawn(async move { here::join(|| leaves, || leaves) });
            assert_eq!(worker.block_on(task), (leaves, leaves));
        }
    }
}

#[test]
fn random_programs_lose_nothing() {
    const SEEDS: u64 = if cfg!(miri) { 2 } else { 20 };
    let _watchdog = watchdog();
    for seed in 0..SEEDS {
        let mut random = Random::new(seed);
        thread::scope(|threads| {
            for _ in 0..3 {
                let mut random = random.split();
                threads.spawn(move || {
                    for _ in 0..40 {
                        step(&mut random, 0);
                    }
                });
            }
        });
        for pool in &POOLS {
            pool.populate();
            pool.executor().wait_idle(None).unwrap();
        }
        let (spawned, ran) = (&SPAWNED, &RAN);
        assert_eq!(
            spawned.load(Ordering::Relaxed),
            ran.load(Ordering::Relaxed),
            "seed {seed}"
        );
    }
    POOLS.iter().for_each(|pool| _ = pool.depopulate());
}
