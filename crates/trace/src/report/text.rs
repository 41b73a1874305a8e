//! The text of a dump.

use core::fmt::{Formatter, Result};
use core::time::Duration;
use std::format;
use std::string::String;

use super::data::{Pool, Scope, State, Task, Worker};

/// So many suspects at most are shown, so that they are all in the first ten lines.
const SUSPECTS: usize = 8;
/// So many tasks of a pool at most are shown.
const TASKS: usize = 64;

/// A time in the unit that suits it.
pub(super) fn time(time: Duration) -> String {
    format!("{time:.1?}")
}

/// A number of things.
#[must_use = "the text is returned, and not printed"]
pub fn count(number: usize, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        _ => format!("{number} {thing}s"),
    }
}

pub(super) fn write(
    f: &mut Formatter<'_>,
    suspects: &[String],
    pools: &[Pool],
    partial: bool,
) -> Result {
    match suspects.len() {
        0 => writeln!(f, "terrace: nothing looks stuck")?,
        1 => writeln!(f, "terrace: this may be stuck:")?,
        count => writeln!(
            f,
            "terrace: these {count} may be stuck, the likeliest first:"
        )?,
    }
    for suspect in suspects.iter().take(SUSPECTS) {
        writeln!(f, "  - {suspect}")?;
    }
    if suspects.len() > SUSPECTS {
        writeln!(f, "  and {} more, see below", suspects.len() - SUSPECTS)?;
    }
    for one in pools {
        pool(f, one)?;
    }
    if partial {
        writeln!(f, "more pools may exist: their list is locked")?;
    }
    Ok(())
}

fn pool(f: &mut Formatter<'_>, pool: &Pool) -> Result {
    writeln!(
        f,
        "pool {}: {}, {}; {} of {} not ended; queued: {} injected, {} high, {} background",
        pool.id,
        pool.phase.text(),
        count(pool.wanted, "worker"),
        pool.active,
        count(pool.spawned, "task"),
        pool.injected,
        pool.high,
        pool.background,
    )?;
    if pool.drivers > 0 {
        let (drivers, asleep, rings) = (pool.drivers, pool.drivers_asleep, &pool.driver_rings);
        writeln!(
            f,
            "  {drivers} run futures, {asleep} asleep, queues {rings:?}"
        )?;
    }
    if pool.in_shutdown + pool.in_wait_idle > 0 {
        let (shutdown, idle) = (pool.in_shutdown, pool.in_wait_idle);
        writeln!(
            f,
            "  {} in shutdown, {} in wait_idle",
            count(shutdown, "worker"),
            count(idle, "thread")
        )?;
    }
    for one in &pool.workers {
        worker(f, one, pool)?;
    }
    for one in &pool.scopes {
        scope(f, one)?;
    }
    for join in &pool.joins {
        let state = if join.asleep {
            "sleeps until its other half has ended"
        } else {
            "is awake"
        };
        writeln!(f, "  join of {}: {state}", join.thread)?;
    }
    tasks(f, pool)
}

fn worker(f: &mut Formatter<'_>, worker: &Worker, pool: &Pool) -> Result {
    write!(f, "  {} {}", worker.title(), worker.doing.text())?;
    if let Some(slot) = worker.scope {
        write!(f, " ({slot})")?;
    }
    if let Some(asleep) = worker.asleep {
        write!(f, " for {}", time(asleep))?;
    }
    if let Some(task) = innermost(pool, worker.index) {
        write!(f, "; polls {} for {}", task.title(), time(task.since))?;
    }
    if worker.here {
        write!(f, ", and takes this dump")?;
    }
    if let Some(system) = &worker.system {
        write!(f, "; its thread: {}", system.text)?;
        if let Some(processor) = system.processor {
            write!(f, ", has used {}", time(processor))?;
        }
    }
    let end = if worker.asked_to_end {
        "; it was asked to end"
    } else {
        ""
    };
    writeln!(
        f,
        "; {} queued, {}{end}",
        worker.queued,
        count(worker.polls, "poll")
    )
}

/// The task that a worker polls, the innermost one if it polls some on top of each other.
pub(super) fn innermost(pool: &Pool, worker: usize) -> Option<&Task> {
    let polled = |task: &&Task| task.state == State::Polled && task.worker == Some(worker);
    let tasks = pool.tasks.iter().flatten();
    tasks.filter(polled).min_by_key(|task| task.since)
}

fn scope(f: &mut Formatter<'_>, scope: &Scope) -> Result {
    let waiter = if scope.waiter_asleep {
        "sleeps"
    } else {
        "is awake"
    };
    write!(f, "  scope {}", scope.slot)?;
    if let Some(site) = &scope.site {
        write!(f, " (opened at {site})")?;
    }
    write!(
        f,
        " of {}, which {waiter}: {} pending, {} queued",
        scope.waiter, scope.pending, scope.queued
    )?;
    match scope.waiting {
        Some(waiting) => writeln!(f, ", {waiting} wait to be woken"),
        None => writeln!(f),
    }
}

fn tasks(f: &mut Formatter<'_>, pool: &Pool) -> Result {
    let Some(tasks) = &pool.tasks else {
        return match pool.active {
            0 => Ok(()),
            _ => writeln!(
                f,
                "  build terrace-executor with its feature `inspect` to see the tasks"
            ),
        };
    };
    for task in tasks.iter().take(TASKS) {
        let since = time(task.since);
        write!(f, "  {}: ", task.title())?;
        match (task.state, &task.thread) {
            (State::Polled, Some(thread)) => write!(f, "polled by {thread} for {since}")?,
            (state, _) => write!(f, "{} for {since}", state.text())?,
        }
        if let Some(wait) = task.waits_in {
            write!(f, ", waits in {wait}")?;
        }
        if let Some(slot) = task.scope {
            write!(f, ", in scope {slot}")?;
        }
        write!(f, "; {}, {} old", count(task.polls, "poll"), time(task.age))?;
        match task.wakers {
            Some(wakers) if task.state == State::Waits => {
                writeln!(f, ", {}", count(wakers, "waker"))?
            }
            _ => writeln!(f)?,
        }
    }
    if tasks.len() > TASKS {
        writeln!(f, "  and {} more tasks", tasks.len() - TASKS)?;
    }
    if pool.tasks_partial {
        writeln!(f, "  more tasks exist: their records are locked")?;
    }
    Ok(())
}
