//! A record of each task, for dumps, for reports of long polls, and as a span of `tracing`. Without the feature `inspect` nothing is left
//! of it: the functions return what they get.

#[cfg(feature = "inspect")]
mod long_polls;
#[cfg(feature = "inspect")]
mod on;
#[cfg(feature = "inspect")]
mod record;
#[cfg(feature = "inspect")]
mod shards;
#[cfg(feature = "inspect")]
mod spans;
#[cfg(feature = "inspect")]
mod threads;

#[cfg(not(feature = "inspect"))]
use off as switched;
#[cfg(feature = "inspect")]
use on as switched;

#[cfg(feature = "inspect")]
pub use long_polls::LongPoll;
#[cfg(feature = "inspect")]
pub(crate) use long_polls::Reports;
pub(crate) use switched::{
    Caller, Recorded, Since, Site, Table, call, child, name_of, task, waits,
};

/// Whether each task has a record.
pub(crate) const ENABLED: bool = cfg!(feature = "inspect");

#[cfg(not(feature = "inspect"))]
mod off {
    //! No record.

    use std::time::Duration;

    use crate::dump::report::Task;
    use crate::parts::current::ExecutorId;

    /// No table.
    pub(crate) struct Table;

    impl Table {
        pub(crate) fn new(_: ExecutorId) -> Self {
            Self
        }

        pub(crate) fn look(
            &self,
            _: impl Fn(usize) -> Option<usize>,
            _: impl Fn(u64) -> Option<String>,
        ) -> (Option<Vec<Task>>, bool) {
            let _ = self;
            (None, false)
        }
    }

    /// No place.
    #[derive(Clone, Copy)]
    pub(crate) struct Caller;

    impl Caller {
        #[inline(always)]
        pub(crate) fn here() -> Self {
            Self
        }
    }

    /// No place.
    #[derive(Default)]
    pub(crate) struct Site;

    impl Site {
        #[inline(always)]
        pub(crate) fn set(&self, _: Caller) {
            let _ = self;
        }

        pub(crate) fn look(&self) -> Option<(String, Duration)> {
            let _ = self;
            None
        }
    }

    /// No time.
    #[derive(Default)]
    pub(crate) struct Since;

    impl Since {
        #[inline(always)]
        pub(crate) fn begin(&self) {
            let _ = self;
        }

        pub(crate) fn look(&self) -> Option<Duration> {
            let _ = self;
            None
        }
    }

    /// The future of a task.
    pub(crate) type Recorded<F> = F;

    #[inline(always)]
    pub(crate) fn task<F>(_: &Table, future: F) -> Recorded<F> {
        future
    }

    #[inline(always)]
    pub(crate) fn child<'t, F>(
        _: impl FnOnce() -> &'t Table,
        _: &'static str,
        _: *const (),
        future: F,
    ) -> Recorded<F> {
        future
    }

    #[inline(always)]
    pub(crate) fn call<F>(_: &Table, _: &'static str, _: *const (), call: F) -> F {
        call
    }

    pub(crate) fn name_of(_: u64) -> Option<String> {
        None
    }

    /// A wait of which no record is kept.
    pub(crate) struct Waiting;

    #[inline(always)]
    pub(crate) fn waits(_: &'static str) -> Waiting {
        Waiting
    }
}
