//! Runs a tree of calls.

use std::panic::resume_unwind;

use rayon_core::{BroadcastContext, FnContext, Scope, ScopeFifo};

use crate::plan::{Child, Node, Pool};
use crate::world::{outcome, place, world};

/// The same call of the crate, or of the pool that is named.
macro_rules! call {
    ($pool:expr, $name:ident($($argument:expr),*)) => {
        match $pool {
            Some(pool) => world().pools[pool].$name($($argument),*),
            None => rayon_core::$name($($argument),*),
        }
    };
}

/// Mixes the values of several parts.
fn mixed(values: impl IntoIterator<Item = u64>) -> u64 {
    values.into_iter().fold(7, |sum, value| {
        sum.wrapping_mul(31).wrapping_add(value) % 1_000_003
    })
}

/// Does what a node says, on this thread or by its calls on others. Its value.
pub(crate) fn perform(node: &'static Node) -> u64 {
    match node {
        Node::Work(number) => {
            world().event(format!("work {number} in {}", place()));
            *number
        }
        Node::All(parts) => mixed(parts.iter().map(perform)),
        Node::Join {
            pool,
            context,
            halves,
        } => join(*pool, *context, halves),
        Node::Scope {
            pool,
            fifo,
            in_place,
            body,
            children,
        } => scope(*pool, (*fifo, *in_place), body, children),
        Node::Spawn { pool, fifo, node } => {
            world().begin(1);
            let job = || {
                let value = perform(node);
                world().event(format!("spawned {value} in {}", place()));
                world().end();
            };
            match fifo {
                true => call!(*pool, spawn_fifo(job)),
                false => call!(*pool, spawn(job)),
            }
            1
        }
        Node::Broadcast(pool, node) => {
            let values = call!(*pool, broadcast(|context| part(&context, node)));
            world().event(format!("broadcast to {}", values.len()));
            mixed(values)
        }
        Node::SpawnBroadcast(pool, node) => {
            let threads = match pool {
                Some(pool) => world().pools[*pool].current_num_threads(),
                None => rayon_core::current_num_threads(),
            };
            world().begin(threads);
            let job = |context: BroadcastContext<'_>| {
                part(&context, node);
                world().end();
            };
            call!(*pool, spawn_broadcast(job));
            1
        }
        Node::Yield { local } => {
            let yielded = match local {
                true => rayon_core::yield_local(),
                false => rayon_core::yield_now(),
            };
            yielded.is_some().into()
        }
        Node::Install(pool, node) => world().pools[*pool].install(|| perform(node)),
        Node::Panic(number) => resume_unwind(Box::new(*number)),
        Node::Catch(node) => {
            let caught = outcome(|| perform(node));
            world().event(format!("caught {caught:?}"));
            caught.unwrap_or(3)
        }
    }
}

/// One thread's part of a broadcast.
fn part(context: &BroadcastContext<'_>, node: &'static Node) -> u64 {
    let right = Some(context.index()) == rayon_core::current_thread_index();
    let value = perform(node);
    let (index, threads) = (context.index(), context.num_threads());
    world().event(format!(
        "part {index} of {threads} gives {value} in {}, right: {right}",
        place()
    ));
    value
}

fn join(pool: Pool, context: bool, halves: &'static [Node; 2]) -> u64 {
    let [first, second] = halves;
    let (first, second) = match (context, pool) {
        // A pool has no such method.
        (true, None) => {
            let inside = rayon_core::current_thread_index().is_some();
            let first = |context: FnContext| {
                // Where another thread may take the whole call, that is not said.
                let migrated = inside && context.migrated();
                (perform(first), migrated)
            };
            let ((first, migrated), second) = rayon_core::join_context(first, |_| perform(second));
            if migrated {
                world().event("the first half has migrated".to_owned());
            }
            (first, second)
        }
        _ => call!(pool, join(|| perform(first), || perform(second))),
    };
    let value = mixed([first, second]);
    world().event(format!("join {value}"));
    value
}

fn scope(
    pool: Pool,
    (fifo, in_place): (bool, bool),
    body: &'static Node,
    children: &'static [Child],
) -> u64 {
    let lifo = |scope: &Scope<'static>| {
        children.iter().for_each(|child| spawn(scope, child));
        perform(body)
    };
    let in_order = |scope: &ScopeFifo<'static>| {
        children.iter().for_each(|child| spawn_fifo(scope, child));
        perform(body)
    };
    let value = match (fifo, in_place) {
        (false, false) => call!(pool, scope(lifo)),
        (false, true) => call!(pool, in_place_scope(lifo)),
        (true, false) => call!(pool, scope_fifo(in_order)),
        (true, true) => call!(pool, in_place_scope_fifo(in_order)),
    };
    world().event(format!(
        "scope {value} of {} in {}",
        children.len(),
        place()
    ));
    value
}

/// Spawns a child, which spawns its own ones at its end.
macro_rules! spawn_child {
    ($name:ident, $scope:ty, $spawn:ident) => {
        fn $name(scope: &$scope, child: &'static Child) {
            if child.broadcast {
                return scope.spawn_broadcast(|_, context| {
                    part(&context, &child.node);
                });
            }
            scope.$spawn(|scope| {
                let value = perform(&child.node);
                world().event(format!("child {value} in {}", place()));
                child.more.iter().for_each(|child| $name(scope, child));
            });
        }
    };
}

spawn_child!(spawn, Scope<'static>, spawn);
spawn_child!(spawn_fifo, ScopeFifo<'static>, spawn_fifo);
