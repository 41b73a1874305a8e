//! `terrace-executor`: executors with several threads.

use criterion::{Criterion, criterion_group, criterion_main};
use terrace_benches::executor::{
    self, AsyncExecutor, AsyncExecutorIo, AsyncExecutorStatic, AsyncIo, Current, Executor,
    ExecutorMain, ExecutorMainTokio, ExecutorRun, ExecutorRunIo, Lookup, Net, RayonIndex,
    StaticExecutor, StaticExecutorRun, Tokio, TokioHandle, TokioIo, TokioNet,
};
use terrace_benches::spawn::{self, BATCH, Contender, LIGHT_TASKS};
use terrace_benches::{Rows, WORKERS};

/// Tasks spawned while the workers are busy.
const BUSY_TASKS: usize = 1_000;
/// Tasks woken in a burst.
const BURST: usize = 64;
/// Pairs that play ping-pong, and how long.
const PAIRS: usize = 16;
const MESSAGES: usize = 200;
/// Children of a fan-out, and how often.
const CHILDREN: u64 = 100;
const ROUNDS: usize = 10;
/// Clients of the actors, and how often each asks.
const CLIENTS: usize = 50;
const REQUESTS: usize = 20;
/// Tasks that compute, and for how many microseconds.
const COMPUTING: usize = 64;
const LENGTHS: [u64; 2] = [10, 100];
/// Connections of the echo, and how many requests each sends.
const CONNECTIONS: usize = 64;
const ECHOES: usize = 20;

fn all<C: Contender>(rows: &mut Rows<'_>) {
    for workers in WORKERS {
        let new = || C::new(workers);
        let name = C::NAME;
        // The number of workers is read from the end of the id, see the README.
        let sized = |size: &dyn std::fmt::Display| format!("{size}-t{workers}");
        let light = &sized(&LIGHT_TASKS);
        let steps = &sized(&"300x300");
        rows.row("spawn_one", name, format!("t{workers}"), || {
            spawn::spawn_one(new())
        });
        rows.row("spawn_many", name, light, || {
            spawn::spawn_many(new(), LIGHT_TASKS)
        });
        rows.row("spawn_many_inside", name, light, || {
            executor::spawn_many_inside(new(), LIGHT_TASKS)
        });
        rows.row("spawn_many_busy", name, sized(&BUSY_TASKS), || {
            executor::spawn_many_busy(new(), workers, BUSY_TASKS)
        });
        rows.row("spawn_batch", name, sized(&BATCH), || {
            spawn::spawn_batch(new())
        });
        rows.row("spawn_recursively", name, steps, || {
            spawn::spawn_recursively(new())
        });
        rows.row("yield_now", name, steps, || spawn::yield_now(new()));
        rows.row("channels", name, steps, || spawn::channels(new()));
        rows.row(
            "ping_pong",
            name,
            sized(&format!("{PAIRS}x{MESSAGES}")),
            || executor::ping_pong(new(), PAIRS, MESSAGES),
        );
        rows.row("burst_wake", name, sized(&BURST), || {
            executor::burst_wake(new(), BURST)
        });
        rows.row(
            "fan_out_fan_in",
            name,
            sized(&format!("{CHILDREN}x{ROUNDS}")),
            || executor::fan_out_fan_in(new(), CHILDREN, ROUNDS),
        );
        rows.row(
            "actors",
            name,
            sized(&format!("{CLIENTS}x{REQUESTS}")),
            || executor::actors(new(), CLIENTS, REQUESTS),
        );
        for length in LENGTHS {
            let size = &sized(&format!("{COMPUTING}x{length}us"));
            rows.row("cpu_bound", name, size, || {
                executor::cpu_bound(new(), COMPUTING, length)
            });
            rows.row("one_by_one", name, size, || {
                executor::one_by_one(new(), COMPUTING, length)
            });
        }
        rows.row("web_server", name, sized(&300), || spawn::web_server(new()));
    }
}

fn io<C: Contender, N: Net>(rows: &mut Rows<'_>) {
    for workers in WORKERS {
        let param = format!("{CONNECTIONS}x{ECHOES}-t{workers}");
        rows.row("echo", C::NAME, param, || {
            executor::echo::<C, N>(C::new(workers), CONNECTIONS, ECHOES)
        });
    }
}

fn lookup<L: Lookup>(rows: &mut Rows<'_>) {
    rows.row("current", L::NAME, "on-t1", || executor::lookup::<L>(true));
    rows.row("current", L::NAME, "off", || executor::lookup::<L>(false));
}

fn rows(criterion: &mut Criterion) {
    let rows = &mut Rows::new(criterion, "executor");
    all::<Executor>(rows);
    all::<StaticExecutor>(rows);
    all::<ExecutorRun>(rows);
    all::<StaticExecutorRun>(rows);
    all::<AsyncExecutor>(rows);
    all::<AsyncExecutorStatic>(rows);
    all::<Tokio>(rows);
    io::<Executor, AsyncIo>(rows);
    io::<ExecutorMain, AsyncIo>(rows);
    io::<ExecutorMainTokio, TokioNet>(rows);
    io::<ExecutorRunIo, AsyncIo>(rows);
    io::<AsyncExecutorIo, AsyncIo>(rows);
    io::<TokioIo, TokioNet>(rows);
    lookup::<Current>(rows);
    lookup::<TokioHandle>(rows);
    lookup::<RayonIndex>(rows);
}

criterion_group!(benches, rows);
criterion_main!(benches);
