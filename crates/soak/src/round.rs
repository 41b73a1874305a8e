//! One round: executors of its own, threads that act on them, an end, and the balance.

use std::task::Waker;
use std::time::{Duration, Instant};

use terrace_executor::{Builder, Executor, block_on};
use terrace_sync::Arc;
use terrace_testing::Random;

use crate::account::{Ledger, Totals};
use crate::act::Actor;
use crate::mixed;
use crate::numbers;
use crate::wakery::Wakery;
use crate::watchdog::Watchdog;

/// Workers that an executor starts with.
const WORKERS: [usize; 8] = [0, 1, 1, 2, 2, 3, 4, 9];
/// How long tasks may take to be dropped after the last handle of their executor.
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs round `number` of the soak with this seed.
pub(crate) fn run(seed: u64, number: u64, watchdog: &Watchdog) -> Result<Totals, String> {
    let mut random = Random::new(seed ^ number.wrapping_mul(0xD6E8_FEB8_6659_FD93));
    if random.once_in(8) {
        return numbers::run(number, random, watchdog);
    }
    if random.once_in(2) {
        return mixed::run(number, random, watchdog);
    }
    let ledger = Arc::new(Ledger::default());
    let executors: Vec<_> = (0..1 + random.below(2))
        .map(|_| executor(&ledger, &mut random))
        .collect();
    let actors = 1 + random.below(3);
    watchdog.begin(number, &ledger, &executors, actors + 1);
    let wakery = Wakery::open(1 + random.below(2), &ledger, &mut random);
    let threads: Vec<_> = (0..actors)
        .map(|thread| {
            let actor = Actor::new(
                thread,
                &executors,
                &ledger,
                wakery.counter(),
                watchdog.clone(),
                random.split(),
            );
            std::thread::spawn(move || actor.play())
        })
        .collect();
    watchdog.doing(actors, "waits for the threads of the round");
    for thread in threads {
        thread
            .join()
            .map_err(|_| format!("round {number}: a thread panicked\n{}", watchdog.dump()))?;
    }
    watchdog.doing(actors, "ends the executors");
    for executor in executors {
        end(executor, &mut random);
    }
    watchdog.doing(actors, "closes the wakery, and waits for the balance");
    balance(number, &ledger, wakery, watchdog)
}

/// The end of a round whose executors are gone: everything is accounted for.
pub(crate) fn balance(
    number: u64,
    ledger: &Arc<Ledger>,
    wakery: Wakery,
    watchdog: &Watchdog,
) -> Result<Totals, String> {
    let kept = wakery.close();
    settle(number, ledger, watchdog)?;
    let start = Instant::now();
    // Wakers of tasks, and executors, that are no more.
    kept.into_iter().for_each(Waker::wake);
    // The executors are gone: no thread holds the ledger but the watchdog.
    while Arc::strong_count(ledger) > 2 {
        if start.elapsed() >= PATIENCE {
            return Err(format!("round {number}: something of a future is leaked"));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(ledger.totals())
}

/// Waits until everything is accounted for.
pub(crate) fn settle(number: u64, ledger: &Ledger, watchdog: &Watchdog) -> Result<(), String> {
    let start = Instant::now();
    while !ledger.totals().is_balanced() {
        if start.elapsed() >= PATIENCE {
            let dump = watchdog.dump();
            return Err(format!("round {number}: futures are leaked\n{dump}"));
        }
        // Tasks that were pinned to this thread, while it drove an executor, end on it.
        if !terrace_thread::tick() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    Ok(())
}

fn executor(ledger: &Arc<Ledger>, random: &mut Random) -> Arc<Executor<'static>> {
    let handler = Arc::clone(ledger);
    let builder = Builder::new()
        .workers(random.of(&WORKERS))
        .panic_handler(move |payload| handler.handle(payload));
    Arc::new(builder.build())
}

/// Drops the executor, with all tasks that are in it: here, on a thread of its own, or in one of its tasks.
fn end(executor: Arc<Executor<'static>>, random: &mut Random) {
    check_numbers(&executor);
    match random.below(4) {
        0 => {
            let thread = std::thread::spawn(move || drop(executor));
            thread.join().expect("dropping does not panic");
        }
        1 if executor.workers() > 0 => {
            let own = Arc::clone(&executor);
            executor.spawn(async move { drop(own) }).detach();
            drop(executor);
        }
        2 => {
            // As far as the tasks come that are ready now.
            while executor.try_tick() {}
            drop(executor);
        }
        3 => {
            block_on(executor.run(crate::futures::yields(random.below(20))));
            drop(executor);
        }
        _ => drop(executor),
    }
}

/// What the executor's metrics say agrees with each other, also while its threads act.
fn check_numbers(executor: &Executor<'static>) {
    let metrics = executor.metrics();
    assert!(
        metrics.num_alive_tasks() <= metrics.spawned_tasks_count(),
        "{metrics:?}"
    );
}
