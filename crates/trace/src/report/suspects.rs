//! Which parts of a dump may be the reason that nothing moves, the likeliest first:
//!
//! 1. a task that no waker is left of: nothing can poll it again
//! 2. a poll, or whatever a worker runs, that takes long and is not in a wait of the executor's
//! 3. tasks that are queued while no thread is there to take them
//! 4. scopes whose children wait for something
//! 5. tasks that wait, those that have waited longest first
//! 6. polls that are in a wait of the executor's

use core::time::Duration;
use std::borrow::ToOwned;
use std::format;
use std::string::String;
use std::vec::Vec;

use super::data::{Doing, Phase, Pool, Scope, State, Task, Worker};
use super::text::{count, innermost, time};

/// A poll of less than this is not worth a word, nor is a wait.
const LONG: Duration = Duration::from_millis(1);
/// So many waits of a pool at most are worth a word.
const WAITS: usize = 4;

pub(super) fn of(pools: &[Pool]) -> Vec<String> {
    let mut suspects = Vec::new();
    let kinds = [lost, polls, workers, queues, scopes, waits, nested];
    for kind in kinds {
        for pool in pools {
            let before = suspects.len();
            kind(pool, &mut suspects);
            if pools.len() > 1 {
                let of_pool = format!("pool {}: ", pool.id);
                suspects[before..]
                    .iter_mut()
                    .for_each(|suspect| suspect.insert_str(0, &of_pool));
            }
        }
    }
    suspects
}

fn tasks(pool: &Pool, state: State) -> impl Iterator<Item = &Task> {
    let all = pool.tasks.iter().flatten();
    all.filter(move |task| task.state == state && !task.here)
}

fn is_lost(task: &Task) -> bool {
    task.wakers == Some(0) && task.since >= LONG
}

/// The longest poll comes first, as tasks are sorted by their times.
fn lost(pool: &Pool, suspects: &mut Vec<String>) {
    suspects.extend(tasks(pool, State::Waits).filter(|task| is_lost(task)).map(|task| {
        format!(
            "{} has waited for {} after {}, and no waker of it is left: its future returned Pending without keeping one, or \
             dropped it",
            task.title(),
            time(task.since),
            count(task.polls, "poll"),
        )
    }));
}

fn polls(pool: &Pool, suspects: &mut Vec<String>) {
    let long = |task: &&Task| task.since >= LONG && task.waits_in.is_none();
    suspects.extend(tasks(pool, State::Polled).filter(long).map(|task| {
        let thread = task.thread.as_deref().unwrap_or("a thread");
        let system = task.worker.and_then(|index| {
            let worker = pool.workers.iter().find(|worker| worker.index == index)?;
            Some(behaviour(worker))
        });
        format!(
            "{thread} has been in one poll of {} for {}{}",
            task.title(),
            time(task.since),
            system.unwrap_or_default(),
        )
    }));
}

/// How a thread spends its time.
fn behaviour(worker: &Worker) -> String {
    match &worker.system {
        Some(system) if system.sleeps => {
            format!(", and something blocks its thread ({})", system.text)
        }
        Some(system) => format!(", and its thread computes ({})", system.text),
        None => String::new(),
    }
}

/// Busy workers of which no record says what they poll.
fn workers(pool: &Pool, suspects: &mut Vec<String>) {
    for worker in &pool.workers {
        let recorded = innermost(pool, worker.index).is_some();
        if worker.here || recorded || !worker.doing.is_awake() {
            continue;
        }
        let sleeps = worker.system.as_ref().is_some_and(|system| system.sleeps);
        if sleeps || (worker.doing == Doing::Runs && pool.queued() > 0) {
            suspects.push(format!(
                "{} {}{}; {} in the pool",
                worker.title(),
                worker.doing.text(),
                behaviour(worker),
                queued_tasks(pool.queued()),
            ));
        }
    }
}

