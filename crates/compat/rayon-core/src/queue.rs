//! The jobs of one thread that wait for their turn.
//!
//! Its thread takes the newest job, other threads the oldest. An entry of a fifo stands for the oldest job of that fifo, which
//! the thread that comes to the entry takes: so jobs of a fifo run in the order in which they came, and the entries keep their places
//! among the other jobs.
//!
//! A queue has a lock, held for a few instructions and never while a job runs.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::children::{ChildOf, Core};
use crate::job::Job;
use crate::locked::{Len, Locked};
use crate::wait::Look;

/// Jobs that run in the order in which they came.
pub(crate) type Fifo = Locked<VecDeque<Job>>;

impl Fifo {
    /// Whether the job is the only one.
    pub(crate) fn push(&self, job: Job) -> bool {
        self.with(|jobs| {
            jobs.push_back(job);
            jobs.len() == 1
        })
    }

    pub(crate) fn take(&self) -> Option<Job> {
        self.with(VecDeque::pop_front)
    }

    /// Takes the oldest job inside of `scope`. A brief look goes to the oldest jobs alone.
    pub(crate) fn take_inside(&self, scope: &Core, look: Look) -> Option<Job> {
        self.with(|jobs| {
            let found = jobs
                .iter()
                .take(entries(look))
                .position(|job| is_inside(job.scope(), scope))?;
            jobs.remove(found)
        })
    }
}

/// What lies in a queue.
pub(crate) enum Entry {
    Job(Job),
    /// The oldest job of the fifo, which has at least as many jobs as there are such entries. All are children of one scope, or
    /// of none.
    OldestOf(Arc<Fifo>, Option<ChildOf>),
}

impl Entry {
    fn scope(&self) -> Option<&Core> {
        match self {
            Self::Job(job) => job.scope(),
            // SAFETY: while the entry is queued, the fifo has a job of the scope that has not run.
            Self::OldestOf(_, scope) => scope.map(|scope| unsafe { scope.as_ref() }),
        }
    }

    fn into_job(self) -> Job {
        match self {
            Self::Job(job) => job,
            Self::OldestOf(fifo, _) => fifo.take().expect("an entry of a fifo stands for a job"),
        }
    }
}

/// How many entries a brief look for a job of a scope goes to, from each end of a queue.
const BRIEF: usize = 32;

/// How many entries a look goes to, from each end of a queue.
fn entries(look: Look) -> usize {
    match look {
        Look::Brief => BRIEF,
        Look::Whole => usize::MAX,
    }
}

fn is_inside(job: Option<&Core>, scope: &Core) -> bool {
    job.is_some_and(|job| job.is_inside(scope))
}

/// The job of an entry that was taken, if one was.
fn into_job(taken: Option<(u64, Entry)>) -> Option<Job> {
    taken.map(|(_, entry)| entry.into_job())
}

impl Len for Queue {
    fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// The jobs of one thread.
#[derive(Default)]
pub(crate) struct Queue {
    /// The number of the next entry.
    next: u64,
    /// Entries and their numbers, which ascend. Where an entry leaves the middle, its number is missing.
    entries: VecDeque<(u64, Entry)>,
}

impl Queue {
    /// The number of the next entry, counted from the first one ever. Entries that come later have this number or a higher one.
    pub(crate) fn top(&self) -> u64 {
        self.next
    }

    /// Whether the entry is the only one.
    pub(crate) fn push(&mut self, entry: Entry) -> bool {
        self.entries.push_back((self.next, entry));
        self.next += 1;
        self.entries.len() == 1
    }

    /// Takes the newest job, if its number is this one or a higher one.
    #[inline]
    pub(crate) fn take_newest(&mut self, from: u64) -> Option<Job> {
        let (number, _) = self.entries.back()?;
        if *number < from {
            return None;
        }
        into_job(self.entries.pop_back())
    }

    pub(crate) fn take_oldest(&mut self) -> Option<Job> {
        into_job(self.entries.pop_front())
    }

    /// Takes the newest job whose number is below this one.
    pub(crate) fn take_newest_below(&mut self, top: u64) -> Option<Job> {
        let older = self.entries.partition_point(|(number, _)| *number < top);
        into_job(self.entries.remove(older.checked_sub(1)?))
    }

    /// Takes the oldest job, if its number is below this one.
    pub(crate) fn take_oldest_below(&mut self, top: u64) -> Option<Job> {
        let (number, _) = self.entries.front()?;
        (*number < top).then(|| self.take_oldest())?
    }

    /// Takes a job inside of `scope`. A brief look goes to the entries near the ends alone.
    pub(crate) fn take_inside(&mut self, scope: &Core, look: Look) -> Option<Job> {
        let (count, near) = (self.entries.len(), entries(look));
        let last = count.saturating_sub(near).max(near);
        let mut looked_at = (0..count.min(near)).chain(last..count);
        let found = looked_at.find(|&at| is_inside(self.entries[at].1.scope(), scope))?;
        into_job(self.entries.remove(found))
    }
}
