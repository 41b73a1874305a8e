//! The record of one task: what its polls and its wakers leave for a report.
//!
//! | state              | word              | entered by                        |
//! |--------------------|-------------------|-----------------------------------|
//! | queued             | `WOKEN`           | the spawn; a wake out of a poll   |
//! | polled             | `POLLED`          | a poll                            |
//! | polled, then queued | `POLLED \| WOKEN` | a wake in the poll               |
//! | waits              | 0                 | the end of a poll                 |
//!
//! A wake after a thread has taken the task and before its poll is lost to the word: it says that the task waits, while it is queued, until
//! the next poll.

use core::panic::Location;
use core::task::Waker;
use core::time::Duration;
use std::string::String;
use std::task::Wake;

use terrace_sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
use terrace_sync::report::patiently;
use terrace_sync::time::Instant;
use terrace_sync::unmodelled::Weak;
use terrace_sync::{Arc, Mutex, OnceLock};

use super::spans::Wakes;
use super::threads;
use crate::report::{State, Task};

const WOKEN: u32 = 1;
const POLLED: u32 = 2;

/// The waits that a poll can be in, by their number minus one.
const WAITS: [&str; 3] = ["a scope", "a join", "block_on"];

/// What the calling thread is to the pool with a number: the thread's own number, and which worker of the pool it is, if one.
pub(super) type Here = fn(u64) -> (u64, Option<usize>);

/// What a spawn says of a task, child or closure.
pub(super) struct Spawned {
    pub(super) number: u64,
    pub(super) future: &'static str,
    pub(super) site: &'static Location<'static>,
    /// The address of the slot of the scope that it is a child of, or 0.
    pub(super) scope: usize,
    /// Whether it is a closure, which no waker wakes.
    pub(super) is_call: bool,
}

/// What is known of one task, child or closure.
pub(super) struct Record {
    pub(super) spawned: Spawned,
    name: OnceLock<String>,
    pool: u64,
    here: Here,
    wakes: Wakes,
    born: Instant,
    state: AtomicU32,
    /// When the state changed last, in nanoseconds since `born`. It and the fields below are hints, relaxed throughout.
    changed: AtomicU64,
    polls: AtomicUsize,
    /// The thread of the last poll, and the number of its worker plus one.
    thread: AtomicU64,
    worker: AtomicUsize,
    /// What the poll waits in: a number of `WAITS`, or 0.
    wait: AtomicUsize,
    /// When the poll began that is going on, in nanoseconds since `born` plus one; else 0.
    polled_since: AtomicU64,
    /// The same of the last poll that was reported as a long one.
    reported: AtomicU64,
    /// The waker of the last poll, if one is left.
    waker: Mutex<Weak<TaskWaker>>,
    /// Wakers that are left, clones of one counted once.
    wakers: AtomicUsize,
}

/// The waker that a recorded future sees.
struct TaskWaker {
    record: Arc<Record>,
    cell: Waker,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Ordering: Relaxed, the word is for reports. The cell orders the wake.
        if self.record.state.fetch_or(WOKEN, Ordering::Relaxed) == 0 {
            self.record.changes();
        }
        // The event comes before the poll. It is code of the program: if it panics, the task is woken all the same.
        let _wakes = WakesAtEnd(&self.cell);
        self.record.wakes.says("waker.wake_by_ref");
    }
}

struct WakesAtEnd<'w>(&'w Waker);

impl Drop for WakesAtEnd<'_> {
    fn drop(&mut self) {
        self.0.wake_by_ref();
    }
}

impl Drop for TaskWaker {
    fn drop(&mut self) {
        self.record.wakers.fetch_sub(1, Ordering::Relaxed);
        self.record.wakes.says("waker.drop");
    }
}

impl Record {
    pub(super) fn new(spawned: Spawned, pool: u64, here: Here, wakes: Wakes) -> Self {
        Self {
            spawned,
            name: OnceLock::new(),
            pool,
            here,
            wakes,
            born: Instant::now(),
            state: AtomicU32::new(WOKEN),
            changed: AtomicU64::new(0),
            polls: AtomicUsize::new(0),
            thread: AtomicU64::new(0),
            worker: AtomicUsize::new(0),
            wait: AtomicUsize::new(0),
            polled_since: AtomicU64::new(0),
            reported: AtomicU64::new(0),
            waker: Mutex::new(Weak::new()),
            wakers: AtomicUsize::new(0),
        }
    }

    /// The state changes now. Returns the time in nanoseconds since `born`.
    fn changes(&self) -> u64 {
        let now = self.born.elapsed().as_nanos() as u64;
        self.changed.store(now, Ordering::Relaxed);
        now
    }

    /// A future of this name is polled in its poll.
    pub(super) fn is_named(&self, name: &str) {
        self.name.get_or_init(|| name.into());
    }

    /// The name of the task, once it has told it.
    pub(super) fn name(&self) -> Option<&str> {
        self.name.get().map(String::as_str)
    }

