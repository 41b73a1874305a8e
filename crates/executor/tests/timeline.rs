//! What the timeline knows of tasks of a pool. It is that of the whole process, so this program has one test.
#![cfg(feature = "timeline")]

use std::ptr::NonNull;

use smol::future::yield_now;
use terrace_executor::{Builder, Lane, RawJob, Worker, block_on, named};
use terrace_trace::timeline;

/// The events of the trace with this text in them.
fn find<'t>(trace: &'t str, text: &str) -> Vec<&'t str> {
    trace.lines().filter(|line| line.contains(text)).collect()
}

fn here(line: u32) -> String {
    format!("\"site\":\"{}:{line}:", file!())
}

#[test]
fn polls_know_where_their_tasks_come_from() {
    let executor = Builder::new().workers(2).build();
    let first = line!() + 1;
    let plain = executor.spawn(async {
        yield_now().await;
        1
    });
    let named = executor.spawn(named("a name", async { yield_now().await }));
    let high = executor.spawn_on(Lane::High, async {});
    let eager = executor.spawn_eager(async {});
    assert_eq!(block_on(plain), 1);
    block_on(named);
    block_on(high);
    block_on(eager);
    let spawner = executor.spawner();
    let from_handle = line!() + 1;
    block_on(spawner.spawn(async {}));
    let batch = line!() + 2;
    let mut tasks = Vec::new();
    executor.spawn_many((0..3).map(|_| async {}), &mut tasks);
    tasks.into_iter().for_each(block_on);
    let local = block_on(executor.spawn(async {
        let line = line!() + 1;
        terrace_thread::spawn_local(async {}).await;
        line
    }));
    unsafe fn run(_: NonNull<RawJob>, _: &Worker) {}
    static JOB: RawJob = RawJob::new(run, |_| {});
    let raw = line!() + 2;
    // SAFETY: the job is never freed, and queued once.
    unsafe { executor.spawner().spawn_raw(NonNull::from(&JOB)) };
    executor.wait_idle(None).unwrap();
    // Of a pool with the same names.
    let other = Builder::new().workers(1).build();
    block_on(other.spawn(async {}));
    drop((executor, other));

    let mut trace = Vec::new();
    timeline::snapshot().write_chrome(&mut trace).unwrap();
    let trace = String::from_utf8(trace).unwrap();
    let polls = |line| find(&trace, &here(line));
    assert_eq!(polls(first).len(), 2, "one poll for the yield");
    assert!(polls(first)[0].contains("\"why\":\"spawned\""));
    assert!(
        polls(first)[1].contains("\"why\":\"woken in its own poll\""),
        "{}",
        polls(first)[1]
    );
    assert!(
        find(&trace, "\"name\":\"a name\"")
            .iter()
            .all(|poll| poll.contains(&here(first + 4)))
    );
    assert!(polls(first + 5)[0].contains("\"why\":\"spawned, high lane\""));
    assert!(polls(first + 6)[0].contains("\"cat\":\"first poll\""));
    assert_eq!(polls(from_handle).len(), 1);
    assert_eq!(polls(batch).len(), 3);
    assert_eq!(polls(local).len(), 1);
    assert_eq!(polls(raw).len(), 1);
    assert!(!find(&trace, "\"worker\":true").is_empty());
    let pools = find(&trace, "\"name\":\"terrace-0, pool ");
    assert_eq!(pools.len(), 2, "each pool has a worker of this name");
    assert_eq!(find(&trace, "\"name\":\"terrace-1\"").len(), 1, "one has");
    assert!(
        !trace.contains("crates/executor/src"),
        "a spawn has the line of the program"
    );
}
