//! Reports of polls that take long: a thread looks at the records of the pool that asked for them, twice in the limit.

use std::fmt;
use std::panic::Location;
use std::time::Duration;

use terrace_local::contain;
use terrace_sync::unmodelled::Weak;
use terrace_sync::{Arc, thread};
use terrace_trace::inspect::Records;
use terrace_trace::report::Task;

use super::current::ExecutorId;

/// The thread looks no more often and no more seldom than this.
const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_secs(1);

/// A poll that takes longer than the limit of [`Builder::report_long_polls`](crate::Builder::report_long_polls), which has an example.
pub struct LongPoll {
    executor: ExecutorId,
    task: Task,
}

impl LongPoll {
    /// The executor whose task is being polled.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    /// use std::time::Duration;
    /// use terrace_executor::Builder;
    ///
    /// let ((sender, reports), (go_on, blocks)) = (channel(), channel::<()>());
    /// let executor = Builder::new()
    ///     .workers(1)
    ///     .report_long_polls(Duration::from_millis(1), move |poll| sender.send(poll.executor()).unwrap())
    ///     .build();
    /// executor.spawn(async move { blocks.recv() }).detach();
    /// assert_eq!(reports.recv(), Ok(executor.id()));
    /// drop(go_on);
    /// ```
    #[must_use = "the call only reads a value"]
    pub fn executor(&self) -> ExecutorId {
        self.executor
    }

    /// The name of the task: what [`named`](crate::named) has given to its future.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    /// use std::time::Duration;
    /// use terrace_executor::{Builder, named};
    ///
    /// let ((sender, reports), (go_on, blocks)) = (channel(), channel::<()>());
    /// let executor = Builder::new()
    ///     .workers(1)
    ///     .report_long_polls(Duration::from_millis(1), move |poll| sender.send(poll.name().map(String::from)).unwrap())
    ///     .build();
    /// executor.spawn(named("reader", async move { blocks.recv() })).detach();
    /// assert_eq!(reports.recv().unwrap().as_deref(), Some("reader"));
    /// drop(go_on);
    /// ```
    #[must_use = "the call only reads a value"]
    pub fn name(&self) -> Option<&str> {
        self.task.name.as_deref()
    }

    /// Where the task was spawned.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    /// use std::time::Duration;
    /// use terrace_executor::Builder;
    ///
    /// let ((sender, reports), (go_on, blocks)) = (channel(), channel::<()>());
    /// let executor = Builder::new()
    ///     .workers(1)
    ///     .report_long_polls(Duration::from_millis(1), move |poll| sender.send(poll.site()).unwrap())
    ///     .build();
    /// let line = line!() + 1;
    /// executor.spawn(async move { blocks.recv() }).detach();
    /// assert_eq!(reports.recv().unwrap().line(), line);
    /// drop(go_on);
    /// ```
    #[must_use = "the call only reads a value"]
    pub fn site(&self) -> &'static Location<'static> {
        self.task.site
    }

