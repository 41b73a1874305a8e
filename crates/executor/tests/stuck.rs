//! Programs that hang on purpose: the dump names the culprit in its first ten lines. Each ends, as its hang can be released.

use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use terrace_executor::scope::{OpenScope, ScopeHandle, ScopeKind};
use terrace_executor::{Builder, Dump, Executor, Lane, RawJob, Worker, block_on, named};
use terrace_testing::{Wakes, watchdog};
use tokio::sync::{mpsc, oneshot};

/// How long a test waits until the program hangs.
const PATIENCE: Duration = Duration::from_secs(50);

/// Waits until all of these stand in the first ten lines of a dump.
#[track_caller]
fn names(executor: &Executor<'static>, culprits: &[&str]) -> Dump {
    let start = Instant::now();
    loop {
        let dump = executor.dump();
        let text = dump.to_string();
        let head: String = text.split_inclusive('\n').take(10).collect();
        if culprits.iter().all(|culprit| head.contains(culprit)) {
            let json: Value = serde_json::from_str(&dump.to_json()).expect("it is JSON");
            assert_eq!(
                json["suspects"].as_array().unwrap().len(),
                dump.suspects().len()
            );
            return dump;
        }
        assert!(
            start.elapsed() < PATIENCE,
            "{culprits:?} are not in the first lines of:\n{dump}"
        );
        thread::sleep(Duration::from_millis(1));
    }
}

fn pool(workers: usize) -> Arc<Executor<'static>> {
    Arc::new(Builder::new().workers(workers).build())
}

/// Opens a scope of one child, and waits for it.
fn scope_of(executor: &Executor<'static>, child: impl Future<Output = ()> + Send) {
    let open = OpenScope::open(executor, ScopeKind::of::<()>());
    let handle: ScopeHandle<'_> = open.handle();
    // SAFETY: the scope is open, and waited for below; the child owns what it uses, or borrows it from the caller.
    unsafe { handle.spawn(child) };
    assert!(open.wait(&[]).is_none(), "no child panics");
}

/// The child of each scope waits for what the other thread sends after its own scope.
#[test]
fn a_deadlock_of_two_scopes() {
    let _watchdog = watchdog();
    let executor = pool(2);
    let (to_left, from_right) = oneshot::channel::<()>();
    let (to_right, from_left) = oneshot::channel::<()>();
    let (release_left, released_left) = oneshot::channel::<()>();
    let (release_right, released_right) = oneshot::channel::<()>();
    let side = |name: &'static str,
                waits: oneshot::Receiver<()>,
                sends: oneshot::Sender<()>,
                released: oneshot::Receiver<()>| {
        let executor = Arc::clone(&executor);
        let thread = thread::Builder::new().name(format!("thread of {name}"));
        let body = move || {
            let either = async move {
                let both = (async { drop(waits.await) }, async { drop(released.await) });
                smol::future::or(both.0, both.1).await;
            };
            scope_of(&executor, named(name, either));
            drop(sends);
        };
        thread.spawn(body).unwrap()
    };
    let left = side("waits for the right", from_right, to_right, released_left);
    let right = side("waits for the left", from_left, to_left, released_right);
    let dump = names(
        &executor,
        &[
            "`waits for the right`",
            "`waits for the left`",
            "thread of waits for the right",
            "1 wait to be woken",
            "tests/stuck.rs:",
        ],
    );
    assert!(dump.suspects()[0].starts_with("scope "), "{dump}");
    drop((release_left, release_right));
    left.join().unwrap();
    right.join().unwrap();
}

#[test]
fn a_blocked_worker() {
    let _watchdog = watchdog();
    let executor = pool(1);
    let (release, blocked) = channel::<()>();
    executor
        .spawn(named("reads a file", async move { blocked.recv() }))
        .detach();
    executor.spawn(named("waits behind it", async {})).detach();
    let mut culprit =
        vec!["worker 0 (terrace-0) has been in one poll of task 1 `reads a file` (spawned at "];
    if cfg!(target_os = "linux") {
        culprit.push("and something blocks its thread (sleeps");
    }
    let dump = names(&executor, &culprit);
    assert!(
        dump.to_string().contains("task 2 of ") || dump.to_string().contains("`waits behind it`"),
        "{dump}"
    );
    drop(release);
    executor.wait_idle(None).unwrap();
}

