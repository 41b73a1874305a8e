//! A task cell and its core. The cell follows each step as `task::local::cell::Cell` does.

use std::ptr::NonNull;
use std::sync::Arc as Plain;
use std::sync::atomic::{AtomicU32, Ordering as Observed};
use std::task::{Wake, Waker};

use terrace_local::OnOwner;
use terrace_local::biased::{Arrival, HandleEnd, Joined, Left, Pended, Side, State, Step};
use terrace_local::mailbox::{Arrived, Mailbox, Queueable};
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

// SAFETY: loom fails the model if two threads use the memory in a way that they must not.
unsafe impl Send for Core {}
// SAFETY: see `Send`: loom watches shared uses of the memory, too.
unsafe impl Sync for Core {}

impl Core {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            mailbox: Mailbox::default(),
            memory: UnsafeCell::new(()),
        })
    }

    /// The owner's side of the mailbox.
    fn owned(&self) -> OnOwner<'_, Mailbox<Item>> {
        // SAFETY: in each model one thread, the first, takes all steps of the owner.
        unsafe { OnOwner::assume(&self.mailbox) }
    }

    /// Closes the executor, and frees it.
    pub(crate) fn free(&self) {
        self.mailbox.close();
        // A task that came back from the inbox would be run.
        while self.owned().drain(|item| item.0.run()) {}
        self.memory.with_mut(|_| ());
    }
}

pub(crate) struct Task {
    pub(crate) state: State,
    link: Link,
    core: Arc<Core>,
    /// The cell's.
    memory: UnsafeCell<()>,
    /// The outcome of the task.
    outcome: UnsafeCell<u32>,
    /// The value that a waker writes before it wakes, and the value that the last poll has seen.
    pub(crate) news: Modelled,
    seen: AtomicU32,
    /// Whether the next poll ends the task.
    ends: bool,
    futures_dropped: AtomicU32,
    /// Outcomes so far, less those that were taken or dropped.
    outcomes: AtomicU32,
    freed: AtomicU32,
}

// SAFETY: loom fails the model if two threads use the memory in a way that they must not.
unsafe impl Send for Task {}
// SAFETY: see `Send`: loom watches shared uses of the memory, too.
unsafe impl Sync for Task {}

pub(crate) const OUTCOME: u32 = 42;

impl Task {
    pub(crate) fn new(core: &Arc<Core>, ends: bool) -> Plain<Self> {
        Self::of(State::spawned(Side::Local), core, ends)
    }

    /// A task that its owner spawns eagerly: `during` runs in its first poll, which ends the task if it `ends`.
    pub(crate) fn eager<T>(
        core: &Arc<Core>,
        ends: bool,
        during: impl FnOnce(&Plain<Self>) -> T,
    ) -> (Plain<Self>, T) {
        let task = Self::of(State::polled_at_spawn(), core, ends);
        let result = during(&task);
        task.poll(|| {
            task.outcomes.fetch_add(1, Observed::Relaxed);
            task.futures_dropped.fetch_add(1, Observed::Relaxed);
            if !task.touch_local().finish_at_spawn(true) {
                task.outcomes.fetch_sub(1, Observed::Relaxed);
                task.futures_dropped.fetch_sub(1, Observed::Relaxed);
                task.end(Left::Outcome);
            }
        });
        (task, result)
    }

