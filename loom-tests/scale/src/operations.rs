//! The operations. Each is counted in two regimes.
//!
//! - `one`: one thread acts, and every worker but its own sleeps before each operation.
//! - `all`: every worker acts at the same time. Or one thread acts for all workers in one go, where that is the operation.

use std::future::{Future, poll_fn};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

use crate::model::{begin, compute, end, note, notes, settle, wait};
use crate::pools::{Jobs, Starts, Tasks};

/// How often each thread does an operation.
const ROUNDS: usize = 8;
/// How long a child computes that another thread may well take, in steps.
const WORK: u64 = 500;
/// Children of a scope where every worker opens scopes.
const CHILDREN: usize = 4;

/// What pools of tasks do.
pub(crate) fn of_tasks<P: Tasks>(pool: &'static P, workers: usize) {
    tasks(pool, workers, "spawn", || pool.spawn(async {}));
    of_starts(pool, workers);
    wakes_among_workers(pool, workers);
    wakes_from_outside(pool, workers);
}

/// What all pools do.
pub(crate) fn of_starts<P: Starts>(pool: &'static P, workers: usize) {
    spawns_from_outside(pool, workers);
    steals(pool, workers);
}

/// What pools of forked jobs do.
pub(crate) fn of_jobs<P: Jobs>(pool: &'static P, workers: usize) {
    jobs(pool, workers, "join", 1, || P::join(|| (), || ()));
    let leaves = ROUNDS * workers;
    once(pool, "join-tree/all", leaves - 1, move || tree::<P>(leaves));
    once(pool, "scope/one", workers, move || {
        P::scope(workers, || compute(WORK));
    });
    jobs(pool, workers, "scope", CHILDREN, || {
        P::scope(CHILDREN, || ())
    });
}

/// A spawn with a shared counter, which the model has to find.
pub(crate) fn planted<P: Tasks>(pool: &'static P, workers: usize) {
    tasks(pool, workers, "spawn", || pool.spawn(async {}));
    let planted = || {
        #[repr(align(128))]
        struct Shared(AtomicUsize);
        static SHARED: Shared = Shared(AtomicUsize::new(0));
        // Ordering: Relaxed, a count.
        SHARED.0.fetch_add(1, Ordering::Relaxed);
        pool.spawn(async {})
    };
    tasks(pool, workers, "planted", planted);
}

/// Where the actors of `all` meet.
#[derive(Clone, Copy)]
struct Start(u64);

impl Start {
    /// Blocks until all are here.
    fn meet(self) {
        note(1);
        wait(self.0);
    }
}

/// Starts an actor for each worker, which meets the others, acts, and notes its end. Counts from the meeting to the last end.
fn together(workers: usize, name: &str, operations: usize, actor: impl Fn(Start)) {
    let before = notes();
    let met = before + workers as u64;
    (0..workers).for_each(|_| actor(Start(met + 1)));
    wait(met);
    settle();
    begin();
    note(1);
    wait(met + 1 + workers as u64);
    end(&format!("{name}/all"), operations);
}

/// Counts an operation of tasks, in both regimes.
fn tasks<P: Tasks, F: Future<Output = ()> + Send>(
    pool: &'static P,
    workers: usize,
    name: &'static str,
    operation: impl Fn() -> F + Copy + Send + Sync + 'static,
) {
    let before = notes();
    pool.detach(async move {
        settle();
        begin();
        for _ in 0..ROUNDS {
            operation().await;
            settle();
        }
        end(&format!("{name}/one"), ROUNDS);
        note(1);
    });
    wait(before + 1);
    together(workers, name, ROUNDS * workers, |start| {
        pool.detach(async move {
            start.meet();
            for _ in 0..ROUNDS {
                operation().await;
            }
            note(1);
        });
    });
}

/// Counts an operation of jobs where all act, and where one does, each as so many.
fn jobs<P: Starts>(
    pool: &'static P,
    workers: usize,
    name: &'static str,
    each: usize,
    operation: impl Fn() + Copy + Send + Sync + 'static,
) {
    if each == 1 {
        once(pool, "join/one", ROUNDS, move || {
            for _ in 0..ROUNDS {
                operation();
                settle();
            }
        });
    }
    together(workers, name, ROUNDS * workers * each, |start| {
        pool.start(move || {
            start.meet();
            (0..ROUNDS).for_each(|_| operation());
            note(1);
        });
    });
}

/// Counts one job, beside workers that sleep, as so many operations.
fn once<P: Starts>(
    pool: &'static P,
    name: &'static str,
    operations: usize,
    job: impl FnOnce() + Send + 'static,
) {
    let before = notes();
    pool.start(move || {
        settle();
        begin();
        job();
        end(name, operations);
        note(1);
    });
    wait(before + 1);
}

