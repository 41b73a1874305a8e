//! [`ForkScope`]: the thread that waits for a scope of another crate takes halves that the scope's children have forked.
//!
//! A child that another thread runs is a root there, as a stolen half of a join is (`terrace_queue::fork::Nest`). The scope stands for
//! the half's joiner: pushes inside of the root tell its thread, and it takes jobs inside of such roots.
//!
//! ```text
//! child:   root = nest.begin;  the seat shows (scope, root);  joins;  the seat shows what it did before;  nest.end;  the child has ended
//! waiter:  announces itself;  H;  a seat shows the scope -> looks for an open job inside of that root, as a joiner does;  sleeps
//! ```

use std::ptr;

use terrace_queue::fork::{Nest, Root, Word};
use terrace_sync::{Arc, OnceLock};
use terrace_thread::Notify;

use crate::executor::Executor;
use crate::guard::OnDrop;
use crate::pool::Shared;
use crate::pool::fork::{Job, Seat, Worker};
use crate::protocol::job::Header;
use crate::run::fork::{find_inside, has_open, run_inside, take_open};

/// A scope whose children may fork. Its children, and what they wait for, are for the crate that has it.
pub struct ForkScope {
    /// What the pushes of a child see. Its latch is never set.
    header: Header<Worker>,
    /// Wakes the thread that waits.
    sleeper: OnceLock<Arc<dyn Notify>>,
}

impl ForkScope {
    /// A scope without children.
    #[must_use = "a scope does nothing until it forks"]
    pub fn new() -> Self {
        Self {
            header: Header::of_no_job(),
            sleeper: OnceLock::new(),
        }
    }

    fn address(&self) -> usize {
        ptr::from_ref(self).addr()
    }

    /// Calls `child` on a thread of the executor that does not wait for the scope.
    ///
    /// # Safety
    /// The scope is neither moved nor dropped until all such calls have ended.
    pub unsafe fn run<T>(&self, executor: &Executor, child: impl FnOnce() -> T) -> T {
        executor.with_worker(|worker| {
            let _inside = worker.seat().and_then(|seat| self.enter(seat));
            child()
        })
    }

    /// The thread of `seat` begins a child. `None` if no root of it can be shown now.
    fn enter<'s>(&self, seat: &'s Seat) -> Option<OnDrop<impl FnMut() + use<'s>>> {
        // SAFETY: the seat is this thread's, which got it from its handle.
        let owner = unsafe { seat.owner() };
        let nest = seat.nest.as_ref()?;
        let root = nest.begin(&owner)?;
        // SAFETY: the header is no null pointer, and that of a job's type.
        let job = unsafe { Job::from_raw(ptr::from_ref(&self.header).cast_mut().cast()) };
        let outer_job = seat.root.replace(Some(job));
        let outer_scope = seat.scope_root.replace((self.address(), root.pack()));
        Some(OnDrop(move || {
            seat.scope_root.replace(outer_scope);
            seat.root.set(outer_job);
            nest.end(&owner, root);
        }))
    }

    /// The first thing that `look` finds inside of a child.
    fn find<T>(&self, pool: &Shared, look: impl Fn(&Seat, &Nest, Root) -> Option<T>) -> Option<T> {
        pool.forks.seats().find_map(|seat| {
            let root = seat.scope_root.of(self.address())?;
            find_inside(pool, root, &look)
        })
    }

    /// The thread that waits for the children, in the executor's pool, runs an open job that one of them has forked. False if there is none.
    pub fn run_one(&self, executor: &Executor) -> bool {
        let pool = executor.shared();
        let Some(claimed) = self.find(pool, take_open) else {
            return false;
        };
        run_inside(pool, claimed);
        true
    }

    /// The thread that waits is about to sleep, and wakes by `sleeper`, which is made at the first call. True if there is a job to
    /// [run](Self::run_one). Cost: a heavy fence.
    ///
    /// # Safety
    /// The scope is neither moved nor dropped until all calls of [`run`](Self::run) have ended.
    pub unsafe fn announce_sleep(
        &self,
        executor: &Executor,
        sleeper: impl FnOnce() -> Arc<dyn Notify>,
    ) -> bool {
        if self.sleeper.get().is_none() {
            let sleeper = self.sleeper.get_or_init(sleeper);
            // SAFETY: the sleeper lives as long as a child looks at the latch (the caller's promise), which is never set.
            let _announced = unsafe { self.header.latch.announce(sleeper) };
        }
        // Either `Considers::published` sees this sleeper, or the look sees its job.
        self.header.latch.fence_before_look();
        self.find(executor.shared(), has_open).is_some()
    }
}

impl Default for ForkScope {
    fn default() -> Self {
        Self::new()
    }
}
