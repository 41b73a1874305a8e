//! A round in which the metrics of a pool, and of single-thread executors, are compared with the round's own counts.
//!
//! Tasks yield, nap, spawn others, and panic. Nothing in them waits on its thread, so each of their polls is one of a worker, of a
//! driver, or of a single-thread executor.

use std::future::Future;
use std::pin::Pin;

use terrace_executor::{
    Builder, Current, Executor, Lane, Metrics, RunnerMetrics, Shutdown, block_on,
};
use terrace_local::LocalExecutor;
use terrace_sync::Arc;
use terrace_sync::atomic::{AtomicUsize, Ordering};
use terrace_testing::{Polled, Random};

use crate::account::{Account, Ledger, Totals, panic_as_planned};
use crate::futures::{naps, spin, yields};
use crate::round;
use crate::wakery::{Counter, Wakery};
use crate::watchdog::Watchdog;

/// Workers of the pool.
const WORKERS: [usize; 6] = [0, 1, 1, 2, 3, 5];
/// Tasks that one thread of the round spawns, at most.
const TASKS: usize = 200;
/// How deep tasks spawn tasks.
const DEPTH: usize = 3;

/// What the round has seen.
#[derive(Default)]
struct Seen {
    spawned: AtomicUsize,
    polls: Arc<AtomicUsize>,
}

/// A task that counts its polls.
type Counted = Polled<Pin<Box<dyn Future<Output = ()> + Send>>>;

/// What all tasks of a round share.
#[derive(Clone)]
struct Tasks {
    ledger: Arc<Ledger>,
    counter: Counter,
    /// Of the pool.
    seen: Arc<Seen>,
}

impl Tasks {
    fn task(&self, account: Account, mut random: Random, depth: usize) -> Counted {
        self.seen.spawned.fetch_add(1, Ordering::Relaxed);
        let tasks = self.clone();
        let life = async move {
            match random.below(6) {
                0 => yields(random.below(5)).await,
                1 => naps(tasks.counter.clone(), 1 + random.below(2)).await,
                2 => spin(&mut random),
                3..=4 if depth > 0 => {
                    if let Some(spawner) = Current::spawner() {
                        for _ in 0..random.below(5) {
                            let account = tasks.ledger.open("spawned inside");
                            let task = tasks.task(account, random.split(), depth - 1);
                            spawner.spawn(task).detach();
                        }
                    }
                }
                5 if random.once_in(4) => {
                    let _accounted = account;
                    panic_as_planned();
                }
                _ => {}
            }
            account.finish();
        };
        // A task spawns others of its type, so the future has no type of its own.
        let life: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(life);
        Polled::new(&self.seen.polls, life)
    }
}

/// Runs round `number`, which has these choices.
pub(crate) fn run(number: u64, mut random: Random, watchdog: &Watchdog) -> Result<Totals, String> {
    let ledger = Arc::new(Ledger::default());
    let handler = Arc::clone(&ledger);
    let workers = random.of(&WORKERS);
    let builder = Builder::new()
        .workers(workers)
        .panic_handler(move |payload| handler.handle(payload));
    let executor: Arc<Executor<'static>> = Arc::new(builder.build());
    let threads = 1 + random.below(3);
    watchdog.begin(
        number,
        &ledger,
        std::slice::from_ref(&executor),
        threads + 1,
    );
    let wakery = Wakery::open(1, &ledger, &mut random);
    let tasks = Tasks {
        ledger: Arc::clone(&ledger),
        counter: wakery.counter(),
        seen: Arc::default(),
    };
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (mut random, tasks, executor) = (random.split(), &tasks, &executor);
            scope.spawn(move || {
                watchdog.doing(thread, "spawns, and drives");
                spawn_some(executor, tasks, &mut random);
                watchdog.doing(thread, "has an executor of its own");
                a_thread_of_its_own(number, tasks, &mut random);
                watchdog.doing(thread, "is done");
            });
        }
    });
    watchdog.doing(threads, "finishes all tasks");
    executor
        .shutdown(Shutdown::FinishAll, None)
        .expect("without a limit it waits");
    compare(number, workers, &executor.metrics(), &tasks.seen)?;
    drop((executor, tasks));
    watchdog.doing(threads, "closes the wakery, and waits for the balance");
    round::balance(number, &ledger, wakery, watchdog)
}