#[test]
fn a_lost_waker() {
    let _watchdog = watchdog();
    let executor = pool(1);
    let ready = Arc::new(AtomicBool::new(false));
    let own = Arc::clone(&ready);
    // It keeps no waker.
    let forgets = poll_fn(move |_| match own.load(Ordering::Relaxed) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    });
    let task = executor.spawn(named("forgets its waker", forgets));
    let (_keeps, kept) = oneshot::channel::<()>();
    let honest = executor.spawn(named("keeps its waker", kept));
    let dump = names(
        &executor,
        &[
            "`forgets its waker` (spawned at ",
            "no waker of it is left",
            "`keeps its waker`",
        ],
    );
    assert!(dump.suspects()[0].contains("`forgets its waker`"), "{dump}");
    assert_eq!(
        dump.to_string().matches("no waker of it is left").count(),
        1,
        "{dump}"
    );
    ready.store(true, Ordering::Relaxed);
    drop((task, honest));
}

#[test]
fn a_full_channel() {
    let _watchdog = watchdog();
    let executor = pool(2);
    let (sender, mut receiver) = mpsc::channel(1);
    let (go_on, pauses) = oneshot::channel::<()>();
    let produces = async move {
        for item in 0..10 {
            sender.send(item).await.unwrap();
        }
    };
    let produced = executor.spawn(named("produces into a full channel", produces));
    let consumes = async move {
        let _end = pauses.await;
        while receiver.recv().await.is_some() {}
    };
    let consumed = executor.spawn(named("consumes nothing", consumes));
    names(
        &executor,
        &[
            "`produces into a full channel`",
            "`consumes nothing`",
            "has waited to be woken for ",
            "1 waker of it exist",
        ],
    );
    drop(go_on);
    block_on(produced);
    block_on(consumed);
}

#[test]
fn a_poll_that_never_ends() {
    let _watchdog = watchdog();
    let executor = pool(1);
    let ended = Arc::new(AtomicBool::new(false));
    let own = Arc::clone(&ended);
    let spins = async move {
        while !own.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    };
    let task = executor.spawn(named("spins", spins));
    let dump = names(
        &executor,
        &["worker 0 (terrace-0) has been in one poll of task 1 `spins` (spawned at "],
    );
    assert!(dump.suspects()[0].contains("`spins`"), "{dump}");
    ended.store(true, Ordering::Relaxed);
    block_on(task);
}

#[test]
fn waits_inside_of_polls_are_told_apart() {
    let _watchdog = watchdog();
    let executor = pool(3);
    let (release, released) = oneshot::channel::<()>();
    let in_block_on = named("in block_on", async move {
        let _released = block_on(released);
    });
    let (release_child, released_child) = oneshot::channel::<()>();
    let own = Arc::clone(&executor);
    let in_scope = named("in a scope", async move {
        let child = named("the child", async move {
            let _released = released_child.await;
        });
        scope_of(&own, child);
    });
    let tasks = [executor.spawn(in_block_on), executor.spawn(in_scope)];
    let dump = names(
        &executor,
        &[
            "waits in block_on, in a poll of task 1 `in block_on`",
            "waits in a scope, in a poll of task 2 `in a scope`",
            "waiting for 1 child",
            "`the child`",
        ],
    );
    assert!(
        dump.to_string().contains(" waits in a scope (0) for "),
        "{dump}"
    );
    drop((release, release_child));
    tasks.into_iter().for_each(block_on);
}

/// The records of tasks go with their futures, however those end.
#[test]
fn a_record_goes_with_its_task() {
    let _watchdog = watchdog();
    let executor = pool(2);
    let records = || {
        let json: Value = serde_json::from_str(&executor.dump().to_json()).unwrap();
        json["pools"][0]["tasks"].as_array().unwrap().len()
    };
    let cancelled = executor.spawn(pending::<()>());
    let eager = executor.spawn_eager(async {});
    let mut many = Vec::new();
    executor.spawn_many((0..50).map(|_| async {}), &mut many);
    block_on(eager);
    many.into_iter().for_each(block_on);
    drop(cancelled);
    executor.wait_idle(None).unwrap();
    assert_eq!(records(), 0);
}

/// A future sees the same waker in each poll as long as it keeps it, and another one wakes it too.
#[test]
fn a_recorded_task_keeps_its_waker() {
    let _watchdog = watchdog();
    let executor = pool(1);
    let (sender, wakers) = channel();
    let polled = poll_polls(sender);
    let task = executor.spawn(polled);
    for _ in 0..2 {
        let waker: Waker = wakers.recv().unwrap();
        waker.wake();
    }
    assert!(block_on(task));
}