    /// The type of the task's future or closure.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    /// use std::time::Duration;
    /// use terrace_executor::Builder;
    ///
    /// let ((sender, reports), (go_on, blocks)) = (channel(), channel::<()>());
    /// let executor = Builder::new()
    ///     .workers(1)
    ///     .report_long_polls(Duration::from_millis(1), move |poll| sender.send(poll.future()).unwrap())
    ///     .build();
    /// async fn reads(blocks: std::sync::mpsc::Receiver<()>) {
    ///     drop(blocks.recv());
    /// }
    ///
    /// executor.spawn(reads(blocks)).detach();
    /// assert!(reports.recv().unwrap().contains("reads"));
    /// drop(go_on);
    /// ```
    #[must_use = "the call only reads a value"]
    pub fn future(&self) -> &'static str {
        self.task.future
    }

    /// The [`index`](crate::Current::worker) of the worker that polls it. `None` on another thread.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    /// use std::time::Duration;
    /// use terrace_executor::Builder;
    ///
    /// let ((sender, reports), (go_on, blocks)) = (channel(), channel::<()>());
    /// let executor = Builder::new()
    ///     .workers(1)
    ///     .report_long_polls(Duration::from_millis(1), move |poll| sender.send(poll.worker()).unwrap())
    ///     .build();
    /// executor.spawn(async move { blocks.recv() }).detach();
    /// assert_eq!(reports.recv(), Ok(Some(0)));
    /// drop(go_on);
    /// ```
    #[must_use = "the call only reads a value"]
    pub fn worker(&self) -> Option<usize> {
        self.task.worker
    }

    /// The name of the thread that polls it.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    /// use std::time::Duration;
    /// use terrace_executor::Builder;
    ///
    /// let ((sender, reports), (go_on, blocks)) = (channel(), channel::<()>());
    /// let executor = Builder::new()
    ///     .workers(1)
    ///     .report_long_polls(Duration::from_millis(1), move |poll| sender.send(poll.thread().map(String::from)).unwrap())
    ///     .build();
    /// executor.spawn(async move { blocks.recv() }).detach();
    /// assert_eq!(reports.recv().unwrap().as_deref(), Some("terrace-0"));
    /// drop(go_on);
    /// ```
    #[must_use = "the call only reads a value"]
    pub fn thread(&self) -> Option<&str> {
        self.task.thread.as_deref()
    }

    /// For how long the poll has run so far.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    /// use std::time::Duration;
    /// use terrace_executor::Builder;
    ///
    /// let ((sender, reports), (go_on, blocks)) = (channel(), channel::<()>());
    /// let executor = Builder::new()
    ///     .workers(1)
    ///     .report_long_polls(Duration::from_millis(1), move |poll| sender.send(poll.elapsed()).unwrap())
    ///     .build();
    /// executor.spawn(async move { blocks.recv() }).detach();
    /// assert!(!reports.recv().unwrap().is_zero());
    /// drop(go_on);
    /// ```
    #[must_use = "the call only reads a value"]
    pub fn elapsed(&self) -> Duration {
        self.task.since
    }

    /// What the poll waits in at this moment, if in a wait of the executor: `a scope`, `a join` or `block_on`.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    /// use std::time::Duration;
    /// use terrace_executor::Builder;
    ///
    /// let ((sender, reports), (go_on, blocks)) = (channel(), channel::<()>());
    /// let executor = Builder::new()
    ///     .workers(1)
    ///     .report_long_polls(Duration::from_millis(1), move |poll| sender.send(poll.waits_in()).unwrap())
    ///     .build();
    /// executor.spawn(async move { blocks.recv() }).detach();
    /// assert_eq!(reports.recv(), Ok(None), "a channel is no wait of the executor");
    /// drop(go_on);
    /// ```
    #[must_use = "the call only reads a value"]
    pub fn waits_in(&self) -> Option<&'static str> {
        self.task.waits_in
    }
}

impl fmt::Display for LongPoll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let thread = self.thread().unwrap_or("a thread");
        let since = self.task.since;
        write!(
            f,
            "{thread} has been in one poll of {} for {since:.1?}",
            self.task.title()
        )?;
        match self.task.waits_in {
            Some(wait) => write!(f, ", and waits in {wait}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for LongPoll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LongPoll({self})")
    }
}

/// The user's function.
type Report = Box<dyn Fn(&LongPoll) + Send + Sync>;

/// What a pool wants to be told.
pub(crate) struct Reports {
    limit: Duration,
    call: Option<Report>,
}

impl Reports {
    pub(crate) fn new(limit: Duration, call: impl Fn(&LongPoll) + Send + Sync + 'static) -> Self {
        Self {
            limit,
            call: Some(Box::new(call)),
        }
    }

    fn call(&self, poll: &LongPoll) {
        if let Some(call) = &self.call {
            contain(|| call(poll));
        }
    }
}

impl Drop for Reports {
    /// Drops the user's closure, on the thread that drops the last reference.
    fn drop(&mut self) {
        let call = self.call.take();
        contain(|| drop(call));
    }
}

/// Starts the thread that looks at the records of a pool. Where the system starts none, there are no reports.
pub(crate) fn watch(executor: ExecutorId, records: &Arc<Records>, reports: &Arc<Reports>) {
    let (records, reports) = (Arc::downgrade(records), Arc::downgrade(reports));
    let looks = move || {
        while let Some(limit) = look(executor, &records, &reports) {
            thread::park_timeout((limit / 2).clamp(SHORTEST, LONGEST));
        }
    };
    let started = thread::Builder::new()
        .name("terrace-polls".into())
        .spawn(looks);
    drop(started);
}

/// Reports what there is to report. Returns the limit, unless the pool has ended.
fn look(
    executor: ExecutorId,
    records: &Weak<Records>,
    reports: &Weak<Reports>,
) -> Option<Duration> {
    let (records, reports) = (records.upgrade()?, reports.upgrade()?);
    if records.has_ended() {
        return None;
    }
    for task in records.long_polls(reports.limit) {
        if records.has_ended() {
            return None;
        }
        reports.call(&LongPoll { executor, task });
    }
    Some(reports.limit)
}
