//! Tasks woken from threads that are no workers, and tasks pinned to one worker.

use terrace_executor::{Builder, Executor, Shutdown, Task, block_on, current};
use terrace_shuttle_tests::{Gate, explore, pause};
use terrace_sync::{Arc, Mutex, thread};
use terrace_thread::ThreadSpawner;

fn pool(workers: usize) -> Arc<Executor<'static>> {
    Arc::new(Builder::new().workers(workers).build())
}

/// Two threads wake tasks that wait, one after the other.
#[test]
fn wakes_from_remote_threads() {
    explore(|| {
        let pool = pool(8);
        let gates: Vec<_> = (0..4).map(|_| Gate::new()).collect();
        let tasks: Vec<_> = gates.iter().map(|gate| pool.spawn(gate.pass())).collect();
        let openers: Vec<_> = gates
            .chunks(2)
            .map(|gates| {
                let gates = gates.to_vec();
                thread::spawn(move || gates.iter().for_each(Gate::open))
            })
            .collect();
        for task in tasks {
            block_on(task);
        }
        for opener in openers {
            opener.join().expect("ends");
        }
    });
}

/// A chain of tasks each of which wakes the next one: one wake is in flight at any time.
#[test]
fn a_chain_of_wakes() {
    explore(|| {
        let pool = pool(8);
        let gates: Vec<_> = (0..6).map(|_| Gate::new()).collect();
        for pair in gates.windows(2) {
            let (wait, next) = (pair[0].pass(), pair[1].clone());
            let hands_on = async move {
                wait.await;
                next.open();
            };
            pool.spawn(hands_on).detach();
        }
        pause();
        gates[0].open();
        block_on(gates[5].pass());
    });
}

/// Spawns onto one given worker, which may be asleep, searching or running.
///
/// Fails under `park-private-rescan`: a worker goes to sleep without a look at the tasks that only it can run.
#[test]
fn pinned_tasks_run_on_their_worker() {
    explore(|| {
        let pool = pool(2);
        let found = block_on(pool.spawn(async {
            let worker = current().expect("on a worker").worker();
            (worker, ThreadSpawner::current())
        }));
        let (worker, spawner) = found;
        let gate = Gate::new();
        for _ in 0..2 {
            let wait = gate.pass();
            let task = spawner.spawn(async move {
                wait.await;
                current().map(|current| current.worker())
            });
            pause();
            gate.open();
            assert_eq!(block_on(task), Some(worker));
        }
    });
}

/// Pinned tasks of several workers, woken by each other and by external threads.
#[test]
fn pinned_tasks_wake_each_other() {
    explore(|| {
        let pool = pool(8);
        let spawners = Arc::new(Mutex::new(Vec::new()));
        let tasks: Vec<_> = (0..2)
            .map(|_| {
                let spawners = Arc::clone(&spawners);
                pool.spawn(async move {
                    spawners.lock().push(ThreadSpawner::current());
                })
            })
            .collect();
        for task in tasks {
            block_on(task);
        }
        let spawners = std::mem::take(&mut *spawners.lock());
        let gates: Vec<_> = (0..3).map(|_| Gate::new()).collect();
        let tasks: Vec<_> = spawners
            .iter()
            .enumerate()
            .map(|(i, spawner)| {
                let (wait, next) = (gates[i].pass(), gates[i + 1].clone());
                spawner.spawn(async move {
                    wait.await;
                    next.open();
                })
            })
            .collect();
        gates[0].open();
        block_on(gates[2].pass());
        for task in tasks {
            block_on(task);
        }
    });
}

/// A task that is pinned to a spare of its pool, whose only worker waited until then. The task waits for the gate.
struct Pinned {
    pool: Arc<Executor<'static>>,
    gate: Gate,
    task: Task<Option<usize>>,
}

fn pinned_to_a_spare() -> Pinned {
    let (pool, gate) = (pool(1), Gate::new());
    let (own, wait) = (Arc::clone(&pool), gate.pass());
    let slot = Arc::new(Mutex::new(None));
    let filled = Arc::clone(&slot);
    let is_filled = Gate::new();
    let outer = pool.spawn(async move {
        let pass = is_filled.pass();
        let pins = async move {
            let task = terrace_thread::spawn_local(async move {
                wait.await;
                current().map(|current| current.worker())
            });
            *filled.lock() = Some(task);
            is_filled.open();
        };
        own.spawn(pins).detach();
        block_on(pass);
    });
    block_on(outer);
    let task = slot.lock().take();
    let task = task.expect("the worker has waited for it");
    Pinned { pool, gate, task }
}

/// The spare goes to sleep, or has slept, when its pinned task is woken. It stays for that task.
#[test]
fn a_task_that_is_pinned_to_a_spare_ends() {
    explore(|| {
        let Pinned { pool, gate, task } = pinned_to_a_spare();
        let opener = thread::spawn(move || {
            pause();
            gate.open();
        });
        assert_eq!(block_on(pool.spawn(async { 1 })), 1);
        assert_eq!(block_on(task), Some(1));
        opener.join().expect("ends");
    });
}

/// A spare with a pinned task hears of the end of its pool, wherever it is then.
#[test]
fn a_spare_with_a_pinned_task_ends_with_its_pool() {
    explore(|| {
        let Pinned {
            pool,
            gate: _gate,
            task,
        } = pinned_to_a_spare();
        pool.shutdown(Shutdown::RunQueued, None).expect("no limit");
        assert_eq!(pool.threads(), 0);
        assert_eq!(block_on(task.fallible()), None);
    });
}
