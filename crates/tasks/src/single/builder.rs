//! The builder of a pool that has nothing to set.

use alloc::string::String;

/// Makes a [`TaskPool`](crate::TaskPool). Without feature `multi_threaded` there are no threads to configure: every setting is
/// accepted and ignored.
///
/// # Examples
///
/// ```
/// # use terrace_tasks::TaskPoolBuilder;
/// assert_eq!(TaskPoolBuilder::new().num_threads(8).build().thread_num(), 1);
/// ```
#[derive(Debug, Default, Clone)]
#[must_use = "a builder makes no pool until it is built"]
pub struct TaskPoolBuilder {}

impl TaskPoolBuilder {
    /// A builder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ignored.
    pub fn num_threads(self, _num_threads: usize) -> Self {
        self
    }

    /// Ignored.
    pub fn stack_size(self, _stack_size: usize) -> Self {
        self
    }

    /// Ignored.
    pub fn thread_name(self, _thread_name: String) -> Self {
        self
    }

    /// Ignored: no thread is started, so `f` is never called.
    pub fn on_thread_spawn(self, _f: impl Fn() + Send + Sync + 'static) -> Self {
        self
    }

    /// Ignored: no thread is started, so `f` is never called.
    pub fn on_thread_destroy(self, _f: impl Fn() + Send + Sync + 'static) -> Self {
        self
    }
}
