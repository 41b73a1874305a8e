//! A round in which two pools, one of them without workers, spawn onto each other: in all lanes, blocking, by `run` and
//! in scopes. Workers come and go, and their hooks block. So do waiting threads.

mod program;
mod rival;

use std::sync::{Mutex, PoisonError};
use std::task::{Poll, Waker};
use std::thread::JoinHandle;
use std::time::Duration;

use terrace_executor::{Builder, Executor, Shutdown, block_on};
use terrace_fork::scope;
use terrace_sync::Arc;
use terrace_sync::atomic::{AtomicBool, AtomicU64, Ordering};

use self::program::{Pools, Program};
use crate::account::{Ledger, Totals, expect_planned_panics_only};
use crate::round;
use crate::wakery::Wakery;
use crate::watchdog::Watchdog;
use terrace_testing::Random;

/// Workers that the first pool starts with, and is resized to. The other one has none.
const WORKERS: [usize; 6] = [0, 1, 1, 2, 2, 3];
/// Programs that one thread runs in one round, at most.
const PROGRAMS: usize = 12;
/// How deep tasks spawn tasks.
const DEPTH: usize = 3;
/// Of so many threads of a pool that start or end, one blocks in its hook.
const HOOKS: u64 = 3;
/// How long a hook blocks.
const NAP: Duration = Duration::from_micros(200);
/// How long a shutdown waits for threads.
const LIMIT: Duration = Duration::from_millis(2);

/// Lets threads that wait for the whole round go.
#[derive(Default)]
struct Stop(Mutex<(bool, Vec<Waker>)>);

impl Stop {
    fn stop(&self) {
        let wakers = {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            state.0 = true;
            std::mem::take(&mut state.1)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    async fn stopped(&self) {
        std::future::poll_fn(|context| {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if state.0 {
                return Poll::Ready(());
            }
            state.1.push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

/// Runs round `number`, which has these choices.
pub(crate) fn run(number: u64, mut random: Random, watchdog: &Watchdog) -> Result<Totals, String> {
    let ledger = Arc::new(Ledger::default());
    let (waiters, actors) = (random.below(3), 1 + random.below(3));
    let wakery = Wakery::open(1 + random.below(2), &ledger, &mut random);
    let workers = random.of(&WORKERS);
    // A worker that blocks its thread strands no thread in a scope of its pool; it may strand one in `block_on`.
    let may_block = waiters == 2;
    let pools = Arc::new(Pools {
        executors: [workers, 0].map(|workers| pool(workers, &ledger)),
        may_block: AtomicBool::new(may_block),
    });
    watchdog.begin(number, &ledger, &pools.executors, waiters + actors + 1);
    let stop = Arc::new(Stop::default());
    let mut start = |thread: usize, what: Box<dyn FnOnce(Random) + Send>| {
        let (random, watchdog) = (random.split(), watchdog.clone());
        std::thread::spawn(move || {
            watchdog.doing(thread, "runs programs, or waits");
            what(random);
            watchdog.doing(thread, "is done");
        })
    };
    let waiting: Vec<_> = (0..waiters)
        .map(|thread| {
            let (stop, pool) = (Arc::clone(&stop), Arc::clone(&pools.executors[0]));
            let in_a_scope = may_block && thread == 0;
            let wait = move |_| match in_a_scope {
                true => scope(&pool, |scope| scope.spawn(stop.stopped())),
                false => block_on(stop.stopped()),
            };
            start(thread, Box::new(wait))
        })
        .collect();
    let acting: Vec<_> = (waiters..waiters + actors)
        .map(|thread| {
            let (pools, ledger) = (Arc::clone(&pools), Arc::clone(&ledger));
            let program = Program::new(&pools, &ledger, wakery.counter());
            let play = move |mut random: Random| {
                for _ in 0..random.below(PROGRAMS) {
                    play(&program, &mut random);
                    if waiters > 0 && random.once_in(4) {
                        rival::meet(&pools, waiters, &ledger, &mut random);
                    }
                }
            };
            start(thread, Box::new(play))
        })
        .collect();
    let own = waiters + actors;
    // A pool that loses its workers wakes all waiting threads, which would hide a notification that
    // another thread has lost.
    let resizes = random.once_in(2);
    watchdog.doing(own, if resizes { "resizes" } else { "waits" });
    while acting.iter().any(|thread| !thread.is_finished()) {
        std::thread::sleep(random.micros(3_000));
        if resizes {
            resize(&pools.executors[0], &mut random);
        }
    }
    let joined = |threads: Vec<JoinHandle<()>>| {
        let panicked = |_| format!("round {number}: a thread panicked\n{}", watchdog.dump());
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(panicked))
    };
    joined(acting)?;
    // Detached tasks may go on. The last one that blocks a worker needs the thread in the scope, and none follows it.
    // Ordering: Acquire, as of a lock.
    while may_block && !pools.may_block.swap(false, Ordering::Acquire) {
        std::thread::sleep(NAP);
    }
    stop.stop();
    joined(waiting)?;
    watchdog.doing(own, "drops the pools");
    drop(pools);
    watchdog.doing(own, "waits for the balance");
    // What still runs may wait for the wakery.
    round::settle(number, &ledger, watchdog)?;
    watchdog.doing(own, "closes the wakery");
    round::balance(number, &ledger, wakery, watchdog)
}

/// Is woken a little later by a thread of its own.
async fn nap() {
    let mut started = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut started, true) {
            return Poll::Ready(());
        }
        let waker = context.waker().clone();
        std::thread::spawn(move || {
            std::thread::sleep(NAP);
            waker.wake();
        });
        Poll::Pending
    })
    .await;
}

fn pool(workers: usize, ledger: &Arc<Ledger>) -> Arc<Executor<'static>> {
    let (handler, hooks) = (Arc::clone(ledger), Arc::new(AtomicU64::new(0)));
    let hook = move || {
        // Ordering: Relaxed, a count.
        if hooks.fetch_add(1, Ordering::Relaxed) % HOOKS == 0 {
            block_on(nap());
        }
    };
    let builder = Builder::new()
        .workers(workers)
        .on_thread_start(hook.clone())
        .on_thread_stop(hook)
        .panic_handler(move |payload| handler.handle(payload));
    Arc::new(builder.build())
}

/// Runs a program, here or on a thread that ends with it.
fn play(program: &Program, random: &mut Random) {
    let work = program.work(random, DEPTH);
    if random.once_in(3) {
        let thread = std::thread::spawn(move || expect_planned_panics_only(|| block_on(work)));
        thread.join().expect("only planned panics");
    } else {
        expect_planned_panics_only(|| block_on(work));
    }
}

/// More workers, fewer, or none.
fn resize(executor: &Executor<'static>, random: &mut Random) {
    let workers = random.of(&WORKERS);
    if !random.once_in(4) {
        executor
            .set_workers(workers)
            .expect("threads can be started");
        return;
    }
    let how = random.of(&[
        Shutdown::FinishAll,
        Shutdown::RunQueued,
        Shutdown::DropQueued,
    ]);
    if random.once_in(4) {
        // Other threads spawn beside it, and some tasks never end.
        let _left = executor.wait_idle(Some(LIMIT));
    }
    let ended = executor.shutdown(how, Some(LIMIT));
    if ended.is_err() && how == Shutdown::DropQueued {
        // Else no thread drives it until another shutdown has succeeded.
        executor
            .set_workers(workers.max(1))
            .expect("threads can be started");
    }
}
