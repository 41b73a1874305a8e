//! The current thread's place in a pool.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};
use std::{mem, ptr};

use terrace_thread::ThreadSpawner;

use crate::job::Job;
use crate::queue::{Entry, Fifo, Len, Locked, Queue, lock};
use crate::registry::Registry;
use crate::scope::{ChildOf, Core};
use crate::wait::Bell;

thread_local! {
    /// The place of this thread, or null.
    static MEMBER: Cell<*const Member> = const { Cell::new(ptr::null()) };
}

/// What other threads see of a thread of a pool.
#[derive(Default)]
pub(crate) struct Place {
    pub(crate) queue: Locked<Queue>,
    /// The jobs that were spawned in order, see [`Entry::OldestOf`].
    pub(crate) fifo: Arc<Fifo>,
    inbox: Locked<Inbox>,
    pub(crate) bell: Arc<Bell>,
    is_primed: Mutex<bool>,
    primed: Condvar,
}

/// Jobs for this thread alone.
#[derive(Default)]
struct Inbox {
    jobs: VecDeque<Job>,
    /// The thread, once it runs.
    thread: Option<ThreadSpawner>,
    /// A thread that works in its place, and has gone to sleep there.
    stand_in: Option<ThreadSpawner>,
}

impl Len for Inbox {
    fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }
}

impl Inbox {
    /// Has the thread look at its jobs, in any wait.
    fn tell(&self) {
        if let Some(thread) = self.stand_in.as_ref().or(self.thread.as_ref()) {
            let look = async {
                Member::with(|member| member.is_some_and(Member::run_sent));
            };
            thread.call(look).detach();
        }
    }
}

impl Place {
    /// Queues a job for this thread alone. A wait of the executor on that thread runs it as well. The caller [tells](Self::tell) the
    /// thread.
    pub(crate) fn put(&self, job: Job) {
        self.inbox.with(|inbox| inbox.jobs.push_back(job));
    }

    /// Tells the thread of jobs that were put.
    pub(crate) fn tell(&self) {
        // Behind the first call, as the thread that is told looks at the hint first.
        self.inbox.with(|inbox| inbox.tell());
        self.bell.ring();
    }

    /// Waits until the thread runs.
    pub(crate) fn wait_until_primed(&self) {
        let mut is_primed = lock(&self.is_primed);
        while !*is_primed {
            is_primed = self
                .primed
                .wait(is_primed)
                .unwrap_or_else(|error| error.into_inner());
        }
    }
}

/// A thread in its place.
pub(crate) struct Member {
    pub(crate) registry: Arc<Registry>,
    pub(crate) index: usize,
}

impl Member {
    /// Calls `f` with the place of the current thread.
    #[inline]
    pub(crate) fn with<T>(f: impl FnOnce(Option<&Member>) -> T) -> T {
        // SAFETY: `enter` alone sets the pointer, on this very thread. It resets it before the member goes. `f` cannot keep the
        // reference, as it cannot name its lifetime.
        f(unsafe { MEMBER.with(Cell::get).as_ref() })
    }

    /// The address of the place of the current thread, to be compared.
    #[inline]
    pub(crate) fn address() -> usize {
        MEMBER.with(Cell::get) as usize
    }

    /// Calls `f`, during which the thread is this member.
    pub(crate) fn enter<T>(&self, f: impl FnOnce() -> T) -> T {
        struct Leave;

        impl Drop for Leave {
            fn drop(&mut self) {
                MEMBER.with(|member| member.set(ptr::null()));
            }
        }

        assert!(
            MEMBER.with(Cell::get).is_null(),
            "a thread runs in one pool at a time"
        );
        MEMBER.with(|member| member.set(self));
        let _leave = Leave;
        f()
    }

    /// The thread stays this member until it ends.
    pub(crate) fn enter_for_good(self) {
        MEMBER.with(|member| member.set(Box::leak(Box::new(self))));
    }

    #[inline]
    pub(crate) fn place(&self) -> &Place {
        &self.registry.places[self.index]
    }

