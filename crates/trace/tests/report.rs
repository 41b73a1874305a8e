//! What a report says, word for word, of pools that are made by hand: each suspect just within its limits and just outside of them.
#![cfg(feature = "std")]

use std::panic::Location;
use std::time::Duration;

use terrace_trace::report::{Doing, Join, Phase, Pool, Report, Scope, State, System, Task, Worker};

/// What has taken so long may be stuck, and what is shorter is not.
const LONG: Duration = Duration::from_millis(1);
const SHORT: Duration = Duration::from_micros(999);

fn pool() -> Pool {
    Pool {
        id: 7,
        phase: Phase::Open,
        wanted: 1,
        active: 0,
        spawned: 9,
        injected: 0,
        high: 0,
        background: 0,
        drivers: 0,
        drivers_asleep: 0,
        driver_rings: Vec::new(),
        in_shutdown: 0,
        in_wait_idle: 0,
        driven_by_waits: false,
        workers: vec![worker(Doing::Parked)],
        scopes: Vec::new(),
        joins: Vec::new(),
        tasks: Some(Vec::new()),
        tasks_partial: false,
    }
}

fn worker(doing: Doing) -> Worker {
    Worker {
        index: 0,
        thread: Some("own".to_owned()),
        spare: false,
        asked_to_end: false,
        doing,
        asleep: None,
        here: false,
        scope: None,
        system: None,
        queued: 0,
        polls: 3,
    }
}

#[track_caller]
fn task(state: State) -> Task {
    Task {
        number: 5,
        name: None,
        site: Location::caller(),
        future: "work",
        scope: None,
        state,
        since: LONG,
        age: LONG,
        polls: 2,
        wakers: Some(1),
        thread: Some("own".to_owned()),
        worker: None,
        waits_in: None,
        here: false,
    }
}

fn scope() -> Scope {
    Scope {
        pending: 2,
        queued: 0,
        waiter_asleep: true,
        waiting: None,
        slot: 4,
        waiter: "main".to_owned(),
        site: None,
        age: Some(LONG),
    }
}

fn system(sleeps: bool) -> Option<System> {
    Some(System {
        sleeps,
        text: "sleeps in read".to_owned(),
        processor: Some(LONG),
    })
}

fn with_tasks(tasks: Vec<Task>) -> Pool {
    Pool {
        tasks: Some(tasks),
        ..pool()
    }
}

#[track_caller]
fn assert_suspects(pool: Pool, expected: &[&str]) {
    assert_eq!(Report::new(vec![pool], false).suspects(), expected);
}

#[test]
fn a_task_without_a_waker_is_lost_once_it_has_waited_long() {
    let waits = task(State::Waits);
    let lost = Task {
        wakers: Some(0),
        ..waits.clone()
    };
    let title = format!("task 5 of work (spawned at {})", lost.site);
    let text = format!(
        "{title} has waited for 1.0ms after 2 polls, and no waker of it is left: its future returned Pending without keeping one, or \
         dropped it"
    );
    assert_suspects(with_tasks(vec![lost.clone()]), &[&text]);
    let short = Task {
        since: SHORT,
        ..lost.clone()
    };
    let here = Task { here: true, ..lost };
    assert_suspects(with_tasks(vec![short, here]), &[]);
    let waker =
        format!("{title} has waited to be woken for 1.0ms, after 2 polls; 1 waker of it exist");
    assert_suspects(with_tasks(vec![waits.clone()]), &[&waker]);
    let of_scope = Task {
        scope: Some(4),
        ..waits.clone()
    };
    assert_suspects(with_tasks(vec![of_scope]), &[]);
    assert_suspects(with_tasks(vec![waits; 6]), &[waker.as_str(); 4]);
}

#[test]
fn a_long_poll_is_named_with_what_its_thread_does() {
    let polled = Task {
        name: Some("name".to_owned()),
        worker: Some(0),
        ..task(State::Polled)
    };
    let title = format!("task 5 `name` (spawned at {})", polled.site);
    let of = |system, task: Task| Pool {
        workers: vec![Worker {
            system,
            ..worker(Doing::Runs)
        }],
        injected: 1,
        ..with_tasks(vec![task])
    };
    let text = format!("own has been in one poll of {title} for 1.0ms");
    assert_suspects(of(None, polled.clone()), &[&text]);
    let blocks = format!("{text}, and something blocks its thread (sleeps in read)");
    assert_suspects(of(system(true), polled.clone()), &[&blocks]);
    let computes = format!("{text}, and its thread computes (sleeps in read)");
    assert_suspects(of(system(false), polled.clone()), &[&computes]);
    let waits = Task {
        waits_in: Some("a join"),
        ..polled.clone()
    };
    let nested = format!("own waits in a join, in a poll of {title} for 1.0ms");
    assert_suspects(of(None, waits.clone()), &[&nested]);
    for task in [polled, waits] {
        let short = Task {
            since: SHORT,
            ..task
        };
        assert_suspects(of(None, short), &[]);
    }
}

