//! Tickets: entries in the queues of the executor, each of which brings a thread to the jobs of the pool.
//!
//! A ticket takes any jobs of the pool. Jobs have no tickets of their own: waiters take jobs without, and many jobs may lie behind few
//! tickets. There are as many tickets as the pool has threads, up to 64, in memory of the pool. Queueing one allocates nothing.
//!
//! ```text
//! push:    the job is queued, where no job lay before;  F;  a ticket is free -> take it and queue it
//!          or behind another job -> nothing
//! ticket:  free itself;  F;  take a job;  more jobs are queued -> as a push into an empty queue;  run the job, and a few more
//! ```
//!
//! So while a queue has jobs, a ticket is queued that has yet to look, or all are. A push into an empty queue sees to that: of a push that
//! found no free ticket and a ticket that sees no job, the later to fence would have seen the other. A ticket that leaves jobs behind
//! passes it on. A push behind other jobs finds it so.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use terrace_executor::{RawJob, Spawner, Worker};

use crate::member::Member;

/// The most tickets of a pool.
const MOST: usize = u64::BITS as usize;

/// A ticket runs at most so many jobs before its thread looks at the other work of the executor.
const IN_A_ROW: usize = 16;

/// One ticket.
#[repr(C)]
struct Ticket {
    /// At the begin: the executor has its address.
    job: RawJob,
    /// The pool's mask of free tickets, and the bit of this one.
    free: Arc<AtomicU64>,
    bit: u64,
}

/// The tickets of a pool.
pub(crate) struct Tickets {
    spawner: Spawner,
    /// One bit for each ticket that is not queued.
    free: Arc<AtomicU64>,
    tickets: Box<[Ticket]>,
}

impl Tickets {
    /// So many tickets, up to the most, for the executor of `spawner`.
    pub(crate) fn new(count: usize, spawner: Spawner) -> Self {
        let count = count.min(MOST);
        let free = Arc::new(AtomicU64::new(u64::MAX >> (MOST - count.max(1))));
        let ticket = |number: usize| Ticket {
            job: RawJob::new(run, drop_unrun),
            free: Arc::clone(&free),
            bit: 1 << number,
        };
        Self {
            spawner,
            tickets: (0..count.max(1)).map(ticket).collect(),
            free,
        }
    }

    /// For a job that was queued where none lay before.
    pub(crate) fn issue(&self) {
        // Fence pair: the one in `run`. Either this thread finds that ticket free, or the ticket finds the job.
        fence(Ordering::SeqCst);
        // Ordering: Relaxed for the look, after the fence.
        let mut free = self.free.load(Ordering::Relaxed);
        while free != 0 {
            let bit = free & free.wrapping_neg();
            // Ordering: Acquire pairs with the Release in `Ticket::is_free`: the last call of the ticket has ended its use of it.
            match self.free.compare_exchange_weak(
                free,
                free & !bit,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => {
                    let ticket = &self.tickets[bit.trailing_zeros() as usize];
                    // SAFETY: the ticket was free, and is this thread's to queue. It lies in the pool, which drops its executor, and
                    // with that all that is queued there, before the tickets. The functions fit a `Ticket`.
                    unsafe { self.spawner.spawn_raw(NonNull::from(ticket).cast()) };
                    return;
                }
                Err(now) => free = now,
            }
        }
    }

    /// Whether a ticket is one of these.
    fn has(&self, ticket: &Ticket) -> bool {
        Arc::ptr_eq(&self.free, &ticket.free)
    }
}

impl Ticket {
    /// The ticket may be queued again from now on.
    fn is_free(&self) {
        // Ordering: Release pairs with the Acquire in `issue`.
        self.free.fetch_or(self.bit, Ordering::Release);
    }
}

/// `RawJob::new`: a thread comes to a ticket.
///
/// # Safety
/// The job is that of a [`Ticket`], which was queued by [`Tickets::issue`].
unsafe fn run(job: NonNull<RawJob>, _: &Worker) {
    // SAFETY: it is the first field of a ticket (the caller's promise), whose pool lives: its executor calls this.
    let ticket = unsafe { job.cast::<Ticket>().as_ref() };
    ticket.is_free();
    // Fence pair: the one in `issue`.
    fence(Ordering::SeqCst);
    Member::with(|member| {
        // A thread that drives the executor after the end of its workers is no member, and there is no job.
        let Some(member) = member.filter(|member| member.registry.tickets.has(ticket)) else {
            return;
        };
        let Some(mut job) = member.take_any() else {
            return;
        };
        if member.registry.has_queued() {
            member.registry.tickets.issue();
        }
        for _ in 1..IN_A_ROW {
            job.run();
            let next = (!terrace_thread::has_work())
                .then(|| member.take_any())
                .flatten();
            let Some(next) = next else { return };
            job = next;
        }
        job.run();
        if member.registry.has_queued() {
            member.registry.tickets.issue();
        }
    });
}

/// `RawJob::new`: the executor ends, and drops a ticket.
///
/// # Safety
/// As [`run`].
unsafe fn drop_unrun(job: NonNull<RawJob>) {
    // SAFETY: as in `run`.
    unsafe { job.cast::<Ticket>().as_ref() }.is_free();
}
