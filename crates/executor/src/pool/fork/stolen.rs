//! A thief runs a job.

use terrace_sync::Arc;
use terrace_thread::Notify;
use terrace_trace::{Span, inside};

use super::super::frames;
use super::super::shared::Shared;
use super::here;
use super::worker::Worker;
use crate::parts::fork_seat::JobWord;
use crate::protocol::fork::job::JobRef;

/// A job of the pools' joins.
pub(crate) type Job = JobRef<Worker>;

/// A job that the calling thread has claimed: it runs it once.
#[must_use = "its joiner waits"]
pub(crate) struct Claimed(JobWord);

impl Claimed {
    /// # Safety
    /// The calling thread has claimed the job, which came out of a deque of a pool.
    pub(crate) unsafe fn new(job: JobWord) -> Self {
        Self(job)
    }

    fn job(&self) -> Job {
        // SAFETY: deques of a pool hold jobs of this type.
        unsafe { self.0.typed() }
    }

    /// The function that runs jobs of this call-site.
    pub(crate) fn site(&self) -> usize {
        // SAFETY: this thread has claimed the job.
        unsafe { self.job().site() }
    }

    /// Runs it, and lets its joiner go on. The caller keeps `pool` alive.
    pub(crate) fn run(self, pool: &Shared) {
        let _inside = inside(Span::Job);
        let job = self.job();
        // The job is no turn of a runner's loop.
        frames::begin_no_turn();
        let seat = here::of_pool(pool);
        // SAFETY: `of_pool` returns a seat of this thread, which the thread gives back further out on this stack.
        let worker = unsafe { Worker::in_seat(seat) };
        match worker.seat() {
            Some(seat) => {
                // SAFETY: the seat is this thread's.
                let owner = unsafe { seat.owner() };
                let nest = seat.nest.as_ref();
                let root = nest.and_then(|nest| nest.begin(&owner));
                if let Some(root) = root {
                    // SAFETY: this thread has claimed the job.
                    unsafe { job.begun(root) };
                }
                let outer = seat.mine.root.replace(root.map(|_| self.0));
                let migrated = seat.mine.migrated.replace(true);
                // SAFETY: this thread has claimed the job, and runs it once.
                unsafe { job.execute(&worker) };
                seat.mine.root.set(outer);
                seat.mine.migrated.set(migrated);
                if let (Some(nest), Some(root)) = (nest, root) {
                    nest.end(&owner, root);
                }
            }
            // SAFETY: this thread has claimed the job, and runs it once.
            None => unsafe { job.execute(&worker) },
        }
        // SAFETY: this thread has run the job, and sets the latch once.
        unsafe { job.set(Arc::clone, |joiner: Arc<dyn Notify>| joiner.notify()) };
    }
}
