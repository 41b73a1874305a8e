//! Ending the threads of an executor that stays.

use std::error::Error;
use std::fmt;

use terrace_trace::report::count;

use crate::dump::Dump;

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
    #[must_use = "the call only reads a value"]
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
    #[must_use = "the call only reads a value"]
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
    #[must_use = "the call only reads a count"]
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
