//! Scopes within scopes.

use std::thread;

use bevy_tasks::TaskPool;

use crate::scenario::{Scenario, common, ours};
use crate::support::{Tally, pool, yield_now};

/// The scenarios of this module.
pub(crate) const SCENARIOS: &[Scenario] = &[
    common(
        "nested_scopes",
        "scopes nested 30 deep, by pool tasks and by tasks of the scope's thread, end",
        || for_pools(&[0, 1, 2], true),
    ),
    ours(
        "nested_scopes_not_ticking",
        "the same where no scope ticks the pool, deeper than the pool has threads",
        || for_pools(&[0, 1, 2], false),
    ),
    common(
        "nested_scopes_at_once",
        "threads that are no workers nest scopes on one pool at the same time",
        at_once,
    ),
];

const DEPTH: usize = 30;

fn for_pools(threads: &[usize], tick: bool) {
    for &threads in threads {
        let (pool, ran) = (pool(threads), Tally::default());
        nest(&pool, DEPTH, tick, &ran);
        assert_eq!(ran.get(), 4 * (DEPTH + 1));
    }
}

/// Opens a scope; one of its four children does it again.
fn nest(pool: &TaskPool, depth: usize, tick: bool, ran: &Tally) {
    let home = thread::current().id();
    let deeper = async move {
        yield_now().await;
        if depth > 0 {
            nest(pool, depth - 1, tick, ran);
        }
        ran.add();
    };
    let outputs = pool.scope_with_executor(tick, None, |scope| {
        if depth.is_multiple_of(2) {
            scope.spawn(deeper);
        } else {
            scope.spawn_on_scope(deeper);
        }
        scope.spawn(async move { ran.add() });
        scope.spawn_on_external(async move {
            assert_eq!(thread::current().id(), home);
            yield_now().await;
            ran.add();
        });
        scope.spawn(async move {
            // Spawned by a child, so after the scope's body has ended.
            scope.spawn_on_scope(async move {
                assert_eq!(thread::current().id(), home);
            });
            ran.add();
        });
    });
    assert_eq!(outputs.len(), 5);
}

fn at_once() {
    let (pool, ran) = (pool(2), Tally::default());
    thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| nest(&pool, DEPTH, true, &ran));
        }
    });
    assert_eq!(ran.get(), 4 * 4 * (DEPTH + 1));
}
