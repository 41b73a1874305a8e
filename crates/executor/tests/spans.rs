//! Each task is a span of `tracing`, and what happens to its wakers are events, in the form in which tokio-console reads them.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::future::{pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

use terrace_executor::scope::{OpenScope, ScopeKind};
use terrace_executor::{Builder, Executor, Spawner, block_on, named};
use terrace_testing::{Yields, watchdog};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::NoSubscriber;
use tracing::{Event, Metadata, Subscriber};

/// What was told of one span.
#[derive(Clone, Debug, Default)]
struct Told {
    target: &'static str,
    fields: Fields,
    /// After how many entries which field was recorded.
    later: Vec<(usize, Fields)>,
    entered: usize,
    exited: usize,
    handles: usize,
    wakers: Vec<String>,
}

#[derive(Clone, Debug, Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

/// One for all subscribers: what one is not told belongs to another.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Keeps what it is told of spans with the name `runtime.spawn`.
#[derive(Clone, Default)]
struct Keeps {
    spans: Arc<Mutex<BTreeMap<u64, Told>>>,
}

impl Keeps {
    fn change(&self, id: &Id, change: impl FnOnce(&mut Told)) {
        if let Some(told) = self.spans.lock().unwrap().get_mut(&id.into_u64()) {
            change(told);
        }
    }

    /// The tasks, in the order of their spawns.
    fn told(&self) -> Vec<Told> {
        self.spans.lock().unwrap().values().cloned().collect()
    }
}

impl Subscriber for Keeps {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        if attributes.metadata().name() == "runtime.spawn" {
            assert!(attributes.is_root(), "a task outlives its spawner");
            let mut told = Told {
                target: attributes.metadata().target(),
                handles: 1,
                ..Told::default()
            };
            attributes.record(&mut told.fields);
            self.spans.lock().unwrap().insert(id, told);
        }
        Id::from_u64(id)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        self.change(id, |told| {
            let mut fields = Fields::default();
            values.record(&mut fields);
            told.later.push((told.entered, fields));
        });
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        if event.metadata().target() == "runtime::waker" {
            let mut fields = Fields::default();
            event.record(&mut fields);
            let id = Id::from_u64(fields.0["task.id"].parse().unwrap());
            self.change(&id, |told| told.wakers.push(fields.0["op"].clone()));
        }
    }

    fn enter(&self, id: &Id) {
        self.change(id, |told| told.entered += 1);
    }

    fn exit(&self, id: &Id) {
        self.change(id, |told| told.exited += 1);
    }

    fn clone_span(&self, id: &Id) -> Id {
        self.change(id, |told| told.handles += 1);
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        let mut last = false;
        self.change(&id, |told| {
            told.handles -= 1;
            last = told.handles == 0;
        });
        last
    }
}