#[test]
fn a_worker_that_runs_something_is_a_suspect_where_tasks_wait_for_it_or_it_sleeps() {
    let of = |worker: Worker, background| Pool {
        workers: vec![worker],
        background,
        tasks: None,
        ..pool()
    };
    let runs = worker(Doing::Runs);
    let text = "worker 0 (own) runs something; 1 task is queued in the pool";
    assert_suspects(of(runs.clone(), 1), &[text]);
    let two = "worker 0 (own) runs something; 2 tasks are queued in the pool";
    assert_suspects(of(runs.clone(), 2), &[two]);
    assert_suspects(of(runs.clone(), 0), &[]);
    let sleeps = Worker {
        spare: true,
        thread: None,
        system: system(true),
        ..runs.clone()
    };
    let text = "spare worker 0 runs something, and something blocks its thread (sleeps in read); 0 tasks are queued in the pool";
    assert_suspects(of(sleeps, 0), &[text]);
    let here = Worker { here: true, ..runs };
    assert_suspects(of(here, 1), &[]);
    assert_suspects(of(worker(Doing::RunsOrSearches), 1), &[]);
}

#[test]
fn tasks_that_no_thread_comes_for_are_a_suspect() {
    let queued = Pool {
        driver_rings: vec![1],
        ..pool()
    };
    let asleep = "1 task is queued, and every worker sleeps or waits";
    assert_suspects(queued.clone(), &[asleep]);
    let closed = Pool {
        phase: Phase::Closed,
        ..queued.clone()
    };
    assert_suspects(closed, &[]);
    let searches = Pool {
        workers: vec![worker(Doing::Searches)],
        ..queued.clone()
    };
    assert_suspects(searches, &[]);
    let none = Pool {
        wanted: 0,
        workers: Vec::new(),
        ..queued
    };
    let text = "1 task is queued, and the pool has no workers: no thread runs it";
    assert_suspects(none.clone(), &[text]);
    let waits = Pool {
        driven_by_waits: true,
        ..none.clone()
    };
    let text = "1 task is queued, and the pool has no workers: threads that wait run them";
    assert_suspects(waits, &[text]);
    let drivers = |drivers_asleep, wanted| Pool {
        drivers: 2,
        drivers_asleep,
        wanted,
        ..none.clone()
    };
    let text = "1 task is queued, and all its run futures (2) are asleep: are they polled?";
    assert_suspects(drivers(2, 0), &[text]);
    assert_suspects(drivers(1, 0), &[]);
    assert_suspects(drivers(2, 1), &[asleep]);
}

#[test]
fn a_scope_whose_thread_has_slept_long_is_a_suspect() {
    let of = |scope: Scope, tasks| Pool {
        scopes: vec![scope],
        ..with_tasks(tasks)
    };
    let text = "scope 4 keeps main waiting for 2 children (0 queued)";
    assert_suspects(of(scope(), Vec::new()), &[text]);
    let short = Scope {
        age: Some(SHORT),
        ..scope()
    };
    let awake = Scope {
        waiter_asleep: false,
        ..scope()
    };
    assert_suspects(of(short, Vec::new()), &[]);
    assert_suspects(of(awake, Vec::new()), &[]);
    let child = Task {
        scope: Some(4),
        ..task(State::Waits)
    };
    let site = Location::caller();
    let known = Scope {
        pending: 1,
        waiting: Some(1),
        site: Some(site),
        age: None,
        ..scope()
    };
    let title = format!("child 5 of work (spawned at {})", child.site);
    let text = format!(
        "scope 4 opened at {site} keeps main waiting for 1 child (0 queued, 1 wait to be woken): {title}, waits to be woken for 1.0ms"
    );
    assert_suspects(of(known.clone(), vec![child.clone()]), &[&text]);
    let text = format!("{text}, and 1 more");
    assert_suspects(of(known, vec![child; 2]), &[&text]);
}

#[test]
fn tasks_without_records_are_counted_where_nothing_runs() {
    let of = |active, doing, high| Pool {
        active,
        high,
        tasks: None,
        workers: vec![worker(Doing::Sentinel), worker(doing)],
        ..pool()
    };
    let text = "nothing is queued, and no worker runs anything: 2 tasks not ended, and to be woken; feature `inspect` names each";
    assert_suspects(of(2, Doing::Parked, 0), &[text]);
    assert_suspects(of(0, Doing::Parked, 0), &[]);
    assert_suspects(of(2, Doing::Searches, 0), &[]);
    assert_suspects(of(2, Doing::Searches, 1), &[]);
    let queued = "1 task is queued, and every worker sleeps or waits";
    assert_suspects(of(2, Doing::Parked, 1), &[queued]);
    let recorded = Pool {
        tasks: Some(Vec::new()),
        ..of(2, Doing::Parked, 0)
    };
    assert_suspects(recorded, &[]);
}

