//! The records of a pool's tasks, and the futures that keep them.

use std::any::type_name;
use std::cell::RefCell;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;
use terrace_local::asked;
use terrace_sync::atomic::{AtomicU64, Ordering};
use terrace_sync::time::Instant;
use terrace_sync::{Arc, Mutex};
use terrace_trace::spawn_site;
use tracing::span::Entered;

use super::long_polls::{self, Reports};
use super::record::Record;
use super::shards::Shards;
use super::spans::TaskSpan;
use super::threads;
pub(crate) use super::threads::name_of;
use crate::dump::report::Task;
use crate::parts::current::ExecutorId;
use crate::parts::patiently::patiently;

/// The records of a pool.
pub(crate) struct Table {
    pool: ExecutorId,
    next: AtomicU64,
    shards: Arc<Shards>,
}

impl Table {
    pub(crate) fn new(pool: ExecutorId) -> Self {
        Self {
            pool,
            next: AtomicU64::new(1),
            shards: Arc::default(),
        }
    }

    /// The tasks, those first that have been in their states for longest; and whether there are others. `slot` and `thread` as in
    /// [`Record::look`].
    pub(crate) fn look(
        &self,
        slot: impl Fn(usize) -> Option<usize>,
        thread: impl Fn(u64) -> Option<String>,
    ) -> (Option<Vec<Task>>, bool) {
        let mut tasks = Vec::new();
        let all = self
            .shards
            .each(|record| tasks.push(record.look(&slot, &thread)));
        tasks.sort_by_key(|task| std::cmp::Reverse(task.since));
        (Some(tasks), !all)
    }

    /// Reports long polls from now on, until [`end`](Self::end).
    pub(crate) fn report(&self, reports: &Arc<Reports>) {
        long_polls::add(self.pool, &self.shards, reports);
    }

    /// The executor ends: no report begins from now on.
    pub(crate) fn end(&self) {
        self.shards.end();
        long_polls::look_again();
    }

    #[track_caller]
    fn enter(&self, future: &'static str, scope: *const (), is_call: bool) -> Entry {
        // Ordering: Relaxed, a counter.
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let site = spawn_site();
        let kind = match (is_call, scope.is_null()) {
            (true, _) => "closure",
            (false, false) => "child",
            (false, true) => "task",
        };
        let span = TaskSpan::new(kind, self.pool, number, future, site);
        let wakes = span.wakes();
        let record = Record::new(number, self.pool, future, site, scope, is_call, wakes);
        let record = Arc::new(record);
        let shards = Arc::clone(&self.shards);
        shards
            .shard(number)
            .lock()
            .insert(number, Arc::clone(&record));
        Entry {
            record,
            shards,
            span,
        }
    }
}

/// When a thread began what it does.
#[derive(Default)]
pub(crate) struct Since(Mutex<Option<Instant>>);

impl Since {
    pub(crate) fn begin(&self) {
        *self.0.lock() = Some(Instant::now());
    }

    /// For how long it has done so.
    pub(crate) fn look(&self) -> Option<Duration> {
        let begin = *patiently(&self.0)?;
        Some(begin?.elapsed())
    }
}

/// Where a scope was opened, and when.
#[derive(Clone, Copy)]
pub(crate) struct Caller {
    site: &'static Location<'static>,
    at: Instant,
}

impl Caller {
    #[track_caller]
    pub(crate) fn here() -> Self {
        // The name of the thread is known from now on.
        threads::note();
        Self {
            site: Location::caller(),
            at: Instant::now(),
        }
    }
}

/// Where the last scope was opened that was in a slot.
#[derive(Default)]
pub(crate) struct Site(Mutex<Option<Caller>>);

impl Site {
    pub(crate) fn set(&self, caller: Caller) {
        *self.0.lock() = Some(caller);
    }

    /// The place, and for how long the scope is open.
    pub(crate) fn look(&self) -> Option<(String, Duration)> {
        let Caller { site, at } = (*patiently(&self.0)?)?;
        Some((site.to_string(), at.elapsed()))
    }
}

/// A record in its table; taken out when this is dropped.
struct Entry {
    record: Arc<Record>,
    shards: Arc<Shards>,
    span: TaskSpan,
}

