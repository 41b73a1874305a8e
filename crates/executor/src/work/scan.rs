//! The sleeping protocol's questions about the work of a pool.

use terrace_park::Work;

use super::order::{Order, Worker};
use super::source::Look;
use crate::parts::scopes::Looking;
use crate::pool::runner::Runner;
use crate::pool::shared::Shared;

/// What a worker may take, as the sleeping protocol sees it.
pub(crate) struct Scan<'l, 'p> {
    look: Look<'l, 'p>,
    inlets: Inlets,
    resort: Resort,
}

/// Whether events that only the worker's loop handles are a reason to wake: pinned tasks, and the end of the pool.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inlets {
    Heeded,
    /// In the middle of a job: its wait looks at the thread's tasks by itself.
    Ignored,
}

/// What a worker does about work that no awake worker takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Resort {
    /// It takes the work.
    Takes,
    /// The worker with this number could not run the work of others even as the last resort: it passes the turn on.
    PassesOn(usize),
}

impl<'l, 'p> Scan<'l, 'p> {
    /// By the loop of a worker.
    pub(crate) fn of_worker(worker: &'l Runner<'p>, looking: Looking) -> Self {
        Self::new(Look::from_seat(worker, looking), Inlets::Heeded)
    }

    /// On behalf of all workers, by another thread.
    pub(crate) fn for_workers(pool: &'p Shared) -> Self {
        let look = Look::bystander(pool, Looking::ToWake);
        Self::new(look, Inlets::Heeded)
    }

    /// By a worker that waits in the middle of a job.
    pub(crate) fn in_wait(pool: &'p Shared) -> Self {
        let look = Look::bystander(pool, Looking::ToWake).at_present();
        Self::new(look, Inlets::Ignored)
    }

    /// The same scan, for a worker that could not help as the last resort.
    pub(crate) fn exhausted(self, worker: usize) -> Self {
        Self {
            resort: Resort::PassesOn(worker),
            ..self
        }
    }

    fn new(look: Look<'l, 'p>, inlets: Inlets) -> Self {
        Self {
            look,
            inlets,
            resort: Resort::Takes,
        }
    }

    /// Whether a worker has to be awake: its order shows ready work, or covered work that no sentinel watches.
    pub(crate) fn finds_something(&self) -> bool {
        Worker::sight(&self.look).is_takeable(&self.look.pool().idle)
    }
}

impl Work for Scan<'_, '_> {
    fn takeable(&self) -> bool {
        match self.resort {
            Resort::Takes => self.finds_something(),
            Resort::PassesOn(worker) => {
                // The protocol asks this only while every live worker waits, this one included: the other finds itself
                // the last resort.
                if self.finds_something() {
                    self.look.pool().idle.release_other(worker);
                }
                false
            }
        }
    }

    fn has_private_work(&self, worker: usize) -> bool {
        // The worker looks after its fence, which pairs with the fence of `unpark_all` in
        // `Pool::close`.
        let pool = self.look.pool();
        self.inlets == Inlets::Heeded
            && (terrace_thread::has_work()
                || pool.holders.is_closing()
                || pool.is_asked_to_end(worker))
    }

    fn unattended(&self) {
        self.look.pool().unattended();
    }
}
