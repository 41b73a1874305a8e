//! The futures and closures that keep records.

use core::any::type_name;
use core::cell::RefCell;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use pin_project_lite::pin_project;
use terrace_sync::Arc;
use tracing::span::Entered;

use super::record::Record;
use super::table::{Entry, Table};
use crate::mark::spawn_site;

terrace_sync::thread_local! {
    /// The record of the innermost poll on this thread.
    static INNERMOST: RefCell<Option<Arc<Record>>> = const { RefCell::new(None) };
}

/// The thread begins to poll a future of this name. The first one of a task names it.
pub(crate) fn polls_named(name: &str) {
    let _late = INNERMOST.try_with(|innermost| {
        if let Some(record) = &*innermost.borrow() {
            record.is_named(name);
        }
    });
}

fn replace_innermost(record: Option<Arc<Record>>) -> Option<Arc<Record>> {
    let replaced = INNERMOST.try_with(|innermost| innermost.replace(record));
    replaced.ok().flatten()
}

/// A poll of a recorded task, until this is dropped.
struct Polling<'e> {
    entry: &'e Entry,
    has_name: bool,
    outer: Option<Arc<Record>>,
    // Left after the drop, which says the name.
    _inside: Entered<'e>,
}

impl<'e> Polling<'e> {
    fn begin(entry: &'e Entry) -> Self {
        // It calls code of the program, so it comes first.
        let inside = entry.span.enter();
        let record = &entry.record;
        record.begins();
        Self {
            entry,
            has_name: record.name().is_some(),
            outer: replace_innermost(Some(Arc::clone(record))),
            _inside: inside,
        }
    }
}

impl Drop for Polling<'_> {
    fn drop(&mut self) {
        drop(replace_innermost(self.outer.take()));
        let Entry { record, span, .. } = self.entry;
        record.ends();
        if let Some(name) = record.name().filter(|_| !self.has_name) {
            span.record("task.name", name);
        }
    }
}

pin_project! {
    /// The future of a task that has a record.
    pub struct Recorded<F> {
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
pub fn task<F>(table: &Table, future: F) -> Recorded<F> {
    child(|| table, type_name::<F>(), core::ptr::null(), future)
}

/// The same for a child of the scope in the slot with this address, or of none; `name` is that of its future's type, or what stands for it.
#[track_caller]
pub fn child<'t, F>(
    table: impl FnOnce() -> &'t Table,
    name: &'static str,
    scope: *const (),
    future: F,
) -> Recorded<F> {
    Recorded {
        entry: table().enter(name, scope, false, spawn_site()),
        future,
    }
}

/// The same for a closure.
#[track_caller]
pub fn call<W, F: FnOnce(&W)>(
    table: &Table,
    name: &'static str,
    scope: *const (),
    call: F,
) -> impl FnOnce(&W) + use<W, F> {
    let entry = table.enter(name, scope, true, spawn_site());
    let recorded = RecordedCall { call, entry };
    move |worker: &W| {
        // As a whole, so that the order of its fields is that of a drop without a call.
        let recorded = recorded;
        let _polling = Polling::begin(&recorded.entry);
        (recorded.call)(worker);
    }
}

/// A wait of the innermost poll on this thread, until this is dropped.
pub struct Waiting(Option<(Arc<Record>, usize)>);

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some((record, before)) = self.0.take() {
            record.waited(before);
        }
    }
}

/// The innermost poll on this thread waits in this.
pub fn waits(wait: &'static str) -> Waiting {
    let innermost = INNERMOST.try_with(|innermost| innermost.borrow().clone());
    let innermost = innermost.ok().flatten();
    Waiting(innermost.map(|record| {
        let before = record.waits(wait);
        (record, before)
    }))
}
