//! What a program that hangs says of itself: `pool::look` fills it in, and `terrace_trace::report` writes it.

use std::fmt;

use terrace_trace::report::{Pool, Report};

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
    #[must_use = "the call only reads a value"]
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
    #[must_use = "the text is returned, and not printed"]
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