#[test]
fn the_text_has_a_line_for_each_thing_of_a_pool() {
    let polled = Task {
        worker: Some(0),
        since: SHORT,
        scope: Some(4),
        waits_in: Some("a scope"),
        ..task(State::Polled)
    };
    let outer = Task {
        number: 6,
        since: LONG * 2,
        wakers: None,
        waits_in: Some("a join"),
        ..polled.clone()
    };
    let waits = Task {
        number: 8,
        since: SHORT,
        ..task(State::Waits)
    };
    let runs = Worker {
        scope: Some(4),
        asleep: Some(LONG),
        here: true,
        asked_to_end: true,
        system: system(false),
        queued: 2,
        ..worker(Doing::WaitsInScope)
    };
    let join = |asleep| Join {
        seat: 1,
        by: "worker".to_owned(),
        offer: None,
        forking: false,
        asleep,
        thread: "own".to_owned(),
    };
    let full = Pool {
        active: 2,
        drivers: 1,
        driver_rings: vec![0],
        in_shutdown: 1,
        in_wait_idle: 2,
        workers: vec![runs],
        scopes: vec![Scope {
            waiter_asleep: false,
            waiting: Some(1),
            ..scope()
        }],
        joins: vec![join(true), join(false)],
        tasks_partial: true,
        ..with_tasks(vec![outer.clone(), polled.clone(), waits.clone()])
    };
    let idle = Pool {
        id: 8,
        active: 1,
        in_wait_idle: 1,
        workers: Vec::new(),
        tasks: None,
        ..pool()
    };
    let (outer_at, polled_at, waits_at) = (outer.site, polled.site, waits.site);
    let expected = format!(
        "terrace: these 3 may be stuck, the likeliest first:
  - pool 7: 2 tasks are queued, and every worker sleeps or waits
  - pool 8: nothing is queued, and no worker runs anything: 1 task not ended, and to be woken; feature `inspect` names each
  - pool 7: own waits in a join, in a poll of child 6 of work (spawned at {outer_at}) for 2.0ms
pool 7: open, 1 worker; 2 of 9 tasks not ended; queued: 0 injected, 0 high, 0 background
  1 run futures, 0 asleep, queues [0]
  1 worker in shutdown, 2 threads in wait_idle
  worker 0 (own) waits in a scope (4) for 1.0ms; polls child 5 of work (spawned at {polled_at}) for 999.0µs, and takes this dump; \
         its thread: sleeps in read, has used 1.0ms; 2 queued, 3 polls; it was asked to end
  scope 4 of main, which is awake: 2 pending, 0 queued, 1 wait to be woken
  join of own: sleeps until its other half has ended
  join of own: is awake
  child 6 of work (spawned at {outer_at}): polled by own for 2.0ms, waits in a join, in scope 4; 2 polls, 1.0ms old
  child 5 of work (spawned at {polled_at}): polled by own for 999.0µs, waits in a scope, in scope 4; 2 polls, 1.0ms old
  task 8 of work (spawned at {waits_at}): waits to be woken for 999.0µs; 2 polls, 1.0ms old, 1 waker
  more tasks exist: their records are locked
pool 8: open, 1 worker; 1 of 9 tasks not ended; queued: 0 injected, 0 high, 0 background
  0 workers in shutdown, 1 thread in wait_idle
  build terrace-executor with its feature `inspect` to see the tasks
more pools may exist: their list is locked
"
    );
    let report = Report::new(vec![full, idle], true);
    assert_eq!(report.to_string(), expected);
}

#[test]
fn long_lists_are_cut_and_counted() {
    let lines = |tasks: usize, scopes: usize| {
        let task = Task {
            since: SHORT,
            ..task(State::Waits)
        };
        let pool = Pool {
            scopes: vec![scope(); scopes],
            ..with_tasks(vec![task; tasks])
        };
        let text = Report::new(vec![pool], false).to_string();
        let count = |begin: &str| text.lines().filter(|line| line.starts_with(begin)).count();
        let cut = text.lines().filter(|line| line.starts_with("  and "));
        let cut: Vec<_> = cut.map(str::to_owned).collect();
        (count("  task "), count("  - "), cut)
    };
    assert_eq!(lines(64, 8), (64, 8, Vec::new()));
    let cut = ["  and 1 more, see below", "  and 1 more tasks"];
    assert_eq!(lines(65, 9), (64, 8, cut.map(str::to_owned).to_vec()));
}
