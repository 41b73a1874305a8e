//! A task cell and its core, with what `task::biased::Cell` does with each step.

use std::ptr::NonNull;
use std::sync::Arc as Plain;
use std::sync::atomic::{AtomicU32, Ordering as Observed};
use std::task::{Wake, Waker};

use terrace_local::biased::{Arrival, Joined, Pended, State, Step};
use terrace_local::mailbox::{Mailbox, Queueable};
use terrace_park::{Parker, Unparker};
use terrace_queue::{Link, Links};
use terrace_sync::Arc;
use terrace_sync::atomic::{AtomicU32 as Modelled, Ordering};
use terrace_sync::cell::UnsafeCell;
use terrace_sync::thread;

/// An executor's core: its mailbox, and the memory of both.
pub(crate) struct Core {
    mailbox: Mailbox<Item>,
    memory: UnsafeCell<()>,
}

// SAFETY: loom tells if two threads use the memory in a way that they must not.
unsafe impl Send for Core {}
// SAFETY: as above.
unsafe impl Sync for Core {}

impl Core {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            mailbox: Mailbox::new(),
            memory: UnsafeCell::new(()),
        })
    }

    /// Closes the executor, and frees it.
    pub(crate) fn free(&self) {
        self.mailbox.close();
        // SAFETY: at home. A task that came back from the inbox would be run.
        while unsafe { self.mailbox.drain(|item| item.0.run()) } {}
        self.memory.with_mut(|_| ());
    }
}

pub(crate) struct Task {
    pub(crate) state: State,
    link: Link,
    core: Arc<Core>,
    /// The cell's.
    memory: UnsafeCell<()>,
    /// What the task ends with.
    outcome: UnsafeCell<u32>,
    /// What a waker writes before it wakes, and the last poll has seen.
    pub(crate) news: Modelled,
    seen: AtomicU32,
    /// Whether the next poll ends the task.
    ends: bool,
    futures_dropped: AtomicU32,
    /// Outcomes that there were, less those that somebody took or dropped.
    outcomes: AtomicU32,
    freed: AtomicU32,
}

// SAFETY: loom tells if two threads use the memory in a way that they must not.
unsafe impl Send for Task {}
// SAFETY: as above.
unsafe impl Sync for Task {}

pub(crate) const OUTCOME: u32 = 42;

impl Task {
    pub(crate) fn new(core: &Arc<Core>, ends: bool) -> Plain<Self> {
        Plain::new(Self {
            state: State::at_home(),
            link: Link::new(),
            core: core.clone(),
            memory: UnsafeCell::new(()),
            outcome: UnsafeCell::new(0),
            news: Modelled::new(0),
            seen: AtomicU32::new(0),
            ends,
            futures_dropped: AtomicU32::new(0),
            outcomes: AtomicU32::new(0),
            freed: AtomicU32::new(0),
        })
    }

    pub(crate) fn clone_at_home(&self) {
        // SAFETY: at home, with a reference.
        unsafe { self.touch().clone_at_home() };
    }

    /// Lets the handle go.
    pub(crate) fn detach_at_home(self: &Plain<Self>) {
        // SAFETY: at home, with the handle's reference.
        let step = unsafe { self.touch().drop_handle_at_home(true) };
        self.follow(step, true);
    }

    /// A use of the cell by who has a reference.
    pub(crate) fn touch(&self) -> &State {
        self.memory.with(|_| ());
        &self.state
    }

    pub(crate) fn free(&self) {
        self.memory.with_mut(|_| ());
        // SAFETY: nobody else is left.
        let left = unsafe { self.state.take_awaiter() };
        assert!(left.is_none(), "an awaiter is dropped with its task");
        self.freed.fetch_add(1, Observed::Relaxed);
    }

    pub(crate) fn follow(self: &Plain<Self>, step: Step, home: bool) {
        match step {
            Step::Nothing | Step::Ended => {}
            Step::Free => self.free(),
            Step::Queue => {
                let core = self.core.clone();
                let item = Item(self.clone());
                if home {
                    // SAFETY: at home.
                    unsafe { core.mailbox.push_quietly(item) };
                } else {
                    let mailbox = NonNull::from(&core.mailbox);
                    // SAFETY: the model's core stays to its end; its memory is what is looked at.
                    unsafe {
                        Mailbox::push_and_leave(mailbox, item, || core.memory.with(|_| ()));
                    }
                }
            }
        }
    }

    pub(crate) fn run(self: &Plain<Self>) {
        // SAFETY: at home, with the item's reference; so below.
        let started = unsafe { self.touch().start() };
        if !started {
            return self.end(false);
        }
        self.seen
            .store(self.news.load(Ordering::Relaxed), Observed::Relaxed);
        if self.ends {
            self.outcome.with_mut(|outcome| {
                // SAFETY: the outcome is the poll's until the task has ended.
                unsafe { *outcome = OUTCOME };
            });
            return self.end(true);
        }
        // SAFETY: as above.
        match unsafe { self.state.pend() } {
            Pended::Wait => {}
            Pended::Queue => self.follow(Step::Queue, true),
            Pended::Abandon => self.end(false),
        }
    }