    pub(crate) fn is_of(&self, registry: &Registry) -> bool {
        ptr::eq(&raw const *self.registry, registry)
    }

    /// The thread can be reached from now on.
    pub(crate) fn arrive(&self) {
        let place = self.place();
        place
            .inbox
            .with(|inbox| inbox.thread = Some(ThreadSpawner::current()));
        *lock(&place.is_primed) = true;
        place.primed.notify_all();
        while self.run_sent() {}
    }

    /// The thread, which works in the place of another one, is about to sleep: from now on it can be reached. True if it has run a job
    /// that was sent to the place.
    pub(crate) fn arrive_in_place(&self) -> bool {
        self.place().inbox.with(|inbox| {
            inbox.stand_in.get_or_insert_with(ThreadSpawner::current);
        });
        self.run_sent()
    }

    /// The thread leaves the place of another one, which gets the jobs that are left.
    pub(crate) fn leave_place(&self) {
        self.place().inbox.with(|inbox| {
            if inbox.stand_in.take().is_some() && !inbox.jobs.is_empty() {
                inbox.tell();
            }
        });
    }

    /// Queues a job at this thread.
    pub(crate) fn push(&self, job: Job) {
        self.push_entry(Entry::Job(job));
    }

    /// Queues a job at this thread, in the order of `fifo`.
    pub(crate) fn push_fifo(&self, fifo: &Arc<Fifo>, job: Job, scope: Option<ChildOf>) {
        fifo.push(job);
        self.push_entry(Entry::OldestOf(Arc::clone(fifo), scope));
    }

    fn push_entry(&self, entry: Entry) {
        let is_only = self.place().queue.with(|queue| queue.push(entry));
        self.registry.queued(is_only);
    }

    /// Takes a job of this thread that lies at `from` or above, in the order of the pool.
    pub(crate) fn take_own(&self, from: usize) -> Option<Job> {
        // Only the thread in this place fills the queue, so it misses nothing by the hint.
        self.place().queue.if_filled(|queue| {
            if self.registry.breadth_first {
                return queue.take_oldest();
            }
            queue.take_newest(from)
        })
    }

    /// Takes any job of the pool: an own one, the oldest of another thread, the oldest that came from outside.
    pub(crate) fn take_any(&self) -> Option<Job> {
        let places = &self.registry.places;
        let (before, after) = places.split_at(self.index);
        let others = || after.iter().skip(1).chain(before);
        self.take_own(0)
            .or_else(|| others().find_map(|other| other.queue.if_filled(Queue::take_oldest)))
            .or_else(|| self.registry.injected.if_filled(VecDeque::pop_front))
    }

    /// Takes a job inside of `scope`, from any thread of the pool.
    pub(crate) fn take_inside(&self, scope: &Core) -> Option<Job> {
        let (before, after) = self.registry.places.split_at(self.index);
        let places = || after.iter().chain(before);
        places()
            .find_map(|place| place.queue.with(|queue| queue.take_inside(scope)))
            .or_else(|| self.registry.injected.take_inside(scope))
    }

    /// Runs one of the jobs for this thread alone, if there is one. Its own jobs come first.
    pub(crate) fn run_sent(&self) -> bool {
        let place = self.place();
        // A sender sets the hint before it tells this thread or rings.
        if !place.inbox.is_filled() {
            return false;
        }
        let mut told = false;
        while let Some(job) = self.take_own(0) {
            // The executor's wait in that job runs the part that was to be run here.
            if !mem::replace(&mut told, true) {
                place.inbox.with(|inbox| inbox.tell());
            }
            job.run();
        }
        let sent = place.inbox.with(|inbox| inbox.jobs.pop_front());
        if let Some(job) = sent {
            job.run();
        }
        true
    }

    /// Runs what any wait on this thread runs: jobs for it alone. The one thread of a pool without workers runs all jobs: no
    /// other thread does.
    pub(crate) fn help(&self) -> bool {
        if self.run_sent() {
            return true;
        }
        let any = (!self.registry.has_workers)
            .then(|| self.take_any())
            .flatten();
        any.map(Job::run).is_some()
    }
}
