//! Tickets: entries in the queues of the executor, each of which brings a thread to the jobs of the pool.
//!
//! A ticket takes any job of the pool. Jobs have no tickets of their own: waiters take jobs without, and many jobs may lie behind few
//! tickets. There are as many tickets as the pool has workers, up to 64. Queueing one allocates nothing.
//!
//! ```text
//! push:    the job is queued, where no job lay before;  F;  a ticket is free -> take it and queue it
//!          or behind another job -> nothing
//! ticket:  free itself;  F;  take a job;  more jobs are queued -> as a push into an empty queue;  run the job
//! ```
//!
//! So while a queue has jobs, a ticket is queued that has yet to look, or all are. A push into an empty queue sees to that: of a push that
//! found no free ticket and a ticket that sees no job, the later to fence would have seen the other. A ticket that sees more jobs
//! passes it on, before it runs its own. A push behind other jobs finds it so.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, fence};

use terrace_executor::{RawJob, Spawner, Worker};

/// The most tickets of a pool.
const MOST: usize = usize::BITS as usize;

/// One ticket.
#[repr(C)]
struct Ticket {
    /// At the begin: the executor has its address.
    job: RawJob,
    /// While the ticket is queued, a counted reference to the set that it lies in, out of `Arc::into_raw`. The executor may run or
    /// drop it after the end of the pool.
    set: AtomicPtr<Set>,
    bit: usize,
}

/// The tickets of a pool, in memory that lives until the last of them has left the executor.
pub(crate) struct Set {
    /// One bit for each ticket that is not queued.
    free: AtomicUsize,
    tickets: Box<[Ticket]>,
}

/// The tickets of a pool, and the way into its executor.
pub(crate) struct Tickets {
    spawner: Spawner,
    set: Arc<Set>,
}

/// What a thread does that comes to a ticket.
pub(crate) trait Comes {
    /// The ticket was one of this set, and is free again.
    fn comes(set: &Arc<Set>);
}

impl Tickets {
    /// So many tickets, up to the most, for the executor of `spawner`.
    pub(crate) fn new<C: Comes>(count: usize, spawner: Spawner) -> Self {
        let count = count.clamp(1, MOST);
        let ticket = |number: usize| Ticket {
            job: RawJob::new(run::<C>, drop_unrun),
            set: AtomicPtr::default(),
            bit: 1 << number,
        };
        let set = Set {
            free: AtomicUsize::new(usize::MAX >> (MOST - count)),
            tickets: (0..count).map(ticket).collect(),
        };
        Self {
            spawner,
            set: Arc::new(set),
        }
    }

    /// For a job that was queued where none lay before.
    pub(crate) fn issue(&self) {
        // Fence pair: the one in `run`. Either this thread finds that ticket free, or the ticket finds the job.
        fence(Ordering::SeqCst);
        // Ordering: Relaxed for the look, after the fence.
        let mut free = self.set.free.load(Ordering::Relaxed);
        while free != 0 {
            let bit = free & free.wrapping_neg();
            // Ordering: Acquire pairs with the Release in `leave`: the last call of the ticket has ended its use of it.
            match self.set.free.compare_exchange_weak(
                free,
                free & !bit,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return self.queue(&self.set.tickets[bit.trailing_zeros() as usize]),
                Err(now) => free = now,
            }
        }
    }

    /// Queues a ticket, which is this thread's to queue.
    fn queue(&self, ticket: &Ticket) {
        let set = Arc::into_raw(Arc::clone(&self.set)).cast_mut();
        // Ordering: Relaxed, the queue of the executor orders it before the ticket's call.
        ticket.set.store(set, Ordering::Relaxed);
        // SAFETY: the functions fit a `Ticket`, and no other thread uses its job until they are called. Its memory lives until then, by the
        // reference above, which they take.
        unsafe { self.spawner.spawn_raw(NonNull::from(ticket).cast()) };
    }

    /// Whether a ticket of this set is one of the pool's.
    pub(crate) fn is(&self, set: &Arc<Set>) -> bool {
        Arc::ptr_eq(&self.set, set)
    }
}

/// A ticket has left the executor, and may be queued again from now on. Returns the set that it lies in.
///
/// # Safety
/// The executor calls a function of the job, which is that of a [`Ticket`] and was queued by [`Tickets::queue`].
unsafe fn leave(job: NonNull<RawJob>) -> Arc<Set> {
    // SAFETY: it is the first field of a ticket (the caller's promise), whose set lives by the reference that `queue` left there.
    let ticket = unsafe { job.cast::<Ticket>().as_ref() };
    // SAFETY: `queue` left it there for this call, out of `Arc::into_raw`.
    let set = unsafe { Arc::from_raw(ticket.set.load(Ordering::Relaxed)) };
    // Ordering: Release pairs with the Acquire in `issue`.
    set.free.fetch_or(ticket.bit, Ordering::Release);
    set
}

/// `RawJob::new`: a thread comes to a ticket.
///
/// # Safety
/// As [`leave`].
unsafe fn run<C: Comes>(job: NonNull<RawJob>, _: &Worker) {
    // SAFETY: the caller's promise.
    let set = unsafe { leave(job) };
    // Fence pair: the one in `issue`.
    fence(Ordering::SeqCst);
    C::comes(&set);
}

/// `RawJob::new`: the executor ends, and drops a ticket.
///
/// # Safety
/// As [`leave`].
unsafe fn drop_unrun(job: NonNull<RawJob>) {
    // SAFETY: the caller's promise.
    let _set = unsafe { leave(job) };
}
