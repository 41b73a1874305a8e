//! Ending the threads of an executor that stays.

use std::error::Error;
use std::fmt;

use terrace_trace::report::{Pool, Report, count};

/// What becomes of an executor's tasks when its threads are ended.
///
/// | kind                              | a queued task | a task that waits to be woken                  | the limit is over before |
/// |-----------------------------------|---------------|------------------------------------------------|-------------------------------------|
/// | [`FinishAll`](Self::FinishAll)    | runs          | is waited for, and runs to its end             | no thread has been asked to end     |
/// | [`RunQueued`](Self::RunQueued)    | runs          | stays; it runs when the executor is driven     | all threads have been asked to end  |
/// | [`DropQueued`](Self::DropQueued)  | is dropped    | stays, likewise                                | all threads have been asked to end  |
///
/// Only the drop of the executor drops the tasks that wait.
///
/// # Examples
///
/// ```
/// use terrace_executor::{Builder, Shutdown};
///
/// let executor = Builder::new().workers(1).build();
/// let waits = executor.spawn(std::future::pending::<()>());
/// executor.shutdown(Shutdown::RunQueued, None)?;
/// assert!(!executor.is_empty(), "it keeps the task that waits");
/// # drop(waits);
/// # Ok::<(), terrace_executor::StillRunning>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shutdown {
    /// Waits until every task has ended, those that wait for a timer or for IO included; then ends the threads. Tasks may spawn
    /// others until the last one has ended. An executor without workers is driven by the caller.
    FinishAll,
    /// Workers run until nothing is queued. Tasks that wait for something stay as they are. Once woken, they run when
    /// the executor has workers again, or is driven.
    RunQueued,
    /// The threads end first; then the executor drops every queued task.
    DropQueued,
}

/// Other names of two kinds, for programs that took the crate from git.
#[expect(non_upper_case_globals, reason = "they stand where variants stood")]
impl Shutdown {
    /// [`RunQueued`](Self::RunQueued).
    #[deprecated = "it waits for queued tasks only: use `RunQueued`, or `FinishAll` to wait for every task"]
    pub const Drain: Self = Self::RunQueued;
    /// [`DropQueued`](Self::DropQueued).
    #[deprecated = "it drops queued tasks only: use `DropQueued`"]
    pub const Cancel: Self = Self::DropQueued;
}

/// Tasks or threads had not ended when the time was up.
///
/// Its `Display` text also names what most likely was in the way, and its `Debug` text, which `unwrap` shows, is followed by the whole
/// [`dump`](Self::dump).
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use terrace_executor::{Builder, Shutdown};
///
/// let executor = Builder::new().workers(1).build();
/// executor.spawn(std::future::pending::<()>()).detach();
/// let late = executor.shutdown(Shutdown::FinishAll, Some(Duration::ZERO)).unwrap_err();
/// assert_eq!((late.tasks(), late.threads()), (1, 0));
/// assert!(late.to_string().starts_with("1 task of the executor has not ended in time"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct StillRunning {
    threads: usize,
    tasks: usize,
    dump: Box<Dump>,
}

impl StillRunning {
    pub(crate) fn new(threads: usize, tasks: usize, dump: Dump) -> Self {
        let dump = Box::new(dump);
        Self {
            threads,
            tasks,
            dump,
        }
    }

    /// What the executor looked like when the time was up.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use terrace_executor::{Builder, Shutdown};
    ///
    /// let executor = Builder::new().workers(1).build();
    /// executor.spawn(std::future::pending::<()>()).detach();
    /// let late = executor.shutdown(Shutdown::FinishAll, Some(Duration::ZERO)).unwrap_err();
    /// assert!(late.dump().to_string().contains("1 of 1 task not ended"));
    /// ```
    #[must_use]
    pub fn dump(&self) -> &Dump {
        &self.dump
    }

