//! The figures that a snapshot consists of.

/// The figures that the hooks have counted for the whole process.
///
/// # Examples
///
/// ```
/// let before = terrace_trace::snapshot();
/// terrace_trace::spawn();
/// let counted = terrace_trace::snapshot().since(&before);
/// assert_eq!(counted.spawned_tasks_count, u64::from(terrace_trace::ENABLED));
/// ```
#[doc(alias = "RuntimeMetrics")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Tasks spawned.
    pub spawned_tasks_count: u64,
    /// Polls begun.
    pub worker_poll_count: u64,
    /// Tasks a worker put into its own queue.
    pub worker_local_schedule_count: u64,
    /// Times a thread put a task into a shared queue of a pool, its injector or a lane.
    pub remote_schedule_count: u64,
    /// Tasks in shared queues of pools now.
    pub global_queue_depth: u64,
    /// Tasks that workers took from peers.
    pub worker_steal_count: u64,
    /// Operations that took tasks from a peer.
    pub worker_steal_operations: u64,
    /// Times a worker, or a thread that waits for a pool, went to sleep.
    pub worker_park_count: u64,
    /// Times such a sleep ended.
    pub worker_unpark_count: u64,
    /// Times a waker chose a worker to wake.
    pub worker_wake_count: u64,
}

impl Counters {
    /// The counts since `earlier`. `global_queue_depth`, a level, stays as it is.
    /// The [type](Self) has an example.
    #[must_use = "the difference is returned, and nothing is changed"]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            spawned_tasks_count: self.spawned_tasks_count - earlier.spawned_tasks_count,
            worker_poll_count: self.worker_poll_count - earlier.worker_poll_count,
            worker_local_schedule_count: self.worker_local_schedule_count
                - earlier.worker_local_schedule_count,
            remote_schedule_count: self.remote_schedule_count - earlier.remote_schedule_count,
            global_queue_depth: self.global_queue_depth,
            worker_steal_count: self.worker_steal_count - earlier.worker_steal_count,
            worker_steal_operations: self.worker_steal_operations - earlier.worker_steal_operations,
            worker_park_count: self.worker_park_count - earlier.worker_park_count,
            worker_unpark_count: self.worker_unpark_count - earlier.worker_unpark_count,
            worker_wake_count: self.worker_wake_count - earlier.worker_wake_count,
        }
    }
}
