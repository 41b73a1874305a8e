//! Rows that mix long work with tiny work, each beside its ideal.
//!
//! A row is a *frame*: phases one after the other, each a scope, a schedule or a parallel iterator whose parts may run side by
//! side. The ideal of a phase is the longest chain in it, or its serial time divided by the cores if that is more; the ideal of
//! a frame is the sum over its phases, and one wake of a sleeping thread. Serial times and the wake are measured in the process
//! that measures the row.

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bevy_ecs::batching::BatchingStrategy;
use bevy_ecs::prelude::*;
use bevy_tasks::{ComputeTaskPool, Scope, TaskPool};

use crate::conditions::scheduled;
use crate::parallel::compute_pool;
use bench_main::Workload;

/// Steps of [`burn`] that take 0.1 ms, or about that: the exact time is measured.
const LONG: usize = 65_000;

/// Takes time in proportion to `steps`: a chain of multiplications in one register. It touches no memory, whose speed would
/// change from call to call. One code for all callers, so that what is measured alone is what a child runs.
#[inline(never)]
fn burn(steps: usize) {
    let mut value = black_box(1_u64);
    for _ in 0..steps {
        value = (value ^ (value >> 7)).wrapping_mul(6_364_136_223_846_793_005);
    }
    black_box(value);
}

/// The best time of `f` in several runs.
fn best(f: impl Fn()) -> Duration {
    let time = |()| {
        let start = Instant::now();
        f();
        start.elapsed()
    };
    [(); 15]
        .map(time)
        .into_iter()
        .min()
        .expect("there are runs")
}

/// The median time from the wake of a sleeping thread until it runs.
fn wake() -> Duration {
    const WAKES: usize = 101;
    let sleeps = Duration::from_micros(200);
    let start = Instant::now();
    let sent = AtomicUsize::new(0);
    let mut took: Vec<Duration> = thread::scope(|threads| {
        let sleeper = threads.spawn(|| {
            let mut took = Vec::with_capacity(WAKES);
            while took.len() < WAKES {
                thread::park();
                let at = sent.swap(0, Ordering::Acquire);
                if at != 0 {
                    took.push(
                        start
                            .elapsed()
                            .saturating_sub(Duration::from_nanos(at as u64)),
                    );
                }
            }
            took
        });
        while !sleeper.is_finished() {
            thread::sleep(sleeps);
            sent.store(start.elapsed().as_nanos() as usize, Ordering::Release);
            sleeper.thread().unpark();
        }
        sleeper.join().expect("it does not panic")
    });
    took.sort();
    took[WAKES / 2]
}

/// Parts that may run side by side: chains of lengths in steps, how often each occurs.
struct Phase(Vec<usize>);

/// What a frame takes at best.
struct Frame(Vec<Phase>);

impl Frame {
    /// With as many threads as there are cores, of which the pool and the caller have `threads`.
    fn ideal(&self, threads: usize) -> Duration {
        let cores = thread::available_parallelism()
            .map_or(1, usize::from)
            .min(threads);
        let phase = |Phase(parts): &Phase| {
            let serial: Duration = parts.iter().map(|&steps| best(|| burn(steps))).sum();
            let longest = parts.iter().copied().max().unwrap_or(0);
            best(|| burn(longest)).max(serial / cores as u32)
        };
        self.0.iter().map(phase).sum::<Duration>() + wake()
    }
}

/// A mixed row: its workload on a pool of so many threads, and its ideal.
pub(crate) struct Mixed {
    pub(crate) name: &'static str,
    pub(crate) build: fn(usize) -> Workload,
    phases: fn() -> Vec<Phase>,
}

impl Mixed {
    /// What one iteration takes at best.
    pub(crate) fn ideal(&self, threads: usize) -> Duration {
        Frame((self.phases)()).ideal(threads + 1)
    }
}

/// A phase of `count` parts alike.
fn alike(count: usize, steps: usize) -> Phase {
    Phase(vec![steps; count])
}

/// The phase of a scope or schedule that has no long work.
fn tiny() -> Phase {
    alike(1, 0)
}

pub(crate) static MIXED: &[Mixed] = &[
    Mixed {
        name: "par_iter_after_tiny_schedules",
        build: par_iter_after_tiny_schedules,
        phases: || vec![tiny(), alike(2, 27 * LONG / 10)],
    },
    Mixed {
        name: "20_scopes_of_4_empty_then_4_long",
        build: |threads| scopes(threads, 20, 4, 4),
        phases: || vec![tiny(), alike(4, LONG)],
    },
    Mixed {
        name: "5_scopes_of_10_empty_then_2_long",
        build: |threads| scopes(threads, 5, 10, 2),
        phases: || vec![tiny(), alike(2, LONG)],
    },
    Mixed {
        name: "schedule_of_30_empty_and_4_long",
        build: schedule_of_empty_and_long,
        phases: || vec![alike(4, LONG)],
    },
    Mixed {
        name: "two_par_iters_among_20_tiny",
        build: two_par_iters_among_tiny,
        phases: || vec![alike(8, LONG / 2)],
    },
    Mixed {
        name: "main_thread_system_beside_3_long",
        build: main_thread_system_beside_long,
        phases: || vec![alike(4, LONG)],
    },
    Mixed {
        name: "lengths_that_change",
        build: lengths_that_change,
        phases: || LENGTHS.iter().map(|&steps| alike(4, steps)).collect(),
    },
    Mixed {
        name: "a_first_long_child",
        build: a_first_long_child,
        phases: || {
            let mut parts = vec![2 * LONG];
            parts.extend([LONG / 10; 20]);
            vec![Phase(parts)]
        },
    },
    Mixed {
        name: "nested_scopes",
        build: nested_scopes,
        phases: || vec![alike(16, LONG / 4)],
    },
];