    /// How many threads were asked to end, and have not. They will. Zero if none was asked.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    /// use std::time::Duration;
    /// use terrace_executor::{Builder, Shutdown};
    ///
    /// let ((begins, begun), (go_on, blocks)) = (channel(), channel::<()>());
    /// let executor = Builder::new().workers(1).build();
    /// let blocking = async move {
    ///     begins.send(()).unwrap();
    ///     blocks.recv()
    /// };
    /// executor.spawn(blocking).detach();
    /// begun.recv().unwrap();
    /// let late = executor.shutdown(Shutdown::RunQueued, Some(Duration::ZERO)).unwrap_err();
    /// assert_eq!(late.threads(), 1);
    /// drop(go_on);
    /// ```
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// How many tasks have not ended: they run, are queued, or wait to be woken.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let executor = terrace_executor::Executor::new();
    /// executor.spawn(std::future::pending::<()>()).detach();
    /// executor.spawn(async {}).detach();
    /// let late = executor.wait_idle(Some(Duration::ZERO)).unwrap_err();
    /// assert!(late.tasks() >= 1, "one of the tasks never ends");
    /// ```
    #[must_use]
    pub fn tasks(&self) -> usize {
        self.tasks
    }
}

impl fmt::Display for StillRunning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { threads, tasks, .. } = self;
        let have = |count: usize| if count == 1 { "has" } else { "have" };
        let (of_tasks, of_threads) = (count(*tasks, "task"), count(*threads, "thread"));
        match threads {
            0 => write!(
                f,
                "{of_tasks} of the executor {} not ended in time",
                have(*tasks)
            )?,
            _ => write!(
                f,
                "{of_threads} of the executor {} not ended in time, with {of_tasks} left; a task may be blocking a thread",
                have(*threads)
            )?,
        }
        match self.dump.suspects().first() {
            Some(suspect) => write!(f, ": {suspect}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for StillRunning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StillRunning")
            .field("threads", &self.threads)
            .field("tasks", &self.tasks)
            .finish_non_exhaustive()?;
        write!(f, "\n{}", self.dump)
    }
}

impl Error for StillRunning {}

/// What one pool, or all pools of the process, look like at one moment. [`Executor::dump`](crate::Executor::dump) and
/// [`dump_all`](crate::dump_all) take it.
///
/// Its `Display` text names in its first ten lines what most likely keeps the program from going on. Then it lists, for each pool,
/// the workers and what each does, the queues with their lengths, the open scopes and what each waits for, the threads in the middle
/// of joins, and the tasks.
///
/// The tasks themselves, with their spawn sites and for how long they are being polled or wait, are known with the crate's feature
/// `inspect` only. Without it the dump knows their number.
///
/// Each figure is a hint: threads go on while they are looked at.
///
/// # Examples
///
/// ```
/// use terrace_executor::Builder;
///
/// let executor = Builder::new().workers(2).build();
/// let task = executor.spawn(std::future::pending::<()>());
/// let dump = executor.dump();
/// assert!(dump.to_string().contains("1 of 1 task not ended"));
/// assert!(dump.to_json().starts_with(r#"{"suspects":["#));
/// # drop(task);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Dump {
    report: Report,
}

impl Dump {
    /// Of these pools; `partial` if there may be others.
    pub(crate) fn new(pools: Vec<Pool>, partial: bool) -> Self {
        Self {
            report: Report::new(pools, partial),
        }
    }

    /// What may keep the program from going on, the likeliest first, each in one line without a line break. Empty if nothing looks
    /// stuck.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Executor::new();
    /// executor.spawn(async {}).detach();
    /// assert_eq!(executor.dump().suspects().len(), 1, "no thread is there to run the task");
    /// executor.try_tick();
    /// assert!(executor.dump().suspects().is_empty());
    /// ```
    #[must_use]
    pub fn suspects(&self) -> &[String] {
        self.report.suspects()
    }

    /// The whole dump as one line of JSON: an object with `suspects`, `pools` and `partial`. Times are in seconds. What is not known
    /// is `null`.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_executor::Builder::new().workers(1).build();
    /// let json = executor.dump().to_json();
    /// let json: serde_json::Value = serde_json::from_str(&json)?;
    /// assert_eq!(json["pools"].as_array().map(Vec::len), Some(1));
    /// assert_eq!(json["partial"], false);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn to_json(&self) -> String {
        self.report.to_json()
    }
}

impl fmt::Display for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.report, f)
    }
}

/// The same text as `Display`, so that a failed `unwrap` shows it.
impl fmt::Debug for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.report, f)
    }
}