fn tree<P: Jobs>(leaves: usize) {
    if leaves == 1 {
        return compute(WORK);
    }
    let half = leaves / 2;
    P::join(|| tree::<P>(half), || tree::<P>(leaves - half));
}

/// A thread outside starts jobs, one at a time; and in a burst.
fn spawns_from_outside<P: Starts>(pool: &'static P, workers: usize) {
    outside("spawn-outside", workers, |_| pool.start(|| note(1)));
}

/// A thread outside does something by which a worker makes a note; one at a time, and in a burst.
fn outside(name: &str, workers: usize, act: impl Fn(usize)) {
    let mut before = notes();
    settle();
    begin();
    for round in 0..ROUNDS {
        act(round);
        before += 1;
        wait(before);
        settle();
    }
    end(&format!("{name}/one"), ROUNDS);
    let all = ROUNDS * workers;
    begin();
    (0..all).for_each(|round| act(ROUNDS + round));
    wait(before + all as u64);
    end(&format!("{name}/all"), all);
}

/// A worker starts jobs and computes on, so that others have to take them: one worker while all others sleep; then every other one.
///
/// The last job of each may stay behind: tokio keeps it in a place from which no other worker takes.
fn steals<P: Starts>(pool: &'static P, workers: usize) {
    let give = |all: usize, givers: usize, until: u64| {
        for _ in 0..all / givers {
            pool.start(|| {
                compute(WORK);
                note(1);
            });
        }
        wait(until);
    };
    let all = ROUNDS * workers;
    let before = notes();
    let until = before + all as u64 - 1;
    once(pool, "steal/one", all, move || give(all, 1, until));
    // The job left behind, and the end of the one that gave.
    wait(before + all as u64 + 1);
    let givers = workers / 2;
    let (number, met) = (Arc::new(AtomicUsize::new(0)), notes() + workers as u64 + 1);
    // Those who take end at once, and so do the jobs; of each giver one is left behind.
    let until = met + (workers - givers + all - givers) as u64;
    (0..workers).for_each(|_| {
        let number = Arc::clone(&number);
        pool.start(move || {
            // Ordering: Relaxed, each gets a number of its own.
            let gives = number.fetch_add(1, Ordering::Relaxed) < givers;
            Start(met).meet();
            if gives {
                give(all, givers, until);
            }
            note(1);
        });
    });
    wait(met - 1);
    settle();
    begin();
    note(1);
    wait(met + (workers + all) as u64);
    end("steal/all", all);
}

/// A flag, and who waits for it: one line, which a wake writes and the task woken reads.
#[derive(Default)]
#[repr(align(128))]
struct Bell(Mutex<(bool, Option<Waker>)>);

impl Bell {
    fn ring(&self) {
        let waker = {
            let mut state = self.0.lock().expect("no panic under the lock");
            state.0 = true;
            state.1.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    async fn heard(&self) {
        poll_fn(|context| {
            let mut state = self.0.lock().expect("no panic under the lock");
            if std::mem::take(&mut state.0) {
                return Poll::Ready(());
            }
            state.1 = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

/// Two tasks wake each other in turn: one pair, and one for each worker.
fn wakes_among_workers<P: Tasks>(pool: &'static P, workers: usize) {
    let pair = |pool: &'static P| {
        let bells = Arc::new([Bell::default(), Bell::default()]);
        let theirs = Arc::clone(&bells);
        let echo = pool.spawn(async move {
            for _ in 0..ROUNDS {
                theirs[0].heard().await;
                theirs[1].ring();
            }
        });
        async move {
            for _ in 0..ROUNDS {
                bells[0].ring();
                bells[1].heard().await;
            }
            echo.await;
        }
    };
    let before = notes();
    pool.detach(async move {
        settle();
        begin();
        pair(pool).await;
        end("wake/one", 2 * ROUNDS);
        note(1);
    });
    wait(before + 1);
    together(workers, "wake", 2 * ROUNDS * workers, |start| {
        pool.detach(async move {
            start.meet();
            pair(pool).await;
            note(1);
        });
    });
}

/// A thread outside wakes tasks that wait, one at a time; and in a burst.
fn wakes_from_outside<P: Tasks>(pool: &'static P, workers: usize) {
    let bells = (0..ROUNDS + ROUNDS * workers).map(|_| Bell::default());
    let bells: &'static [Bell] = Vec::leak(bells.collect());
    for bell in bells {
        pool.detach(async {
            bell.heard().await;
            note(1);
        });
    }
    settle();
    outside("wake-outside", workers, |round| bells[round].ring());
}
