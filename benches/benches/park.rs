//! `terrace-park`: sleeping, waking, and announcing work.

use criterion::{Criterion, criterion_group, criterion_main};
use event_listener::Event;
use terrace_benches::Rows;
use terrace_benches::park::{self, Announce, Crossbeam, Listener, Park, StdGroup};
use terrace_park::{Idle, Parker};

fn parker<P: Park>(rows: &mut Rows<'_>) {
    rows.row("unpark_then_park", P::NAME, 1, park::unpark_then_park::<P>);
    rows.row("ping_pong", P::NAME, "t2", park::ping_pong::<P>);
}

fn group<A: Announce>(rows: &mut Rows<'_>) {
    rows.row(
        "publish",
        A::NAME,
        "none-parked",
        park::publish_none_parked::<A>,
    );
    for workers in [1, 2, 8] {
        // The others sleep: two threads run at a time.
        let param = format!("1of{workers}-t2");
        rows.row("wake_one", A::NAME, param, || park::wake_one::<A>(workers));
    }
}

fn rows(criterion: &mut Criterion) {
    let rows = &mut Rows::new(criterion, "park");
    parker::<Parker>(rows);
    parker::<Crossbeam>(rows);
    parker::<park::Std>(rows);
    parker::<Listener>(rows);
    group::<Idle>(rows);
    group::<Event>(rows);
    group::<StdGroup>(rows);
    rows.row("publish", Idle::NAME, "searching", park::publish_searching);
}

criterion_group!(benches, rows);
criterion_main!(benches);