/// Sends its waker at each of two polls; at the third it says whether the first kept one was the right one.
async fn poll_polls(sender: Sender<Waker>) -> bool {
    let mut kept = None;
    let mut polls = 0;
    let waits = poll_fn(move |context| {
        let kept = kept.get_or_insert_with(|| context.waker().clone());
        polls += 1;
        if polls == 3 {
            return Poll::Ready(kept.will_wake(context.waker()));
        }
        sender.send(context.waker().clone()).unwrap();
        Poll::Pending
    });
    pin!(waits).await
}

/// A raw job says where it was spawned; so do the parts of a broadcast, and work for one worker, that wait behind it.
#[test]
fn jobs_and_parts_of_broadcasts_are_recorded() {
    #[repr(C)]
    struct Blocks(RawJob, Receiver<()>);
    unsafe fn run(job: NonNull<RawJob>, _: &Worker) {
        // SAFETY: the job is the first field of a `Blocks` out of a box, and is called once.
        let this = unsafe { Box::from_raw(job.cast::<Blocks>().as_ptr()) };
        let _released = this.1.recv();
    }
    let _watchdog = watchdog();
    let executor = pool(1);
    let (release, blocked) = channel();
    let job = Box::leak(Box::new(Blocks(
        RawJob::new(run, |_| unreachable!()),
        blocked,
    )));
    // SAFETY: the job's function frees the box. The executor runs all tasks before it is dropped, so the other one is not called.
    unsafe { executor.spawner().spawn_raw(NonNull::from(job).cast()) };
    let dump = names(
        &executor,
        &["; polls task 1 of a raw job (spawned at crates/executor/tests/stuck.rs:"],
    );
    assert!(dump.to_string().contains("worker 0"), "{dump}");

    executor.spawner().spawn_broadcast(|_| {});
    executor.spawner().spawn_work_on(0, |_: &Worker| {});
    let json: Value = serde_json::from_str(&executor.dump().to_json()).unwrap();
    let records = json["pools"][0]["tasks"].as_array().unwrap();
    let queued = records.iter().filter(|record| record["state"] == "queued");
    let queued: Vec<_> = queued.collect();
    assert_eq!(queued.len(), 2, "{json}");
    for record in queued {
        let site = record["site"].as_str().unwrap();
        assert!(site.contains("tests/stuck.rs:"), "{record}");
    }
    drop(release);
    executor.wait_idle(None).unwrap();
}

/// A spawn knows the line that called it.
#[test]
fn tasks_without_names_have_sites_and_types() {
    let _watchdog = watchdog();
    let executor = Executor::new();
    let _tasks = [
        executor.spawn(pending::<()>()),
        executor.spawn_eager(pending()),
        executor.spawn_on(Lane::High, pending()),
        executor.spawn_on(Lane::Background, pending()),
        executor.spawner().spawn(pending()),
    ];
    let future = executor.scheduler().track(pending::<()>());
    let json: Value = serde_json::from_str(&executor.dump().to_json()).unwrap();
    let records = json["pools"][0]["tasks"].as_array().unwrap();
    assert_eq!(records.len(), 6);
    for record in records {
        let site = record["site"].as_str().unwrap();
        let of_type = record["future"].as_str().unwrap();
        assert!(site.contains("tests/stuck.rs:"), "{record}");
        assert!(of_type.contains("Pending<()>"), "{record}");
    }
    drop(future);
}

/// A future that is polled for one task, and then for another one, wakes the second.
#[test]
fn a_recorded_future_may_move_between_tasks() {
    let executor = Executor::new();
    let mut kept = None;
    let keeps = poll_fn(move |context| {
        let waker: &mut Waker = kept.get_or_insert_with(|| context.waker().clone());
        waker.clone_from(context.waker());
        waker.wake_by_ref();
        Poll::<()>::Pending
    });
    let mut tracked = pin!(executor.scheduler().track(keeps));
    for _ in 0..2 {
        for wakes in [Wakes::new(), Wakes::new()] {
            let waker = Waker::from(Arc::clone(&wakes));
            let polled = tracked.as_mut().poll(&mut Context::from_waker(&waker));
            assert!(polled.is_pending());
            assert_eq!(wakes.count(), 1);
        }
    }
}
