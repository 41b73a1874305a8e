//! Scopes of two threads at the same time on the same pool: neither thread polls the other's tasks.

use std::collections::HashSet;
use std::hint::spin_loop;
use std::sync::{Barrier, Mutex, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use bevy_tasks::ComputeTaskPool;

use crate::scenario::{Scenario, common, ours};
use crate::support::{Tally, options, yield_now};

/// The scenarios of this module.
pub(crate) const SCENARIOS: &[Scenario] = &[
    common(
        "two_scopes",
        "two threads' scopes that do not tick the pool never run each other's tasks",
        || two_scopes(false),
    ),
    ours(
        "two_scopes_ticking",
        "two threads' scopes that do tick the pool never run each other's tasks either",
        || two_scopes(true),
    ),
];

const ROUNDS: usize = 200;
const CHILDREN: usize = 32;

/// The threads on which some tasks were polled.
#[derive(Default)]
pub(crate) struct Seen(Mutex<HashSet<ThreadId>>);

impl Seen {
    /// The current thread polls one of the tasks.
    pub(crate) fn note(&self) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.insert(thread::current().id());
    }

    /// Whether `thread` polled any.
    pub(crate) fn contains(&self, thread: ThreadId) -> bool {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.contains(&thread)
    }
}

/// Keeps the core busy, so that tasks pile up.
pub(crate) fn work() {
    let start = Instant::now();
    while start.elapsed() < Duration::from_micros(5) {
        spin_loop();
    }
}

fn rounds(tick: bool, start: &Barrier, seen: &Seen) {
    let home = thread::current().id();
    let pinned = Tally::default();
    for _ in 0..ROUNDS {
        start.wait();
        let outputs = ComputeTaskPool::get().scope_with_executor(tick, None, |scope| {
            for n in 0..CHILDREN {
                scope.spawn(async move {
                    seen.note();
                    work();
                    yield_now().await;
                    seen.note();
                    n
                });
                let pinned = &pinned;
                scope.spawn_on_scope(async move {
                    assert_eq!(thread::current().id(), home);
                    yield_now().await;
                    assert_eq!(thread::current().id(), home);
                    pinned.add();
                    n
                });
            }
        });
        assert_eq!(outputs.len(), 2 * CHILDREN);
        assert!(
            outputs
                .chunks(2)
                .enumerate()
                .all(|(n, pair)| pair == [n, n])
        );
    }
    assert_eq!(pinned.get(), ROUNDS * CHILDREN);
}

fn two_scopes(tick: bool) {
    options(2).create_default_pools();
    let start = Barrier::new(2);
    let (mains, renders) = (Seen::default(), Seen::default());
    let main = thread::current().id();
    let render = thread::scope(|threads| {
        let render = threads.spawn(|| {
            rounds(tick, &start, &renders);
            thread::current().id()
        });
        rounds(tick, &start, &mains);
        render.join().expect("the render thread does not panic")
    });
    assert!(
        !mains.contains(render),
        "the render thread ran main's tasks"
    );
    assert!(
        !renders.contains(main),
        "the main thread ran render's tasks"
    );
}
