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

/// How many entries of a queue a brief look for a job of a scope goes to.
const BRIEF: usize = 64;

/// How many entries of a queue a look goes to.
fn entries(look: Look) -> usize {
    match look {
        Look::Brief => BRIEF,
        Look::Whole => usize::MAX,
    }
}

/// The places in a queue of so many entries, by turns from both ends.
fn from_both_ends(count: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |step| match step % 2 {
        0 => step / 2,
        _ => count - 1 - step / 2,
    })
}

impl Len for Queue {
    fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// The jobs of one thread, or those from outside.
#[derive(Default)]
pub(crate) struct Queue {
    /// The number of the next entry.
    next: u64,
    /// Entries and their numbers, which ascend. Where an entry leaves the middle, its number is missing.
    entries: VecDeque<(u64, Entry)>,
    /// How many entries are children of a scope: no more of them have to be looked at for one.
    children: usize,
}

impl Queue {
    /// The number of the next entry, counted from the first one ever. Entries that come later have this number or a higher one.
    pub(crate) fn top(&self) -> u64 {
        self.next
    }

    /// Whether the entry is the only one.
    pub(crate) fn push(&mut self, entry: Entry) -> bool {
        self.children += usize::from(entry.scope().is_some());
        self.entries.push_back((self.next, entry));
        self.next += 1;
        self.entries.len() == 1
    }

    /// The job of an entry that was taken, if one was.
    fn taken(&mut self, entry: Option<(u64, Entry)>) -> Option<Job> {
        let (_, entry) = entry?;
        self.children -= usize::from(entry.scope().is_some());
        Some(entry.into_job())
    }

    /// Takes the newest job, if its number is this one or a higher one.
    #[inline]
    pub(crate) fn take_newest(&mut self, from: u64) -> Option<Job> {
        let (number, _) = self.entries.back()?;
        if *number < from {
            return None;
        }
        let newest = self.entries.pop_back();
        self.taken(newest)
    }

    pub(crate) fn take_oldest(&mut self) -> Option<Job> {
        let oldest = self.entries.pop_front();
        self.taken(oldest)
    }

    /// Takes the newest job whose number is below this one.
    pub(crate) fn take_newest_below(&mut self, top: u64) -> Option<Job> {
        let older = self.entries.partition_point(|(number, _)| *number < top);
        let newest = self.entries.remove(older.checked_sub(1)?);
        self.taken(newest)
    }

    /// Takes the oldest job, if its number is below this one.
    pub(crate) fn take_oldest_below(&mut self, top: u64) -> Option<Job> {
        let (number, _) = self.entries.front()?;
        (*number < top).then(|| self.take_oldest())?
    }

    /// Takes a job inside of `scope`. A brief look goes to the entries near the ends alone.
    pub(crate) fn take_inside(&mut self, scope: &Core, look: Look) -> Option<Job> {
        let mut children = self.children;
        for at in from_both_ends(self.entries.len()).take(entries(look)) {
            if children == 0 {
                break;
            }
            let Some(child_of) = self.entries[at].1.scope() else {
                continue;
            };
            if child_of.is_inside(scope) {
                let found = self.entries.remove(at);
                return self.taken(found);
            }
            children -= 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::{Entry, Queue};
    use crate::children::Core;
    use crate::job::Job;
    use crate::wait::Look;

    /// A pool has many jobs and one child of a scope, and a thread waits for another scope, again and again. Its looks end at the child.
    #[test]
    fn a_look_for_a_child_goes_to_no_more_jobs_than_it_has_to() {
        const MANY: usize = 100_000;
        let _watchdog = terrace_testing::watchdog();
        let [scope, other] = [(); 2].map(|()| Core::new(Arc::default()));
        other.left.fetch_add(1, Ordering::Relaxed);
        let mut queue = Queue::default();
        for _ in 0..MANY {
            queue.push(Entry::Job(Job::new(|| ())));
        }
        for child in [None, Some(&other)] {
            if let Some(other) = child {
                // SAFETY: the child was counted in. It borrows nothing, and the job is run below.
                let child = unsafe { Job::child(other.child(), |_| ()) };
                queue.push(Entry::Job(child));
            }
            for _ in 0..MANY {
                assert!(queue.take_inside(&scope, Look::Whole).is_none());
            }
        }
        let child = queue.take_inside(&other, Look::Whole);
        child.expect("the child is queued").run();
        // No child is left, so these looks go to no job.
        for _ in 0..MANY {
            assert!(queue.take_inside(&other, Look::Whole).is_none());
        }
    }

    /// A queue of so many jobs, whose numbers in it are those that they say when they run.
    struct Numbered {
        queue: Queue,
        said: Arc<AtomicUsize>,
    }

    impl Numbered {
        fn new(count: usize) -> Self {
            let mut numbered = Self {
                queue: Queue::default(),
                said: Arc::default(),
            };
            (0..count).for_each(|number| numbered.push(number));
            numbered
        }

        fn push(&mut self, number: usize) {
            let said = Arc::clone(&self.said);
            let job = Job::new(move || said.store(number, Ordering::Relaxed));
            self.queue.push(Entry::Job(job));
        }

        /// The number of the job that was taken, if one was.
        fn take(&mut self, take: impl Fn(&mut Queue) -> Option<Job>) -> Option<usize> {
            let job = take(&mut self.queue)?;
            job.run();
            Some(self.said.load(Ordering::Relaxed))
        }
    }

    /// A thread that waits for a scope runs what it has queued since the scope began.
    #[test]
    fn the_newest_jobs_from_a_number_on() {
        let mut jobs = Numbered::new(2);
        let from = jobs.queue.top();
        assert_eq!(from, 2);
        jobs.push(2);
        jobs.push(3);
        let mut take = |from| jobs.take(|queue| queue.take_newest(from));
        assert_eq!([(); 3].map(|()| take(from)), [Some(3), Some(2), None]);
        // The numbers go on where they were, whatever was taken.
        jobs.push(4);
        let mut take = |from| jobs.take(|queue| queue.take_newest(from));
        assert_eq!(
            [5, 4, 4, 1, 0].map(&mut take),
            [None, Some(4), None, Some(1), Some(0)]
        );
    }

    /// A thread that was sent a job first runs what it had queued by then.
    #[test]
    fn the_newest_and_the_oldest_jobs_below_a_number() {
        let mut newest = Numbered::new(4);
        let mut take = |top| newest.take(|queue| queue.take_newest_below(top));
        assert_eq!(
            [2, 2, 2, 4, 4].map(&mut take),
            [Some(1), Some(0), None, Some(3), Some(2)]
        );
        let mut oldest = Numbered::new(4);
        let mut take = |top| oldest.take(|queue| queue.take_oldest_below(top));
        assert_eq!(
            [2, 2, 2, 4, 4].map(&mut take),
            [Some(0), Some(1), None, Some(2), Some(3)]
        );
    }
}