impl Drop for Entry {
    fn drop(&mut self) {
        let number = self.record.number;
        let removed = self.shards.shard(number).lock().remove(&number);
        drop(removed);
    }
}

terrace_sync::thread_local! {
    /// The record of the innermost poll on this thread.
    static INNERMOST: RefCell<Option<Arc<Record>>> = const { RefCell::new(None) };
}

fn replace_innermost(record: Option<Arc<Record>>) -> Option<Arc<Record>> {
    let replaced = INNERMOST.try_with(|innermost| innermost.replace(record));
    replaced.ok().flatten()
}

/// A poll of a recorded task, until this is dropped.
struct Polling<'e> {
    entry: &'e Entry,
    asked: bool,
    outer: Option<Arc<Record>>,
    outer_name: Option<asked::Answer>,
    // Left after the drop, which says the name.
    _inside: Entered<'e>,
}

impl<'e> Polling<'e> {
    fn begin(entry: &'e Entry) -> Self {
        // It calls code of the program, so it comes first.
        let inside = entry.span.enter();
        let record = &entry.record;
        record.begins();
        let asks = record.asks_name();
        Self {
            entry,
            asked: asks.is_some(),
            outer: replace_innermost(Some(Arc::clone(record))),
            outer_name: asked::ask(asks),
            _inside: inside,
        }
    }
}

impl Drop for Polling<'_> {
    fn drop(&mut self) {
        drop(asked::ask(self.outer_name.take()));
        drop(replace_innermost(self.outer.take()));
        let Entry { record, span, .. } = self.entry;
        record.ends();
        if let Some(name) = record.name().filter(|_| self.asked) {
            span.is_named(name);
        }
    }
}

pin_project! {
    /// The future of a task that has a record.
    pub(crate) struct Recorded<F> {
        #[pin]
        future: F,
        // After the future: its destructor belongs to the task.
        entry: Entry,
    }
}

impl<F: Future> Future for Recorded<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _polling = Polling::begin(this.entry);
        // Dropped before the record says that the poll has ended: a waker that is left then is one that the program keeps.
        let waker = this.entry.record.waker(context.waker());
        this.future.poll(&mut Context::from_waker(&waker))
    }
}

/// A closure that has a record.
struct RecordedCall<F> {
    call: F,
    // After the closure, as in `Recorded`.
    entry: Entry,
}

/// Keeps a record of a task from now on, until its future is dropped.
#[track_caller]
pub(crate) fn task<F>(table: &Table, future: F) -> Recorded<F> {
    child(|| table, type_name::<F>(), std::ptr::null(), future)
}

/// The same for a child of the scope in the slot with this address, or of none; `name` is that of its future's type, or what stands for it.
#[track_caller]
pub(crate) fn child<'t, F>(
    table: impl FnOnce() -> &'t Table,
    name: &'static str,
    scope: *const (),
    future: F,
) -> Recorded<F> {
    Recorded {
        entry: table().enter(name, scope, false),
        future,
    }
}

/// The same for a closure.
#[track_caller]
pub(crate) fn call<W, F: FnOnce(&W)>(
    table: &Table,
    name: &'static str,
    scope: *const (),
    call: F,
) -> impl FnOnce(&W) + use<W, F> {
    let entry = table.enter(name, scope, true);
    let recorded = RecordedCall { call, entry };
    move |worker: &W| {
        // As a whole, so that the order of its fields is that of a drop without a call.
        let recorded = recorded;
        let _polling = Polling::begin(&recorded.entry);
        (recorded.call)(worker);
    }
}

/// A wait of the innermost poll on this thread, until this is dropped.
pub(crate) struct Waiting(Option<(Arc<Record>, usize)>);

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some((record, before)) = self.0.take() {
            record.waited(before);
        }
    }
}

/// The innermost poll on this thread waits in this.
pub(crate) fn waits(wait: &'static str) -> Waiting {
    let innermost = INNERMOST.try_with(|innermost| innermost.borrow().clone());
    let innermost = innermost.ok().flatten();
    Waiting(innermost.map(|record| {
        let before = record.waits(wait);
        (record, before)
    }))
}
