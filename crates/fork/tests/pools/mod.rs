//! Executors of several sizes.

use terrace_executor::{Builder, Executor};

/// No workers, one, as many as there are cores or fewer, and more.
pub(crate) const WORKERS: [usize; 4] = [0, 1, 2, 5];

/// Runs `test` with an executor of each size.
pub(crate) fn with_each(test: impl Fn(&Executor<'static>)) {
    for workers in WORKERS {
        test(&Builder::new().workers(workers).build());
    }
}
