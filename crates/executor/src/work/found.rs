//! A piece of work that a looker has taken, and how it runs the work.

use terrace_local::task::Runnable;
use terrace_queue::Owner;

use crate::guard::OnDrop;
use crate::parts::current::{replace_lane, visit};
use crate::parts::injector::{Lane, Refilled};
use crate::parts::scopes::Slot;
use crate::parts::turns;
use crate::pool::Shared;
use crate::pool::fork::Claimed;
use crate::pool::frames::{self, Borrows, Permit, run_task};
use crate::pool::runner::Runner;

/// A piece of work.
pub(crate) enum Found<'p> {
    /// A task of the pool.
    Task(Runnable),
    /// A task of a lane that is not the normal one. A task of the background lane comes with the permit to run it.
    Lane(Runnable, Lane),
    /// A child of a scope, and its slot.
    Child(Runnable, &'p Slot<Shared>),
    /// A job that another thread has forked.
    Fork(Claimed),
}

/// What a search took.
pub(crate) struct Taken<'p> {
    pub(crate) found: Found<'p>,
    pub(crate) refilled: Refilled,
}

/// The search moved no other task.
impl<'p> From<Found<'p>> for Taken<'p> {
    #[inline]
    fn from(found: Found<'p>) -> Self {
        Self {
            found,
            refilled: Refilled::No,
        }
    }
}

impl Taken<'_> {
    /// A task; the search moved no other.
    #[inline]
    pub(crate) fn task(task: Runnable) -> Self {
        Found::Task(task).into()
    }

    /// A task out of a shared queue or a peer's ring. Others may have come with it, into `ring`.
    #[inline]
    pub(crate) fn moved(task: Runnable, ring: &Owner<'_, Runnable>) -> Self {
        Self {
            found: Found::Task(task),
            refilled: if ring.ring().is_empty() {
                Refilled::No
            } else {
                Refilled::Yes
            },
        }
    }
}

impl Found<'_> {
    /// Runs it; the thread is in the context of a worker or driver of `pool`.
    pub(crate) fn run(self, pool: &Shared) {
        turns::begin_turn();
        match &self {
            Found::Task(_) | Found::Child(..) | Found::Fork(_) => self.poll(pool),
            Found::Lane(_, lane) => {
                let _current = replace_lane(*lane);
                match self.permit() {
                    Permit::None => self.poll(pool),
                    permit => frames::enter(pool, Borrows::Pool, permit, || self.poll(pool)),
                }
            }
        }
    }

    /// Runs it as a turn of the loop of `runner`.
    pub(crate) fn run_in_loop(self, runner: &Runner<'_>) {
        match self {
            Found::Task(task) => runner.run_turn(task),
            found => {
                runner.count_poll();
                found.run(runner.pool);
            }
        }
    }

    /// Runs it on a waiting thread that holds only a reference to the pool.
    pub(crate) fn run_as_guest(self, pool: &Shared) {
        pool.holders.enter();
        let _guest = OnDrop(|| pool.leave_holders());
        // What a poll under way waits for still runs, on the thread that waits inside of it.
        if pool.holders.is_closing() && !frames::is_in(pool) {
            return self.leave_to_last_holder(pool);
        }
        self.run_without_seat(pool, Borrows::Pool);
    }

    /// Runs it on a thread without a seat, which borrows the executor of `pool` or only holds a reference to the pool.
    #[inline(always)]
    pub(crate) fn run_without_seat(self, pool: &Shared, borrows: Borrows) {
        let lane = match self {
            Found::Lane(_, lane) => lane,
            Found::Task(_) | Found::Child(..) | Found::Fork(_) => Lane::Normal,
        };
        let _current = visit(pool.id, lane);
        frames::enter(pool, borrows, self.permit(), || self.poll(pool));
    }

    fn poll(self, pool: &Shared) {
        match self {
            Found::Fork(job) => job.run(pool),
            Found::Task(task) | Found::Child(task, _) | Found::Lane(task, _) => run_task(task),
        }
    }

    /// Which background permit it holds.
    fn permit(&self) -> Permit {
        match self {
            Found::Lane(_, Lane::Background) => Permit::Held,
            _ => Permit::None,
        }
    }

    /// Puts it back unpolled: the caller is a holder, and the last one drops it.
    fn leave_to_last_holder(self, pool: &Shared) {
        if self.permit() == Permit::Held {
            pool.give_permit_back();
        }
        match self {
            Found::Task(task) | Found::Lane(task, _) => {
                pool.injector.push(task);
                // A thread that waits inside of a poll of the pool may have missed it.
                pool.publish();
            }
            // Its scope borrows the executor, so the process is about to exit in that scope.
            child @ Found::Child(..) => drop(child),
            // Its joiner waits, and borrows nothing of the pool that has ended.
            Found::Fork(job) => job.run(pool),
        }
    }
}
