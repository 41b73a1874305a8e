//! The current thread's place in a pool.

use std::cell::Cell;
use std::sync::Arc;
use std::{mem, ptr};

use terrace_thread::ThreadSpawner;

use crate::children::Core;
use crate::job::Job;
use crate::queue::{Entry, Fifo, Queue};
use crate::registry::{Handler, Inbox, Place, Registry};
use crate::ticket::{Comes, Set};
use crate::wait::{Bell, Look};

thread_local! {
    /// The place of this thread, or null.
    static MEMBER: Cell<*const Member> = const { Cell::new(ptr::null()) };
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
        self.inbox.with(|inbox| self.call(inbox));
        self.bell.ring();
    }

    /// Has the thread look at its jobs, in any wait.
    fn call(&self, inbox: &Inbox) {
        if let Some(thread) = inbox.stand_in.as_ref().or(self.thread.get()) {
            let look = async {
                Member::with(|member| member.is_some_and(Member::run_sent));
            };
            thread.call(look).detach();
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

    /// The bell of the current thread: that of its place, or a new one.
    pub(crate) fn bell(member: Option<&Self>) -> Arc<Bell> {
        member.map_or_else(Arc::default, |member| Arc::clone(&member.place().bell))
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

    #[inline]
    pub(crate) fn place(&self) -> &Place {
        &self.registry.places[self.index]
    }

    pub(crate) fn is_of(&self, registry: &Registry) -> bool {
        ptr::eq(&raw const *self.registry, registry)
    }

    /// The thread can be reached from now on. The jobs that were sent to its place before are for the caller to run: their senders found no
    /// thread to tell.
    fn arrive(&self) {
        let Place { inbox, thread, .. } = self.place();
        inbox.with(|_| {
            thread.get_or_init(ThreadSpawner::current);
        });
    }

    /// The thread of a worker begins. The program's handler comes before the first job.
    pub(crate) fn starts(&self) {
        self.arrive();
        self.handle(self.registry.handlers.start.as_deref());
        while self.run_sent() {}
    }

    /// The thread that makes the pool is in it from now on. No other thread knows the pool yet, and no job was sent.
    pub(crate) fn joins_for_good(self) {
        self.arrive();
        MEMBER.with(|member| member.set(Box::leak(Box::new(self))));
    }

    /// The thread of a worker ends.
    pub(crate) fn stops(&self) {
        self.handle(self.registry.handlers.exit.as_deref());
    }

    fn handle(&self, handler: Option<&Handler>) {
        if let Some(handler) = handler {
            self.registry.contain(|| handler(self.index));
        }
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
        let place = self.place();
        place.inbox.with(|inbox| {
            if inbox.stand_in.take().is_some() && !inbox.jobs.is_empty() {
                place.call(inbox);
            }
        });
    }

    /// Queues a job at this thread.
    pub(crate) fn push(&self, job: Job) {
        self.push_entry(Entry::Job(job));
    }

    /// Queues a job at this thread, in the order of `fifo`.
    pub(crate) fn push_fifo(&self, fifo: &Arc<Fifo>, job: Job) {
        let scope = job.child_of();
        fifo.push(job);
        self.push_entry(Entry::OldestOf(Arc::clone(fifo), scope));
    }

    #[inline]
    fn push_entry(&self, entry: Entry) {
        let is_only = self.place().queue.with(|queue| queue.push(entry));
        self.registry.queued(is_only);
    }

    /// Takes a job of this thread whose number in the queue is `from` or higher, in the order of the pool.
    pub(crate) fn take_own(&self, from: u64) -> Option<Job> {
        // Only the thread in this place fills the queue, so it misses nothing by the hint.
        self.place().queue.if_filled(|queue| {
            if self.registry.breadth_first {
                return queue.take_oldest();
            }
            queue.take_newest(from)
        })
    }

    /// Takes a job of this thread whose number in the queue is below `top`, in the order of the pool.
    fn take_own_below(&self, top: u64) -> Option<Job> {
        self.place().queue.if_filled(|queue| {
            if self.registry.breadth_first {
                return queue.take_oldest_below(top);
            }
            queue.take_newest_below(top)
        })
    }

    /// Takes any job of the pool: an own one, the oldest of another thread, the oldest that came from outside.
    pub(crate) fn take_any(&self) -> Option<Job> {
        let places = &self.registry.places;
        let (before, after) = places.split_at(self.index);
        let others = || after.iter().skip(1).chain(before);
        self.take_own(0)
            .or_else(|| others().find_map(|other| other.queue.if_filled(Queue::take_oldest)))
            .or_else(|| self.registry.injected.if_filled(Queue::take_oldest))
    }

    /// Takes a job inside of `scope`, from any thread of the pool. A whole look finds each one that is queued.
    pub(crate) fn take_inside(&self, scope: &Core, look: Look) -> Option<Job> {
        let (before, after) = self.registry.places.split_at(self.index);
        let queues = after.iter().chain(before).map(|place| &place.queue);
        queues
            .chain([&self.registry.injected])
            .find_map(|queue| queue.with(|queue| queue.take_inside(scope, look)))
    }

    /// Runs one of the jobs for this thread alone, if there is one. The jobs that its own queue has by now come first.
    pub(crate) fn run_sent(&self) -> bool {
        let place = self.place();
        // A sender sets the hint before it tells this thread or rings.
        if !place.inbox.is_filled() {
            return false;
        }
        // Jobs that these queue are not run here: one that queues itself again would never let the sent one have its turn.
        let top = place.queue.with(|queue| queue.top());
        let mut told = false;
        while let Some(job) = self.take_own_below(top) {
            // The executor's wait in that job runs the part that was to be run here.
            if !mem::replace(&mut told, true) {
                place.inbox.with(|inbox| place.call(inbox));
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
        self.run_sent() || (!self.registry.has_workers && Job::run_some(self.take_any()))
    }
}

impl Comes for Member {
    fn comes(set: &Arc<Set>) {
        Self::with(|member| {
            // A thread that drives the executor after the end of its workers is no member, and there is no job.
            let Some(member) = member.filter(|member| member.registry.tickets.is(set)) else {
                return;
            };
            let Some(job) = member.take_any() else { return };
            if member.registry.has_queued() {
                member.registry.tickets.issue();
            }
            // One job: the thread may be in the middle of a wait, as its last resort.
            job.run();
        });
    }
}

impl Registry {
    /// Calls `f` with the place of the current thread, if it is in this pool.
    #[inline]
    pub(crate) fn here<T>(&self, f: impl FnOnce(Option<&Member>) -> T) -> T {
        Member::with(|member| f(member.filter(|member| member.is_of(self))))
    }

    /// Queues a job: at this thread, if it is in the pool.
    pub(crate) fn inject_or_push(&self, job: Job) {
        self.here(|member| match member {
            Some(member) => member.push(job),
            None => self.inject(job),
        });
    }
}