    pub(crate) fn end(self: &Plain<Self>, outcome: bool) {
        self.futures_dropped.fetch_add(1, Observed::Relaxed);
        self.outcomes
            .fetch_add(u32::from(outcome), Observed::Relaxed);
        // SAFETY: at home, with the poll's reference.
        let finished = unsafe { self.state.finish(outcome) };
        if finished.pushing {
            // SAFETY: at home.
            unsafe { self.core.mailbox.await_item() };
        }
        if !(finished.alone || finished.held) {
            return;
        }
        if finished.discard {
            self.outcome.with_mut(|_| ());
            self.outcomes.fetch_sub(1, Observed::Relaxed);
        }
        if finished.awaited {
            // SAFETY: `awaited`.
            if let Some(awaiter) = unsafe { self.state.take_awaiter() } {
                awaiter.wake();
            }
        }
        if finished.alone || self.state.release_ended() {
            self.free();
        }
    }

    /// The last poll came after the last of the news.
    pub(crate) fn assert_seen(&self, news: u32) {
        assert_eq!(self.seen.load(Observed::Relaxed), news, "news");
    }

    pub(crate) fn assert_gone(&self) {
        let dropped = self.futures_dropped.load(Observed::Relaxed);
        let outcomes = self.outcomes.load(Observed::Relaxed);
        let freed = self.freed.load(Observed::Relaxed);
        assert_eq!(
            (dropped, outcomes, freed),
            (1, 0, 1),
            "futures dropped, outcomes left, cells freed"
        );
    }
}

/// What waits in the queues.
pub(crate) struct Item(Plain<Task>);

pub(crate) struct ItemLinks;

// SAFETY: an `Arc`'s pointer, one of a task at a time; the link stays with it.
unsafe impl Links for ItemLinks {
    type Item = Item;

    fn into_raw(item: Item) -> NonNull<()> {
        let raw = Plain::into_raw(item.0);
        NonNull::new(raw.cast_mut()).expect("an Arc").cast()
    }

    unsafe fn from_raw(raw: NonNull<()>) -> Item {
        // SAFETY: out of `into_raw`.
        Item(unsafe { Plain::from_raw(raw.cast().as_ptr()) })
    }

    unsafe fn link(raw: NonNull<()>) -> NonNull<Link> {
        let task: NonNull<Task> = raw.cast();
        // SAFETY: out of `into_raw`, and not taken out yet.
        NonNull::from(unsafe { &(*task.as_ptr()).link })
    }
}

impl Queueable for Item {
    type Links = ItemLinks;

    unsafe fn arrive(self) -> Option<Self> {
        // SAFETY: at home, with the item's reference.
        match unsafe { self.0.touch().arrive() } {
            Arrival::Queue => return Some(self),
            Arrival::Nothing => {}
            Arrival::Ended(last) => {
                // SAFETY: at home.
                unsafe { self.0.core.mailbox.item_arrived() };
                if last {
                    self.0.free();
                }
            }
        }
        None
    }
}

/// Runs what is queued.
pub(crate) fn drain(core: &Core) -> bool {
    let mut any = false;
    // SAFETY: at home.
    while let Some(item) = unsafe { core.mailbox.pop() } {
        any = true;
        item.0.run();
    }
    any
}

/// A task at home that was polled once and is pending; with so many wakers, each counted at home, and the handle.
pub(crate) fn pending(core: &Arc<Core>, wakers: usize) -> Plain<Task> {
    let task = Task::new(core, false);
    for _ in 0..wakers {
        task.clone_at_home();
    }
    task.run();
    task
}

/// A wake, as that of a parked thread.
struct Bell(Unparker);

impl Wake for Bell {
    fn wake(self: Plain<Self>) {
        self.0.unpark();
    }
}

/// Takes the outcome of an ended task, as its handle.
pub(crate) fn take(task: &Plain<Task>) -> Option<u32> {
    let outcome = task.state.has_outcome().then(|| {
        task.outcomes.fetch_sub(1, Observed::Relaxed);
        task.outcome.with(|outcome| {
            // SAFETY: the task has ended, its outcome is the handle's.
            unsafe { *outcome }
        })
    });
    if task.state.release_ended() {
        task.free();
    }
    outcome
}

/// Waits for the end elsewhere, with so many wakers, one after the other.
pub(crate) fn join(task: &Plain<Task>, wakers: usize) -> Option<u32> {
    let parkers: Vec<_> = (0..wakers).map(|_| Parker::new()).collect();
    for parker in &parkers {
        let waker = Waker::from(Plain::new(Bell(parker.unparker())));
        let last = std::ptr::eq(parker, &raw const parkers[wakers - 1]);
        loop {
            // SAFETY: the one handle, elsewhere.
            let joined = unsafe { task.touch().join(&waker, false) };
            match joined {
                Joined::Ended(_) => return take(task),
                Joined::Pending(_) if last => parker.park(),
                Joined::Pending(_) => break,
            }
        }
    }
    unreachable!("the last waker is waited for")
}

/// Takes one step on another thread, with a reference.
pub(crate) fn elsewhere(task: &Plain<Task>, step: fn(&State) -> Step) -> thread::JoinHandle<()> {
    let task = task.clone();
    thread::spawn(move || {
        let step = step(task.touch());
        task.follow(step, false);
    })
}