    fn of(state: State, core: &Arc<Core>, ends: bool) -> Plain<Self> {
        Plain::new(Self {
            state,
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

    pub(crate) fn clone_local(&self) {
        self.touch_local().clone_local();
    }

    /// Detaches the handle, on the owner's thread.
    pub(crate) fn detach_local(self: &Plain<Self>) {
        let step = self.touch_local().drop_handle_local(HandleEnd::Detach);
        self.follow(step, Side::Local);
    }

    /// A use of the cell by a thread that has a reference.
    pub(crate) fn touch(&self) -> &State {
        self.memory.with(|_| ());
        &self.state
    }

    /// The same by the owner.
    pub(crate) fn touch_local(&self) -> OnOwner<'_, State> {
        // SAFETY: in each model one thread, the first, takes all steps of the owner.
        unsafe { OnOwner::assume(self.touch()) }
    }

    pub(crate) fn free(&self) {
        self.memory.with_mut(|_| ());
        // SAFETY: no other reference is left.
        let left = unsafe { self.state.take_awaiter() };
        assert!(left.is_none(), "an awaiter is dropped with its task");
        self.freed.fetch_add(1, Observed::Relaxed);
    }

    pub(crate) fn follow(self: &Plain<Self>, step: Step, side: Side) {
        match step {
            Step::Nothing | Step::Ended => {}
            Step::Free => self.free(),
            Step::Queue => {
                let core = self.core.clone();
                let item = Item(self.clone());
                match side {
                    Side::Local => core.owned().push_quietly(item),
                    Side::Remote => {
                        let mailbox = NonNull::from(&core.mailbox);
                        // SAFETY: the core stays to the end of the model, which watches its `memory` instead.
                        unsafe {
                            Mailbox::push_and_leave(mailbox, item, || core.memory.with(|_| ()));
                        }
                    }
                }
            }
        }
    }

    pub(crate) fn run(self: &Plain<Self>) {
        if !self.touch_local().start() {
            return self.end(Left::Nothing);
        }
        self.poll(|| self.end(Left::Outcome));
    }

    /// A poll of a turn that has started.
    fn poll(self: &Plain<Self>, finish: impl FnOnce()) {
        self.seen
            .store(self.news.load(Ordering::Relaxed), Observed::Relaxed);
        if self.ends {
            self.outcome.with_mut(|outcome| {
                // SAFETY: the outcome is the poll's until the task has ended.
                unsafe { *outcome = OUTCOME };
            });
            return finish();
        }
        match self.touch_local().pend() {
            Pended::Wait => {}
            Pended::Queue => self.follow(Step::Queue, Side::Local),
            Pended::Abandon => self.end(Left::Nothing),
        }
    }

    fn end(self: &Plain<Self>, left: Left) {
        self.futures_dropped.fetch_add(1, Observed::Relaxed);
        self.outcomes
            .fetch_add(u32::from(left == Left::Outcome), Observed::Relaxed);
        let finished = self.touch_local().finish(left);
        if finished.pushing {
            self.core.owned().await_item();
        }
        if !(finished.alone || finished.held) {
            return;
        }
        if finished.discard {
            self.outcome.with_mut(|_| ());
            self.outcomes.fetch_sub(1, Observed::Relaxed);
        }
        if finished.awaited {
            // SAFETY: `awaited` hands the awaiter to this thread.
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

/// The items of the queues.
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
        // SAFETY: it came out of `into_raw`, once.
        Item(unsafe { Plain::from_raw(raw.cast().as_ptr()) })
    }

    unsafe fn link(raw: NonNull<()>) -> NonNull<Link> {
        let task: NonNull<Task> = raw.cast();
        // SAFETY: it came out of `into_raw`, so the item's `Arc` keeps it.
        NonNull::from(unsafe { &(*task.as_ptr()).link })
    }
}

impl Queueable for Item {
    type Links = ItemLinks;

    unsafe fn arrive(self) -> Arrived<Self> {
        match self.0.touch_local().arrive() {
            Arrival::Queue => Arrived::Queue(self),
            Arrival::Nothing => Arrived::UsedUp,
            Arrival::Ended(step) => {
                self.0.follow(step, Side::Local);
                Arrived::Awaited
            }
        }
    }
}

/// Runs every queued item.
pub(crate) fn drain(core: &Core) -> bool {
    let mut any = false;
    while let Some(item) = core.owned().pop() {
        any = true;
        item.0.run();
    }
    any
}

/// A pending task that its owner spawned and polled once, with its handle and so many wakers, which the owner counts.
pub(crate) fn pending(core: &Arc<Core>, wakers: usize) -> Plain<Task> {
    let task = Task::new(core, false);
    for _ in 0..wakers {
        task.clone_local();
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
            // SAFETY: the task has ended, so its outcome is the handle's.
            unsafe { *outcome }
        })
    });
    if task.state.release_ended() {
        task.free();
    }
    outcome
}

/// Takes the outcome of a task as the handle of an eager child does at first.
pub(crate) fn take_at_once(task: &Plain<Task>) -> Option<u32> {
    if !task.touch().is_fresh() {
        return take(task);
    }
    task.outcomes.fetch_sub(1, Observed::Relaxed);
    let outcome = task.outcome.with(|outcome| {
        // SAFETY: the task has ended, so its outcome is the handle's.
        unsafe { *outcome }
    });
    task.free();
    Some(outcome)
}

/// Waits for the end on another thread, with so many wakers, one after the other.
pub(crate) fn join(task: &Plain<Task>, wakers: usize) -> Option<u32> {
    let parkers: Vec<_> = (0..wakers).map(|_| Parker::new()).collect();
    for parker in &parkers {
        let waker = Waker::from(Plain::new(Bell(parker.unparker())));
        let last = std::ptr::eq(parker, &raw const parkers[wakers - 1]);
        loop {
            // SAFETY: the caller is the one handle, on another thread.
            let joined = unsafe { task.touch().join(&waker, None) };
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
pub(crate) fn on_another_thread(
    task: &Plain<Task>,
    step: fn(&State) -> Step,
) -> thread::JoinHandle<()> {
    let task = task.clone();
    thread::spawn(move || {
        let step = step(task.touch());
        task.follow(step, Side::Remote);
    })
}
