//! One thread of a round: a few hundred random acts on the round's executors.

mod joins;
mod spawns;

use std::cell::RefCell;
use std::future::Future;

use terrace_executor::{Executor, Task, block_on};
use terrace_sync::Arc;
use terrace_sync::atomic::{AtomicU64, Ordering};
use terrace_testing::Random;
use terrace_thread::ThreadSpawner;

use crate::account::{Ledger, expect_planned_panics_only, panic_as_planned};
use crate::futures::{life, naps, never, panicking_life, yields};
use crate::wakery::Counter;
use crate::watchdog::Watchdog;

/// Acts of one thread in one round, at most.
const ACTS: usize = 200;
/// Workers that a resize asks for.
const RESIZED: [usize; 7] = [0, 1, 1, 2, 3, 5, 8];

/// A thread that acts.
pub(crate) struct Actor {
    thread: usize,
    executors: Vec<Arc<Executor<'static>>>,
    ledger: Arc<Ledger>,
    counter: Counter,
    watchdog: Watchdog,
    random: Random,
    /// Handles that this actor has not dropped, detached or awaited yet.
    tasks: Vec<Task<u32>>,
}

/// An act of an actor: its name for the watchdog, and its function.
type Act = (&'static str, fn(&mut Actor));

const ALL: [Act; 21] = [
    ("spawns", Actor::spawn),
    ("spawns", Actor::spawn),
    ("spawns and detaches", Actor::spawn_detached),
    ("spawns a batch", Actor::spawn_batch),
    ("spawns from a task", Actor::spawn_inside),
    ("spawns what never ends", Actor::spawn_endless),
    ("spawns what panics", Actor::spawn_panicking),
    ("spawns what panics when dropped", Actor::spawn_armed),
    ("awaits a task", Actor::await_one),
    ("awaits a task", Actor::await_one),
    ("cancels a task", Actor::cancel_one),
    ("drops a handle", Actor::drop_one),
    ("waits in a scope", Actor::scope),
    (
        "waits in a scope whose children panic",
        Actor::panicking_scope,
    ),
    ("joins", Actor::join),
    ("waits in a scope of every kind", Actor::scope_of_kinds),
    ("spawns onto a worker's thread", Actor::pin),
    ("blocks in a task", Actor::block_inside),
    ("drives", Actor::drive),
    ("ends a thread whose locals spawn", Actor::end_a_thread),
    ("looks into a pool", Actor::look),
];

impl Actor {
    pub(crate) fn new(
        thread: usize,
        executors: &[Arc<Executor<'static>>],
        ledger: &Arc<Ledger>,
        counter: Counter,
        watchdog: Watchdog,
        random: Random,
    ) -> Self {
        Self {
            thread,
            executors: executors.to_vec(),
            ledger: Arc::clone(ledger),
            counter,
            watchdog,
            random,
            tasks: Vec::new(),
        }
    }

    /// Acts, and leaves some handles to be dropped, or detached.
    pub(crate) fn play(mut self) {
        for _ in 0..self.random.below(ACTS) {
            let (name, act) = self.random.of(&ALL);
            self.watchdog.doing(self.thread, name);
            self.ledger.act();
            act(&mut self);
            if self.random.once_in(20) {
                self.watchdog.doing(self.thread, "resizes");
                self.resize();
            }
            if self.random.once_in(20) {
                // Long enough for every thread to fall asleep.
                std::thread::sleep(self.random.micros(2_000));
            }
        }
        self.watchdog.doing(self.thread, "lets its handles go");
        let tasks = std::mem::take(&mut self.tasks);
        for task in tasks {
            if self.random.once_in(2) {
                task.detach();
            } else {
                expect_planned_panics_only(|| drop(task));
            }
        }
        self.watchdog.doing(self.thread, "is done");
    }

    fn executor(&mut self) -> Arc<Executor<'static>> {
        let at = self.random.below(self.executors.len());
        Arc::clone(&self.executors[at])
    }

    fn take_task(&mut self) -> Option<Task<u32>> {
        (!self.tasks.is_empty()).then(|| {
            let at = self.random.below(self.tasks.len());
            self.tasks.swap_remove(at)
        })
    }

    fn await_one(&mut self) {
        if let Some(task) = self.take_task() {
            self.wait(task);
        }
    }

    fn wait<T>(&mut self, future: impl Future<Output = T>) {
        expect_planned_panics_only(|| block_on(future));
    }

    /// A dump of a pool at work comes back, and is whole.
    fn look(&mut self) {
        let executor = self.executor();
        let dump = executor.dump();
        assert!(dump.to_json().ends_with('}'), "cut off: {dump}");
    }

    fn cancel_one(&mut self) {
        if let Some(task) = self.take_task() {
            self.wait(task.cancel());
        }
    }

    fn drop_one(&mut self) {
        if let Some(task) = self.take_task() {
            expect_planned_panics_only(|| drop(task));
        }
    }

    fn scope(&mut self) {
        let executor = self.executor();
        let children: Vec<_> = (0..self.random.below(12))
            .map(|_| {
                (
                    self.ledger.open("scope"),
                    self.counter.clone(),
                    self.random.split(),
                )
            })
            .collect();
        let expected = children.len() as u64;
        let sum = AtomicU64::new(0);
        terrace_fork::scope(&executor, |scope| {
            for (account, counter, random) in children {
                let sum = &sum;
                scope.spawn(async move {
                    sum.fetch_add(
                        u64::from(life(account, counter, random).await),
                        Ordering::Relaxed,
                    );
                });
            }
        });
        assert_eq!(sum.into_inner(), expected, "children of a scope are lost");
    }

    fn panicking_scope(&mut self) {
        let executor = self.executor();
        let children: Vec<_> = (0..1 + self.random.below(6))
            .map(|_| {
                (
                    self.ledger.open("panicking_scope"),
                    self.counter.clone(),
                    self.random.split(),
                )
            })
            .collect();
        let body_panics = self.random.once_in(4);
        expect_planned_panics_only(|| {
            terrace_fork::scope(&executor, |scope| {
                for (account, counter, random) in children {
                    scope.spawn(async move {
                        panicking_life(account, counter, random).await;
                    });
                }
                if body_panics {
                    panic_as_planned();
                }
            });
        });
    }

    fn pin(&mut self) {
        let executor = self.executor();
        let (account, counter) = (self.ledger.open("pin"), self.counter.clone());
        let times = self.random.below(3);
        let spawner = executor.spawn(async move {
            account.finish();
            ThreadSpawner::current()
        });
        let (ledger, own) = (Arc::clone(&self.ledger), Arc::downgrade(&executor));
        let pinned = async move {
            let spawner = spawner.await;
            let account = ledger.open("pinned");
            let there = spawner.spawn_with(move || {
                let home = std::thread::current().id();
                async move {
                    let (_own, stays) = (own, std::rc::Rc::new(home));
                    naps(counter, times).await;
                    assert_eq!(*stays, std::thread::current().id(), "a pinned task moved");
                    account.finish();
                }
            });
            // Its thread may end before: then it is dropped, and so is this.
            there.fallible().await;
            1
        };
        let task = executor.spawn(pinned);
        self.tasks.push(task);
    }

    fn block_inside(&mut self) {
        let (here, there) = (self.executor(), self.executor());
        let (account, life) = (self.ledger.open("block_inside"), self.life());
        let blocks = async move {
            let inner = there.spawn(life);
            drop(there);
            let sum = block_on(inner.fallible()).unwrap_or(0);
            account.finish();
            sum
        };
        // While it waits on a worker, that pool must not be the one whose last reference it drops.
        let task = here.spawn(blocks);
        self.wait(task);
    }

    fn drive(&mut self) {
        let executor = self.executor();
        match self.random.below(3) {
            0 => {
                for _ in 0..self.random.below(10) {
                    executor.try_tick();
                }
            }
            1 => {
                let times = self.random.below(8);
                block_on(executor.run(yields(times)));
            }
            _ => {
                // A driver that is polled once and dropped.
                let counter = self.counter.clone();
                let mut run = Box::pin(executor.run(never(counter)));
                let waker = std::task::Waker::noop();
                let mut context = std::task::Context::from_waker(waker);
                for _ in 0..self.random.below(3) {
                    assert!(run.as_mut().poll(&mut context).is_pending());
                }
            }
        }
    }

    fn resize(&mut self) {
        let workers = self.random.of(&RESIZED);
        let executor = self.executor();
        executor
            .set_workers(workers)
            .expect("threads can be started");
    }

    fn end_a_thread(&mut self) {
        let last = LastWords {
            executor: self.executor(),
            lives: (0..self.random.below(4))
                .map(|_| {
                    let life: Life = Box::pin(self.life());
                    life
                })
                .collect(),
        };
        let thread = std::thread::spawn(move || {
            // The thread has a core of its own, which is closed before or after the words are said.
            terrace_thread::spawn_local(async {}).detach();
            LAST.with(|cell| *cell.borrow_mut() = Some(last));
        });
        thread.join().expect("its destructors do not panic");
    }
}

type Life = std::pin::Pin<Box<dyn Future<Output = u32> + Send>>;

/// Spawns when its thread ends, and blocks on one of the tasks.
struct LastWords {
    executor: Arc<Executor<'static>>,
    lives: Vec<Life>,
}

terrace_sync::thread_local! {
    static LAST: RefCell<Option<LastWords>> = const { RefCell::new(None) };
}

impl Drop for LastWords {
    fn drop(&mut self) {
        for life in self.lives.drain(..) {
            self.executor.spawn(life).detach();
        }
        self.executor.try_tick();
    }
}
