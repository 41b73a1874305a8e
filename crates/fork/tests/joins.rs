//! Random programs that mix joins with everything else: spawned tasks, scopes, `block_on`, panics, resizes, two pools, and
//! threads that end.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use terrace_executor::{Builder, Executor, Worker, block_on};
use terrace_fork::scope;
use terrace_testing::{Random, watchdog};

fn pools() -> &'static [Executor<'static>; 2] {
    static POOLS: OnceLock<[Executor<'static>; 2]> = OnceLock::new();
    POOLS.get_or_init(|| [2, 3].map(|workers| Builder::new().workers(workers).build()))
}

/// What a node of a random program does with its two parts.
#[derive(Clone, Copy)]
enum Act {
    /// A scope with a child for each part.
    Scope,
    /// A task for one part, which one half of a join awaits.
    Task,
    /// A join in a pool that may be another one.
    Elsewhere,
    /// A join whose forked, or inline, half panics in the end.
    Panic {
        forked: bool,
    },
    /// Both parts in order, by handles of the current place.
    Here,
    Join,
}

/// A random program: a tree of so many leaves, or a few more.
#[derive(Clone)]
struct Program {
    random: Random,
    size: usize,
}

/// One node of it.
struct Node {
    act: Act,
    pool: &'static Executor<'static>,
    parts: [Program; 2],
}

impl Program {
    fn new(random: Random, size: usize) -> Self {
        Self { random, size }
    }

    /// Its first node; `None` if it is a leaf.
    fn node(mut self) -> Option<Node> {
        if self.size <= 1 {
            return None;
        }
        let part = 1 + self.random.below(self.size);
        let parts = [part, self.size - part].map(|size| Self::new(self.random.split(), size));
        let act = match self.random.below(24) {
            0 => Act::Scope,
            1 => Act::Task,
            2 | 3 => Act::Elsewhere,
            4 => Act::Panic { forked: true },
            5 => Act::Panic { forked: false },
            6 => Act::Here,
            _ => Act::Join,
        };
        let pool = &pools()[self.random.below(2)];
        Some(Node { act, pool, parts })
    }

    /// The number of its leaves.
    fn leaves(self) -> u64 {
        self.node()
            .map_or(1, |node| node.parts.map(Self::leaves).iter().sum())
    }

    /// Runs it in the current place.
    fn run_here(self) -> u64 {
        Worker::with_current(|worker| self.run(worker))
    }

    /// Runs it, and returns the number of leaves that have run.
    fn run(self, worker: &Worker) -> u64 {
        let mut random = self.random.clone();
        let Some(Node {
            act,
            pool,
            parts: [one, two],
        }) = self.node()
        else {
            // Some leaves are long.
            let most = if random.once_in(20) { 20_000 } else { 50 };
            let spins = random.below(most);
            (0..spins).for_each(|_| std::hint::spin_loop());
            return 1;
        };
        match act {
            Act::Scope => {
                let (mut a, mut b) = (0, 0);
                scope(pool, |scope| {
                    scope.spawn(async { a = one.run_here() });
                    scope.spawn(async { b = two.run_here() });
                });
                a + b
            }
            Act::Task => {
                let task = pool.spawn(async move { one.run_here() });
                let (a, b) = worker.join(|_| block_on(task), |worker| two.run(worker));
                a + b
            }
            Act::Elsewhere => pool.with_worker(|inner| {
                let (a, b) = inner.join(|inner| one.run(inner), |_| two.run_here());
                a + b
            }),
            Act::Panic { forked } => {
                let ran = AtomicU64::new(0);
                let part = |program: Program, worker: &Worker, panics: bool| {
                    ran.fetch_add(program.run(worker), Ordering::Relaxed);
                    if panics {
                        resume_unwind(Box::new(forked));
                    }
                };
                let unwound = catch_unwind(AssertUnwindSafe(|| {
                    worker.join(
                        |worker| part(one, worker, forked),
                        |worker| part(two, worker, !forked),
                    )
                }));
                assert!(unwound.is_err());
                ran.into_inner()
            }
            Act::Here => one.run_here() + two.run_here(),
            Act::Join => {
                let (a, b) = worker.join(|worker| one.run(worker), |worker| two.run(worker));
                a + b
            }
        }
    }
}

/// Changes the numbers of workers until `over`.
fn resize(mut random: Random, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        let workers = random.below(5);
        let pool = &pools()[random.below(2)];
        pool.set_workers(workers).expect("threads start");
        thread::sleep(random.micros(2_000));
    }
}

#[test]
fn random_programs_run_each_leaf_once() {
    const SEEDS: u64 = if cfg!(miri) { 2 } else { 20 };
    let _watchdog = watchdog();
    for seed in 0..SEEDS {
        let mut random = Random::new(seed);
        let over = AtomicBool::new(false);
        thread::scope(|threads| {
            if random.once_in(2) {
                let random = random.split();
                threads.spawn(|| resize(random, &over));
            }
            let programs: Vec<_> = (0..3)
                .map(|_| {
                    let mut random = random.split();
                    threads.spawn(move || {
                        for _ in 0..20 {
                            let size = 1 + random.below(200);
                            let program = Program::new(random.split(), size);
                            let leaves = program.clone().leaves();
                            let pool = &pools()[random.below(2)];
                            let ran = match random.below(3) {
                                0 => pool.with_worker(|worker| program.run(worker)),
                                1 => block_on(pool.spawn(async { program.run_here() })),
                                _ => program.run_here(),
                            };
                            assert_eq!(ran, leaves, "seed {seed}");
                        }
                    })
                })
                .collect();
            for program in programs {
                program.join().expect("no assertion fails");
            }
            over.store(true, Ordering::Relaxed);
        });
        for pool in pools() {
            pool.set_workers(2).expect("threads start");
        }
    }
}