fn queues(pool: &Pool, suspects: &mut Vec<String>) {
    let queued = pool.queued();
    if queued == 0 || pool.phase == Phase::Closed {
        return;
    }
    let are_queued = queued_tasks(queued);
    let is_up = |worker: &Worker| worker.doing.is_awake() || worker.doing == Doing::Searches;
    if pool.wanted == 0 && pool.drivers == 0 {
        let drives = if pool.driven_by_waits {
            "threads that wait run them"
        } else {
            "no thread runs it"
        };
        suspects.push(format!(
            "{are_queued}, and the pool has no workers: {drives}"
        ));
    } else if pool.drivers > 0 && pool.drivers == pool.drivers_asleep && pool.wanted == 0 {
        suspects.push(format!(
            "{are_queued}, and all its run futures ({}) are asleep: are they polled?",
            pool.drivers
        ));
    } else if pool.wanted > 0 && !pool.workers.iter().any(is_up) {
        suspects.push(format!("{are_queued}, and every worker sleeps or waits"));
    }
}

fn queued_tasks(queued: usize) -> String {
    let verb = if queued == 1 { "is" } else { "are" };
    format!("{} {verb} queued", count(queued, "task"))
}

/// The children of a scope that keep it open.
fn children(pool: &Pool, scope: &Scope) -> String {
    let all = pool.tasks.iter().flatten();
    let mut of_scope = all.filter(|task| task.scope == Some(scope.slot));
    let Some(child) = of_scope.next() else {
        return String::new();
    };
    let more = match of_scope.count() {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    format!(
        ": {}, {} for {}{more}",
        child.title(),
        child.state.text(),
        time(child.since)
    )
}

fn scopes(pool: &Pool, suspects: &mut Vec<String>) {
    let long = |scope: &&Scope| scope.waiter_asleep && scope.age.is_none_or(|age| age >= LONG);
    for scope in pool.scopes.iter().filter(long) {
        let site = match &scope.site {
            Some(site) => format!(" opened at {site}"),
            None => String::new(),
        };
        let children_left = match scope.pending {
            1 => "1 child".to_owned(),
            pending => format!("{pending} children"),
        };
        suspects.push(format!(
            "scope {}{site} keeps {} waiting for {} ({} queued{}){}",
            scope.slot,
            scope.waiter,
            children_left,
            scope.queued,
            match scope.waiting {
                Some(waiting) => format!(", {waiting} wait to be woken"),
                None => String::new(),
            },
            children(pool, scope),
        ));
    }
}

fn waits(pool: &Pool, suspects: &mut Vec<String>) {
    let long = |task: &&Task| task.since >= LONG && !is_lost(task) && task.scope.is_none();
    suspects.extend(
        tasks(pool, State::Waits)
            .filter(long)
            .take(WAITS)
            .map(|task| {
                format!(
                    "{} has waited to be woken for {}, after {}; {} of it exist",
                    task.title(),
                    time(task.since),
                    count(task.polls, "poll"),
                    count(task.wakers.unwrap_or(0), "waker"),
                )
            }),
    );
    if pool.tasks.is_none() && pool.active > 0 && pool.queued() == 0 {
        let idle = |worker: &Worker| matches!(worker.doing, Doing::Parked | Doing::Sentinel);
        if pool.workers.iter().all(idle) {
            suspects.push(format!(
                "nothing is queued, and no worker runs anything: {} not ended, and to be woken; feature `inspect` names each",
                count(pool.active, "task")
            ));
        }
    }
}

fn nested(pool: &Pool, suspects: &mut Vec<String>) {
    for task in tasks(pool, State::Polled).filter(|task| task.since >= LONG) {
        if let Some(wait) = task.waits_in {
            let thread = task.thread.as_deref().unwrap_or("a thread");
            let (title, since) = (task.title(), time(task.since));
            suspects.push(format!(
                "{thread} waits in {wait}, in a poll of {title} for {since}"
            ));
        }
    }
}
