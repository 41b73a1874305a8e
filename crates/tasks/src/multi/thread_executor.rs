//! The executor of `Send` tasks for one thread, and the one each thread has.

use terrace_sync::Arc;

/// An executor that takes tasks from any thread and runs them only on the thread that made it, when that
/// thread ticks it.
///
/// # Examples
///
/// ```
/// # use terrace_tasks::ThreadExecutor;
/// let executor = ThreadExecutor::new();
/// std::thread::scope(|s| {
///     s.spawn(|| {
///         assert!(executor.ticker().is_none(), "this thread did not make it");
///         executor.spawn(async {}).detach();
///     });
/// });
/// let ticker = executor.ticker().expect("made here");
/// assert!(ticker.try_tick(), "the other thread's task");
/// assert!(!ticker.try_tick(), "nothing is left");
/// ```
pub use terrace_executor::ThreadExecutor;

/// The right to tick a [`ThreadExecutor`]: only the thread that made the executor can have one.
pub use terrace_executor::Ticker as ThreadExecutorTicker;

terrace_sync::thread_local! {
    /// The executor of the current thread, which scopes tick while they wait on it.
    pub(super) static OWN: Arc<ThreadExecutor<'static>> = Arc::new(ThreadExecutor::new());
}
