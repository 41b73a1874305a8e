//! A span of `tracing` for each task, from its spawn to the drop of its future, and an event for each thing that happens to its
//! wakers: with the names that tokio-console looks for.
//!
//! A span belongs to the subscriber of the thread that spawned the task. Events go to that of the thread which wakes: to the same one, in
//! a program with one subscriber.

use core::panic::Location;

use tracing::span::Id;
use tracing::{Span, trace, trace_span};

use crate::timeline::spawned_type;

/// The span of a task that is being spawned; dropped, it closes. It bears the name of the future's type until the task tells another one.
pub(super) fn of_task(
    kind: &'static str,
    pool: u64,
    number: u64,
    future: &str,
    site: &'static Location<'static>,
) -> Span {
    trace_span!(
        target: "runtime::task",
        // A task outlives what has spawned it.
        parent: None,
        "runtime.spawn",
        kind,
        executor = pool,
        task.id = number,
        task.name = spawned_type(future),
        loc.file = site.file(),
        loc.line = site.line(),
        loc.col = site.column(),
    )
}

/// Whose wakers the events are about. It keeps no span open.
pub(super) struct Wakes(Option<Id>);

impl Wakes {
    /// Those of the task with this span.
    pub(super) fn new(span: &Span) -> Self {
        Self(span.id())
    }

    /// A waker that the program may keep is made, wakes the task, or is gone.
    pub(super) fn says(&self, op: &'static str) {
        if let Some(id) = &self.0 {
            trace!(target: "runtime::waker", op, task.id = id.into_u64());
        }
    }
}