/// What is told while `f` runs on this thread, which also sees what was told so far.
fn told(f: impl FnOnce(&Executor<'_>, &Keeps)) -> Vec<Told> {
    let keeps = Keeps::default();
    // Without workers: the calling thread polls everything.
    let executor = Executor::new();
    tracing::subscriber::with_default(keeps.clone(), || {
        f(&executor, &keeps);
        drop(executor);
    });
    keeps.told()
}

impl Told {
    /// Events of wakers: how many were made, dropped, and woken.
    fn wakers(&self) -> [usize; 3] {
        ["waker.clone", "waker.drop", "waker.wake_by_ref"]
            .map(|op| self.wakers.iter().filter(|told| *told == op).count())
    }
}

fn tick_all(executor: &Executor<'_>) {
    while executor.try_tick() {}
}

#[test]
fn a_task_is_a_span_with_its_place() {
    let _watchdog = watchdog();
    let mut line = 0;
    let told = told(|executor, _| {
        line = line!() + 1;
        executor.spawn(async {}).detach();
        tick_all(executor);
    });
    let [task] = &told[..] else {
        panic!("one task: {told:?}");
    };
    let field = |name| task.fields.0[name].as_str();
    assert_eq!((task.target, field("kind")), ("runtime::task", "task"));
    assert!(field("executor").parse::<u64>().is_ok());
    assert!(field("loc.file").ends_with("spans.rs"), "{task:?}");
    assert_eq!(field("loc.line"), line.to_string());
    assert!(field("loc.col").parse::<u32>().is_ok());
    assert!(field("task.name").contains("a_task_is_a_span_with_its_place"));
    assert_eq!(
        (task.entered, task.exited, task.handles),
        (1, 1, 0),
        "polled once and closed: {task:?}"
    );
    assert!(task.later.is_empty());
}

#[test]
fn a_name_is_told_at_the_first_poll_and_once() {
    let _watchdog = watchdog();
    let told = told(|executor, _| {
        executor.spawn(named("loader", Yields(1))).detach();
        tick_all(executor);
    });
    let [(1, fields)] = &told[0].later[..] else {
        panic!("one name, after the first poll: {told:?}");
    };
    assert_eq!(fields.0["task.name"], "loader");
    assert_eq!((told[0].entered, told[0].exited), (2, 2));
}

#[test]
fn each_waker_that_is_left_is_counted() {
    let _watchdog = watchdog();
    let told = told(|executor, keeps| {
        let kept = Arc::new(Mutex::new(None::<Waker>));
        let mut polls = 0;
        let keeps_it = Arc::clone(&kept);
        let task = executor.spawn(poll_fn(move |context| {
            polls += 1;
            *keeps_it.lock().unwrap() = (polls < 3).then(|| context.waker().clone());
            if polls < 3 {
                Poll::Pending
            } else {
                Poll::Ready(())
            }
        }));
        tick_all(executor);
        for wakes in 0..2 {
            let [made, dropped, woken] = keeps.told()[0].wakers();
            assert_eq!((made - dropped, woken), (1, wakes), "one waker is left");
            let waker = kept.lock().unwrap().clone();
            waker.expect("the task waits").wake();
            tick_all(executor);
        }
        assert!(task.is_finished());
    });
    assert_eq!(told[0].wakers(), [1, 1, 2], "one was made, and kept");
}

#[test]
fn a_task_that_waits_without_a_waker_has_none() {
    let _watchdog = watchdog();
    let told = told(|executor, keeps| {
        let task = executor.spawn(pending::<()>());
        tick_all(executor);
        assert_eq!(keeps.told()[0].wakers(), [1, 1, 0], "the poll had one");
        drop(task);
        tick_all(executor);
    });
    assert_eq!(told[0].handles, 0, "a cancelled task is closed");
}

/// A batch has the line of its call.
#[test]
fn tasks_of_a_batch_have_its_line() {
    let _watchdog = watchdog();
    let mut line = 0;
    let told = told(|executor, _| {
        let mut tasks = Vec::new();
        line = line!() + 1;
        executor.spawn_many((0..3).map(|_| async {}), &mut tasks);
        tick_all(executor);
    });
    let lines: Vec<_> = told.iter().map(|told| &told.fields.0["loc.line"]).collect();
    assert_eq!(lines, [&line.to_string(); 3]);
}

/// A subscriber that panics fails the spawn, or the poll, and loses nothing.
#[test]
fn a_subscriber_that_panics_leaves_the_executor_whole() {
    let _watchdog = watchdog();
    let executor = Executor::new();
    let spawned = catch_unwind(AssertUnwindSafe(|| {
        tracing::subscriber::with_default(Panics, || executor.spawn(async {}).detach());
    }));
    assert!(spawned.is_err());
    assert!(executor.is_empty(), "no task was left");
    executor
        .wait_idle(None)
        .expect("there is nothing to wait for");
    // The wake comes in spite of its event.
    let kept = Arc::new(Mutex::new(None::<Waker>));
    let keeps = Arc::clone(&kept);
    let task = tracing::subscriber::with_default(Keeps::default(), || {
        let task = executor.spawn(poll_fn(move |context| {
            match keeps.lock().unwrap().replace(context.waker().clone()) {
                None => Poll::Pending,
                Some(_) => Poll::Ready(()),
            }
        }));
        tick_all(&executor);
        task
    });
    let waker = kept.lock().unwrap().clone().expect("the task waits");
    let woken = catch_unwind(AssertUnwindSafe(|| {
        tracing::subscriber::with_default(Panics, || waker.wake_by_ref());
    }));
    assert!(woken.is_err());
    tick_all(&executor);
    assert!(task.is_finished());
}

/// Panics at each new span and event.
struct Panics;

impl Subscriber for Panics {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        panic!("no span");
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        panic!("no event");
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// A waker that outlives its task keeps no span open.
#[test]
fn a_waker_outlives_the_span() {
    let _watchdog = watchdog();
    let kept = Arc::new(Mutex::new(None::<Waker>));
    let told = told(|executor, _| {
        let keeps = Arc::clone(&kept);
        let task = executor.spawn(poll_fn(move |context| {
            *keeps.lock().unwrap() = Some(context.waker().clone());
            Poll::Ready(())
        }));
        tick_all(executor);
        assert!(task.is_finished());
    });
    assert_eq!(told[0].handles, 0, "{told:?}");
    kept.lock().unwrap().take().expect("it is kept").wake();
}

/// On workers, with a subscriber for the whole process.
#[test]
fn children_and_closures_are_spans_on_every_thread() {
    const EACH: usize = 100;
    let _watchdog = watchdog();
    let keeps = Keeps::default();
    tracing::subscriber::set_global_default(keeps.clone()).expect("no other test sets one");
    let executor = Arc::new(Builder::new().workers(2).build());
    let own = Arc::clone(&executor);
    block_on(executor.spawn(async move {
        let open = OpenScope::open(&own, ScopeKind::of::<()>());
        for _ in 0..EACH {
            // SAFETY: the scope is open, and is waited for below; the child owns what it uses.
            unsafe { open.handle().spawn(Yields(1)) };
            // SAFETY: the same.
            unsafe { open.handle().spawn_call(|| {}) };
            own.spawn(Yields(1)).detach();
        }
        assert!(open.wait(&[]).is_none());
    }));
    executor.wait_idle(None).expect("there is no limit");
    let told = keeps.told();
    let of = |kind| {
        told.iter()
            .filter(move |told| told.fields.0["kind"] == kind)
    };
    assert_eq!(
        ["task", "child", "closure"].map(|kind| of(kind).count()),
        [EACH + 1, EACH, EACH]
    );
    assert!(
        told.iter()
            .all(|told| told.entered == told.exited && told.handles == 0)
    );
    assert!(of("closure").all(|told| told.entered == 1 && told.wakers.is_empty()));
}

/// Broadcasts when it is dropped.
struct Broadcasts(Spawner);

impl Drop for Broadcasts {
    fn drop(&mut self) {
        tracing::subscriber::with_default(NoSubscriber::default(), || {
            self.0.spawn_broadcast(|_| ());
        });
    }
}

#[test]
fn a_broadcast_that_ends_early_drops_its_closure_under_no_lock() {
    let _watchdog = watchdog();
    let executor = Builder::new().workers(2).build();
    let (spawner, again) = (executor.spawner(), Broadcasts(executor.spawner()));
    let parts = tracing::subscriber::with_default(Panics, || {
        catch_unwind(AssertUnwindSafe(|| {
            spawner.spawn_broadcast(move |_| {
                let _again = &again;
            });
        }))
    });
    assert!(parts.is_err(), "the subscriber panics");
    tracing::subscriber::with_default(NoSubscriber::default(), || {
        assert_eq!(executor.broadcast(|part| part.index), [0, 1]);
    });
}