fn spawn_some(executor: &Executor<'static>, tasks: &Tasks, random: &mut Random) {
    for _ in 0..random.below(TASKS) {
        let lane = random.of(&[Lane::High, Lane::Normal, Lane::Normal, Lane::Background]);
        let task = tasks.task(tasks.ledger.open("counted"), random.split(), DEPTH);
        executor.spawn_on(lane, task).detach();
        if random.once_in(30) {
            block_on(executor.run(yields(random.below(8))));
        }
    }
}

/// Tasks of a single-thread executor, from its thread and from another one, queued and eager, some cancelled.
fn a_thread_of_its_own(number: u64, tasks: &Tasks, random: &mut Random) {
    let seen = Arc::new(Seen::default());
    let tasks = Tasks {
        seen: Arc::clone(&seen),
        ..tasks.clone()
    };
    let executor = LocalExecutor::new();
    let ledger = Arc::clone(&tasks.ledger);
    executor.set_panic_handler(move |payload| ledger.handle(payload));
    let task = |random: &mut Random| {
        let account = tasks.ledger.open("on a thread of its own");
        tasks.task(account, random.split(), 0)
    };
    for _ in 0..random.below(TASKS / 4) {
        let task = task(random);
        match random.below(4) {
            0 => executor.spawn(task).detach(),
            1 => executor.spawn_eager(task).detach(),
            2 => drop(executor.spawn(task)),
            _ => {
                let spawner = executor.spawner();
                let thread = std::thread::spawn(move || spawner.spawn(task).detach());
                thread.join().expect("a spawn does not panic");
            }
        }
        if random.once_in(5) {
            executor.run_for(random.below(10));
        }
    }
    while !executor.is_empty() {
        block_on(executor.tick());
    }
    let metrics = executor.metrics();
    let (spawned, polls) = seen.sums();
    assert_eq!(
        (metrics.spawned_tasks_count(), metrics.num_alive_tasks()),
        (spawned, 0),
        "round {number}: {metrics:?}"
    );
    assert_eq!(
        (metrics.poll_count(), metrics.queue_depth()),
        (polls, 0),
        "round {number}: {metrics:?}"
    );
}

impl Seen {
    fn sums(&self) -> (usize, usize) {
        let spawned = self.spawned.load(Ordering::Relaxed);
        (spawned, self.polls.load(Ordering::Relaxed))
    }
}

/// The numbers of a pool whose tasks have all ended, and whose threads have.
fn compare(number: u64, workers: usize, metrics: &Metrics, seen: &Seen) -> Result<(), String> {
    let (spawned, polls) = seen.sums();
    let sum = |count: fn(&RunnerMetrics) -> usize| -> usize {
        let seats = metrics.workers().iter().chain(metrics.drivers());
        seats.map(count).sum()
    };
    let depths = metrics.global_queue_depth()
        + metrics.high_queue_depth()
        + metrics.background_queue_depth()
        + sum(RunnerMetrics::local_queue_depth);
    let polled = sum(RunnerMetrics::poll_count);
    // A pool without workers is also polled by threads that wait, which have no seat.
    let polls_agree = polled == polls || workers == 0 && polled < polls;
    let agrees = metrics.spawned_tasks_count() == spawned
        && metrics.num_alive_tasks() == 0
        && depths == 0
        && polls_agree
        && sum(RunnerMetrics::steal_operations) <= sum(RunnerMetrics::steal_count);
    if agrees {
        return Ok(());
    }
    Err(format!(
        "round {number}: {spawned} tasks were spawned and polled {polls} times, but the pool says {metrics:?}"
    ))
}
