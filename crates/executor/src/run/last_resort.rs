//! What a waiter does while all live workers of its pool wait, and there is work that no worker may adopt.
//!
//! It starts a spare. Where none can start, and in hooks, it runs one job of others. Such jobs nest at most [`NESTED_HELP`] deep, and
//! as many levels more for tasks that workers hold in their rings.

use std::cell::Cell;

use terrace_sync::weakened;

use super::start;
use crate::parts::scopes::Looking;
use crate::pool::shared::Shared;
use crate::tuned::NESTED_HELP;
use crate::work::found::Taken;
use crate::work::order::{self, Order};
use crate::work::scan::Scan;
use crate::work::source::Look;

/// A waiter of a pool. It helps while all live workers of the pool wait, and there is work that no worker may adopt.
pub(super) struct LastResort<'w> {
    pub(super) pool: &'w Shared,
    /// How many jobs of others run on top of each other on its stack.
    pub(super) nested_help: &'w Cell<u32>,
    /// A spare runs the start hook, too. If the hook waits, each spare would start the next. So a worker in a hook runs the job itself.
    pub(super) in_hook: bool,
}

impl<'w> LastResort<'w> {
    /// Sleeps once by `sleep`, in the place of this worker. That returns true if all live workers wait, and there is work: then the
    /// waiter helps. A waiter that cannot help sleeps again.
    pub(super) fn sleep(
        &self,
        worker: usize,
        sleep: impl Fn(&Scan<'_, '_>) -> bool,
        run: impl FnOnce(Taken<'w>),
    ) {
        let scan = Scan::in_wait(self.pool);
        if sleep(&scan) && !self.helps(run) {
            // It is another waiter's turn: the scan passes the turn on once this one waits again.
            sleep(&scan.exhausted(worker));
        }
    }

    /// Starts a spare, or runs one job by `run`, or finds that none is left. False if it can do nothing, so that another waiter has to
    /// help: it is too deep, or the only job that it saw is one that it has forked itself.
    fn helps(&self, run: impl FnOnce(Taken<'w>)) -> bool {
        let pool = self.pool;
        let start_spare = || start::start_spare(&pool.arc());
        if !self.in_hook && start_spare() {
            return true;
        }
        let depth = self.nested_help.get();
        // Without spares there is no other help: the jobs nest as deep as they come.
        let limit = if pool.threads.config.spares {
            NESTED_HELP
        } else {
            u32::MAX / 2
        };
        let taken = if depth < limit {
            order::last_resort_take(pool)
        } else if depth < 2 * limit {
            order::HeldBySeats::take(&Look::bystander(pool, Looking::Awake))
        } else {
            None
        };
        let Some(taken) = taken else {
            // A job that this thread has forked is for another waiter: it lies inside of the thread's own wait.
            let for_others =
                pool.forks.has_job_of_this_thread() && !weakened!("executor-resort-own");
            return (depth < limit && !for_others) || (self.in_hook && start_spare());
        };
        self.nested_help.set(depth + 1);
        run(taken);
        self.nested_help.set(depth);
        true
    }
}
