//! What a pool, or all pools of the process, look like at one moment, and what may be stuck there.
//!
//! | file       | has                                              |
//! |------------|--------------------------------------------------|
//! | `report`   | the data, which `pool::look` fills in            |
//! | `suspects` | which of it may be the reason that nothing moves |
//! | `text`     | the text, its suspects first                     |
//! | `json`     | the JSON                                         |

mod json;
pub(crate) mod report;
mod suspects;
mod text;

use std::fmt;

use report::Pool;
pub(crate) use text::count;

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
    suspects: Vec<String>,
    pools: Vec<Pool>,
    /// Whether there may be pools that are not shown: their list was locked.
    partial: bool,
}

impl Dump {
    pub(crate) fn new(pools: Vec<Pool>, partial: bool) -> Self {
        let suspects = suspects::of(&pools);
        Self {
            suspects,
            pools,
            partial,
        }
    }

    /// What may keep the program from going on, the likeliest first, each in one line without a line break. Empty if nothing looks
    /// stuck.
    #[must_use]
    pub fn suspects(&self) -> &[String] {
        &self.suspects
    }

    /// The whole dump as one line of JSON: an object with `suspects`, `pools` and `partial`. Times are in seconds. What is not known
    /// is `null`.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        json::object(
            &mut out,
            &[
                ("suspects", &self.suspects),
                ("pools", &self.pools),
                ("partial", &self.partial),
            ],
        );
        out
    }
}

impl fmt::Display for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::write(f, &self.suspects, &self.pools, self.partial)
    }
}

/// The same text as `Display`, so that a failed `unwrap` shows it.
impl fmt::Debug for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
