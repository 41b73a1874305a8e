//! Which work a thread runs in the middle of a wait: the table in the executor's `DESIGN.md`, a test a cell.
//!
//! Each test blocks all threads of the pool but the waiter, and queues one item. Where the table says yes, the item runs before
//! the wait may end. Where it says no, the wait ends some time later, and the item has not run in it.
// The threads spin.
#![cfg(not(any(terrace_shuttle, miri)))]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, ThreadId};
use std::time::Duration;

use terrace_executor::{Builder, Executor};
use terrace_fork::{Worker, block_on, scope};
use terrace_sync::Mutex;
use terrace_testing::watchdog;
use terrace_thread::ThreadSpawner;

/// What the waiter waits for: a piece of work that another thread has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    /// The stolen half of its join.
    Join,
    /// The child of its scope.
    Scope,
    /// A task.
    BlockOn,
}

/// On which thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// A worker, in a task.
    Worker,
    /// A worker, in a task that is pinned to it.
    PinnedTask,
    /// A thread of the program, in `with_worker`.
    Guest,
}

/// What is queued during the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    Task,
    TaskOfPoolWithoutWorkers,
    TaskOfItsThread,
    PartOfABroadcast,
    /// Forked by a third thread.
    ForeignFork,
    /// Forked by the work that the waiter waits for.
    ForkInside,
    ForeignChild,
    /// A child that the awaited child spawns.
    ChildOfItsScope,
}

#[derive(Default)]
struct Stage {
    /// The work has begun on another thread.
    begun: AtomicBool,
    /// The waiter has come to its wait.
    came: AtomicBool,
    /// It waits.
    waits: AtomicBool,
    /// The work may end.
    release: AtomicBool,
    /// The item has run.
    ran: AtomicBool,
    /// It ran on the waiter, in its wait.
    ran_in_wait: AtomicBool,
    waiter: OnceLock<(ThreadId, ThreadSpawner)>,
}

static ALONE: Mutex<()> = Mutex::new(());

fn until(flag: &AtomicBool) {
    while !flag.load(Ordering::SeqCst) {
        thread::yield_now();
    }
}

impl Stage {
    fn item(&self) {
        let (waiter, _) = self.waiter.get().expect("the item comes after the waiter");
        let in_wait = self.waits.load(Ordering::SeqCst) && *waiter == thread::current().id();
        self.ran_in_wait.store(in_wait, Ordering::SeqCst);
        self.ran.store(true, Ordering::SeqCst);
    }