/// A scope of `count` children of so many steps. All scopes of all lengths are made here: children of all are of one type.
fn scope_of(pool: &TaskPool, count: usize, steps: usize) {
    pool.scope(|scope| spawn(scope, count, steps));
}

fn spawn<'scope>(scope: &Scope<'scope, '_, ()>, count: usize, steps: usize) {
    for _ in 0..count {
        scope.spawn(async move { burn(steps) });
    }
}

fn scopes(threads: usize, tiny: usize, empty: usize, long: usize) -> Workload {
    let pool = compute_pool(threads);
    Box::new(move || {
        for _ in 0..tiny {
            scope_of(pool, empty, 0);
        }
        scope_of(pool, long, LONG);
    })
}

/// Steps of the children, from frame to frame.
const LENGTHS: [usize; 6] = [0, LONG / 5, 0, LONG, LONG / 20, 3 * LONG];

fn lengths_that_change(threads: usize) -> Workload {
    let pool = compute_pool(threads);
    Box::new(move || {
        for steps in LENGTHS {
            scope_of(pool, 4, steps);
        }
    })
}

fn a_first_long_child(threads: usize) -> Workload {
    let pool = compute_pool(threads);
    Box::new(move || {
        pool.scope(|scope| {
            spawn(scope, 1, 2 * LONG);
            spawn(scope, 20, LONG / 10);
        });
    })
}

fn nested_scopes(threads: usize) -> Workload {
    let pool = compute_pool(threads);
    Box::new(move || {
        pool.scope(|scope| {
            for _ in 0..4 {
                scope.spawn(async { scope_of(ComputeTaskPool::get(), 4, LONG / 4) });
            }
        });
    })
}

fn empty() {}

fn long() {
    burn(LONG);
}

fn schedule_of_empty_and_long(threads: usize) -> Workload {
    let mut schedule = Schedule::default();
    for number in 0..34 {
        if number % 8 == 7 {
            schedule.add_systems(long);
        } else {
            schedule.add_systems(empty);
        }
    }
    scheduled(threads, schedule, World::new())
}

struct OfMainThread;

fn main_thread_system_beside_long(threads: usize) -> Workload {
    let mut world = World::new();
    world.insert_non_send(OfMainThread);
    let mut schedule = Schedule::default();
    schedule.add_systems((|_: NonSend<OfMainThread>| burn(LONG), long, long, long));
    scheduled(threads, schedule, world)
}

#[derive(Component)]
struct Steps(usize);

#[derive(Component)]
struct Half;

/// A world with entities that take so long.
fn world_of(count: usize, steps: usize) -> World {
    let mut world = World::new();
    for number in 0..count {
        let mut entity = world.spawn(Steps(steps));
        if number % 2 == 0 {
            entity.insert(Half);
        }
    }
    world
}

fn burn_all<F: bevy_ecs::query::QueryFilter>(query: Query<&Steps, F>) {
    let query = query
        .par_iter()
        .batching_strategy(BatchingStrategy::fixed(1));
    query.for_each(|steps| burn(steps.0));
}

fn two_par_iters_among_tiny(threads: usize) -> Workload {
    let mut schedule = Schedule::default();
    for _ in 0..10 {
        schedule.add_systems(empty);
    }
    schedule.add_systems((burn_all::<With<Half>>, burn_all::<Without<Half>>));
    for _ in 0..10 {
        schedule.add_systems(empty);
    }
    scheduled(threads, schedule, world_of(8, LONG / 2))
}

fn par_iter_after_tiny_schedules(threads: usize) -> Workload {
    let mut tiny = Schedule::default();
    for _ in 0..5 {
        tiny.add_systems(empty);
    }
    let mut tiny = scheduled(threads, tiny, World::new());
    let mut world = world_of(2, 27 * LONG / 10);
    let mut query = world.query::<&Steps>();
    Box::new(move || {
        for _ in 0..10 {
            tiny();
        }
        let query = query
            .par_iter(&world)
            .batching_strategy(BatchingStrategy::fixed(1));
        query.for_each(|steps| burn(steps.0));
    })
}