    /// A poll begins on this thread.
    pub(super) fn begins(&self) {
        // Ordering: Release pairs with the Acquire fence in `report`: who sees a word of this poll also sees that the one before has
        // ended.
        fence(Ordering::Release);
        let (thread, worker) = (self.here)(self.pool);
        threads::note(thread);
        self.thread.store(thread, Ordering::Relaxed);
        self.worker
            .store(worker.map_or(0, |worker| worker + 1), Ordering::Relaxed);
        let polls = self.polls.load(Ordering::Relaxed);
        self.polls.store(polls + 1, Ordering::Relaxed);
        let now = self.changes();
        self.state.store(POLLED, Ordering::Relaxed);
        // Ordering: Release pairs with the Acquire load in `report`, which then sees the words of this poll.
        self.polled_since.store(now + 1, Ordering::Release);
    }

    /// The poll has ended, and left the task pending.
    pub(super) fn ends(&self) {
        // Ordering: Relaxed, see `begins`.
        self.polled_since.store(0, Ordering::Relaxed);
        self.changes();
        self.state.fetch_and(!POLLED, Ordering::Relaxed);
    }

    /// The waker for a poll: that of an earlier one, as long as someone keeps it and it wakes the same. So a future sees that it has
    /// kept the right one.
    pub(super) fn waker(self: &Arc<Self>, cell: &Waker) -> Waker {
        // No waker of a program is cloned or dropped under the lock.
        let last = self.waker.lock().upgrade();
        if let Some(last) = last.filter(|last| last.cell.will_wake(cell)) {
            return Waker::from(last);
        }
        self.wakers.fetch_add(1, Ordering::Relaxed);
        self.wakes.says("waker.clone");
        let waker = Arc::new(TaskWaker {
            record: Arc::clone(self),
            cell: cell.clone(),
        });
        *self.waker.lock() = Arc::downgrade(&waker);
        Waker::from(waker)
    }

    /// What its poll waits in from now on; returns what it waited in before.
    pub(super) fn waits(&self, wait: &'static str) -> usize {
        let number = WAITS.iter().position(|known| *known == wait);
        self.wait
            .swap(number.map_or(0, |number| number + 1), Ordering::Relaxed)
    }

    pub(super) fn waited(&self, before: usize) {
        self.wait.store(before, Ordering::Relaxed);
    }

    /// What a report of a long poll sees: if a poll is going on that takes longer than `limit`, and was not reported. Now it is.
    pub(super) fn report(&self, limit: Duration) -> Option<Task> {
        // Ordering: Acquire pairs with the Release in `begins`.
        let poll = self.polled_since.load(Ordering::Acquire);
        let since = Duration::from_nanos(poll.checked_sub(1)?);
        let since = self.born.elapsed().saturating_sub(since);
        // Ordering: Relaxed, one thread reports.
        if since <= limit || self.reported.load(Ordering::Relaxed) == poll {
            return None;
        }
        // The address of the slot stands for its number: the report only says that the task is a child.
        let look = self.look(|scope| (scope != 0).then_some(scope), threads::name_of);
        let seen = Task { since, ..look };
        // Ordering: Acquire pairs with the fence in `begins`: if a word was seen of a later poll, this one has ended for the load.
        fence(Ordering::Acquire);
        if self.polled_since.load(Ordering::Relaxed) != poll {
            return None;
        }
        self.reported.store(poll, Ordering::Relaxed);
        Some(seen)
    }

    /// What a report sees. `slot` and `thread` as in [`Table::look`](super::Table::look).
    pub(super) fn look(
        &self,
        slot: impl Fn(usize) -> Option<usize>,
        thread: impl Fn(u64) -> Option<String>,
    ) -> Task {
        let id = self.thread.load(Ordering::Relaxed);
        let state = match self.state.load(Ordering::Relaxed) {
            0 => State::Waits,
            WOKEN => State::Queued,
            _ => State::Polled,
        };
        let changed = Duration::from_nanos(self.changed.load(Ordering::Relaxed));
        let is_polled = state == State::Polled;
        let wait = self.wait.load(Ordering::Relaxed).checked_sub(1);
        let wait = wait.filter(|_| is_polled);
        let polls = self.polls.load(Ordering::Relaxed);
        let has_wakers = polls > 0 && !self.spawned.is_call;
        let wakers = || {
            let clones = patiently(&self.waker)?.strong_count();
            Some(clones.max(self.wakers.load(Ordering::Relaxed)))
        };
        Task {
            number: self.spawned.number,
            future: self.spawned.future,
            site: self.spawned.site,
            name: self.name().map(String::from),
            scope: slot(self.spawned.scope),
            state,
            since: self.born.elapsed().saturating_sub(changed),
            age: self.born.elapsed(),
            polls,
            wakers: has_wakers.then(wakers).flatten(),
            thread: if polls > 0 { thread(id) } else { None },
            worker: self.worker.load(Ordering::Relaxed).checked_sub(1),
            waits_in: wait.and_then(|wait| WAITS.get(wait).copied()),
            here: is_polled && id == (self.here)(self.pool).0,
        }
    }
}