    /// Lets the wait go on until the item has run in it, if the table says so; else for a while.
    fn give_time(&self, runs: bool) {
        if runs {
            until(&self.ran);
        } else {
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// The work that the waiter waits for.
    fn work(&self, item: Item, runs: bool) {
        self.begun.store(true, Ordering::SeqCst);
        until(&self.came);
        if item == Item::ForkInside {
            terrace_fork::join(|| self.item(), || self.give_time(runs));
            self.release.store(true, Ordering::SeqCst);
        }
        until(&self.release);
    }

    /// The thread is going to wait.
    fn begins(&self) {
        until(&self.begun);
        self.waits.store(true, Ordering::SeqCst);
        self.came.store(true, Ordering::SeqCst);
    }

    fn wait(&self, pool: &Executor<'static>, worker: &Worker, wait: Wait, item: Item, runs: bool) {
        let this = (thread::current().id(), ThreadSpawner::current());
        assert!(self.waiter.set(this).is_ok(), "one waiter");
        match wait {
            Wait::Join => drop(worker.join(|_| self.work(item, runs), |_| self.begins())),
            Wait::Scope => scope(pool, |scope| {
                scope.spawn(async move {
                    if item == Item::ChildOfItsScope {
                        self.begun.store(true, Ordering::SeqCst);
                        until(&self.came);
                        scope.spawn(async { self.item() });
                    }
                    self.work(item, runs);
                });
                self.begins();
            }),
            Wait::BlockOn => unreachable!("the task needs an owned stage"),
        }
        self.waits.store(false, Ordering::SeqCst);
    }
}

/// One cell of the table.
fn cell(wait: Wait, place: Place, item: Item, runs: bool) {
    let _watchdog = watchdog();
    // Any thread of the process that waits in `block_on` may run a task of a pool without workers.
    let alone = ALONE.lock();
    let workers = match place {
        Place::Worker | Place::PinnedTask => 2,
        Place::Guest => 1,
    };
    let pool = Arc::new(Builder::new().workers(workers).spares(false).build());
    let bare = Builder::new().workers(0).build();
    let stage = Arc::new(Stage::default());
    let (theirs, executor) = (stage.clone(), pool.clone());
    let waiter = move |worker: &Worker| {
        if wait == Wait::BlockOn {
            let this = (thread::current().id(), ThreadSpawner::current());
            assert!(theirs.waiter.set(this).is_ok(), "one waiter");
            let stage = theirs.clone();
            let task = executor.spawn(async move { stage.work(item, runs) });
            theirs.begins();
            block_on(task);
            theirs.waits.store(false, Ordering::SeqCst);
        } else {
            theirs.wait(&executor, worker, wait, item, runs);
        }
    };
    let (task, guest) = match place {
        Place::Worker => {
            let task = pool.spawn(async move { Worker::with_current(waiter) });
            (Some(task), None)
        }
        Place::PinnedTask => {
            let [worker, _] = &pool.worker_spawners()[..] else {
                unreachable!("the pool has two workers")
            };
            let task = worker.spawn(async move { Worker::with_current(waiter) });
            (Some(task), None)
        }
        Place::Guest => {
            let pool = pool.clone();
            let guest = thread::spawn(move || pool.with_worker(waiter));
            (None, Some(guest))
        }
    };
    until(&stage.came);
    let shown = stage.clone();
    let mut queued = None;
    match item {
        Item::Task => queued = Some(pool.spawn(async move { shown.item() })),
        Item::TaskOfPoolWithoutWorkers => queued = Some(bare.spawn(async move { shown.item() })),
        Item::TaskOfItsThread => {
            let (_, spawner) = stage.waiter.get().expect("it waits");
            queued = Some(spawner.spawn(async move { shown.item() }));
        }
        Item::PartOfABroadcast => pool.with_worker(|worker| {
            let (waiter, _) = *stage.waiter.get().expect("it waits");
            worker.spawn_broadcast(move |_| {
                if thread::current().id() == waiter {
                    shown.item();
                }
            });
        }),
        Item::ForeignFork => pool.with_worker(|worker| {
            let ((), ()) = worker.join(|_| shown.item(), |_| stage.give_time(runs));
        }),
        Item::ForeignChild => scope(&pool, |scope| {
            scope.spawn(async { shown.item() });
            stage.give_time(runs);
            // The waiter does not end before this: the scope's own thread may take the child.
            stage.release.store(true, Ordering::SeqCst);
        }),
        // The work queues it.
        Item::ForkInside | Item::ChildOfItsScope => {}
    }
    if item != Item::ForkInside {
        stage.give_time(runs);
        stage.release.store(true, Ordering::SeqCst);
    }
    task.into_iter().for_each(block_on);
    guest.into_iter().for_each(|guest| guest.join().unwrap());
    if item == Item::TaskOfPoolWithoutWorkers {
        queued.into_iter().for_each(|task| block_on(bare.run(task)));
    } else {
        queued.into_iter().for_each(block_on);
    }
    assert!(stage.ran.load(Ordering::SeqCst), "the item is lost");
    assert_eq!(stage.ran_in_wait.load(Ordering::SeqCst), runs);
    drop(alone);
}

/// One test a cell: the table.
macro_rules! table {
    ($($name:ident: $item:ident, $join:literal $scope:literal $block_on:literal;)+) => {$(
        mod $name {
            use super::{Item, Place, Wait, cell};

            #[test]
            fn in_a_join_of_a_worker() {
                cell(Wait::Join, Place::Worker, Item::$item, $join);
            }

            #[test]
            fn in_a_join_of_a_guest() {
                cell(Wait::Join, Place::Guest, Item::$item, $join);
            }

            #[test]
            fn in_a_scope_of_a_worker() {
                cell(Wait::Scope, Place::Worker, Item::$item, $scope);
            }

            #[test]
            fn in_a_scope_of_a_guest() {
                cell(Wait::Scope, Place::Guest, Item::$item, $scope);
            }

            #[test]
            fn in_block_on_of_a_worker() {
                cell(Wait::BlockOn, Place::Worker, Item::$item, $block_on);
            }

            #[test]
            fn in_block_on_of_a_guest() {
                cell(Wait::BlockOn, Place::Guest, Item::$item, $block_on);
            }
        }
    )+};
}

table! {
    //                                                   join  scope block_on
    a_task_of_the_pool: Task,                            false false false;
    a_task_of_a_pool_without_workers: TaskOfPoolWithoutWorkers, false false true;
    a_task_of_the_waiters_thread: TaskOfItsThread,       true  true  true;
    a_job_that_another_thread_forked: ForeignFork,       false false false;
    a_job_forked_inside_of_what_it_waits_for: ForkInside, true false false;
    a_child_of_another_scope: ForeignChild,              false false false;
}

/// One test a cell, for waits of one place.
macro_rules! waits {
    ($($name:ident: $place:ident $item:ident, $runs:literal;)+) => {$(
        mod $name {
            use super::{Item, Place, Wait, cell};

            #[test]
            fn in_a_join() {
                cell(Wait::Join, Place::$place, Item::$item, $runs);
            }

            #[test]
            fn in_a_scope() {
                cell(Wait::Scope, Place::$place, Item::$item, $runs);
            }

            #[test]
            fn in_block_on() {
                cell(Wait::BlockOn, Place::$place, Item::$item, $runs);
            }
        }
    )+};
}

waits! {
    a_part_of_a_broadcast_on_a_worker: Worker PartOfABroadcast, true;
    a_part_of_a_broadcast_in_a_pinned_task: PinnedTask PartOfABroadcast, true;
    a_task_of_the_waiters_thread_in_another_one: PinnedTask TaskOfItsThread, false;
}

/// A child that the awaited one spawns.
mod a_child_of_its_scope {
    use super::{Item, Place, Wait, cell};

    #[test]
    fn in_the_scope_of_a_worker() {
        cell(Wait::Scope, Place::Worker, Item::ChildOfItsScope, true);
    }

    #[test]
    fn in_the_scope_of_a_guest() {
        cell(Wait::Scope, Place::Guest, Item::ChildOfItsScope, true);
    }
}
