//! `terrace-local`: executors of one thread.

use criterion::{Criterion, criterion_group, criterion_main};
use terrace_benches::Rows;
use terrace_benches::local::{
    self, AsyncExecutor, AsyncExecutorStatic, Local, StaticLocal, Ticked, TokioLocal,
};
use terrace_benches::spawn::{self, BATCH, Contender, LIGHT_TASKS};

const TASKS: usize = 1_000;
const WAKES: usize = 1_000;

fn all<C: Contender>(rows: &mut Rows<'_>) {
    let name = C::NAME;
    rows.row("spawn_one", name, 1, || spawn::spawn_one(C::new(1)));
    rows.row("spawn_many", name, LIGHT_TASKS, || {
        spawn::spawn_many(C::new(1), LIGHT_TASKS)
    });
    rows.row("spawn_recursively", name, "300x300", || {
        spawn::spawn_recursively(C::new(1))
    });
    rows.row("yield_now", name, "300x300", || spawn::yield_now(C::new(1)));
    rows.row("channels", name, "300x300", || spawn::channels(C::new(1)));
    rows.row("web_server", name, 300, || spawn::web_server(C::new(1)));
    rows.row("spawn_batch", name, BATCH, || spawn::spawn_batch(C::new(1)));
}

fn ticked<C: Ticked>(rows: &mut Rows<'_>) {
    let name = C::NAME;
    rows.row("spawn_run_detach", name, TASKS, || {
        local::spawn_run_detach(C::new(1), TASKS)
    });
    rows.row("wake_self", name, WAKES, || {
        local::wake_self(C::new(1), WAKES)
    });
    rows.row("wake_owner", name, WAKES, || {
        local::wake_owner(C::new(1), WAKES)
    });
}

fn rows(criterion: &mut Criterion) {
    let rows = &mut Rows::new(criterion, "local");
    all::<Local>(rows);
    all::<StaticLocal>(rows);
    all::<AsyncExecutor>(rows);
    all::<AsyncExecutorStatic>(rows);
    all::<TokioLocal>(rows);
    ticked::<Local>(rows);
    ticked::<StaticLocal>(rows);
    ticked::<AsyncExecutor>(rows);
    ticked::<AsyncExecutorStatic>(rows);
}

criterion_group!(benches, rows);
criterion_main!(benches);
