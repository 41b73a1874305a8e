//! Models of a task of a single-thread executor: who refers to it, who wakes it, and how it ends.
//!
//! The cell is the model's own, with the layer's [`State`], mailbox and inbox: what `task::biased::Cell` does with a step is
//! done here likewise. The memory of the cell, and of the core, is looked at by who may use it and taken when it is freed, so
//! that loom tells if the two can meet.

use std::ptr::NonNull;
use std::sync::Arc as Plain;
use std::sync::atomic::{AtomicU32, Ordering as Observed};
use std::task::{Wake, Waker};

use terrace_local::biased::{Arrival, Joined, Pended, State, Step};
use terrace_local::mailbox::{Mailbox, Queueable};
use terrace_park::{Parker, Unparker};
use terrace_queue::{Link, Links};
use terrace_sync::atomic::{AtomicU32 as Modelled, Ordering};
use terrace_sync::cell::UnsafeCell;
use terrace_sync::{Arc, model, thread};

/// An executor's core: its mailbox, and the memory of both.
struct Core {
    mailbox: Mailbox<Item>,
    memory: UnsafeCell<()>,
}

// SAFETY: loom tells if two threads use the memory in a way that they must not.
unsafe impl Send for Core {}
// SAFETY: as above.
unsafe impl Sync for Core {}

impl Core {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            mailbox: Mailbox::new(),
            memory: UnsafeCell::new(()),
        })
    }
}

struct Task {
    state: State,
    link: Link,
    core: Arc<Core>,
    /// The cell's.
    memory: UnsafeCell<()>,
    /// What the task ends with.
    outcome: UnsafeCell<u32>,
    /// What a waker writes before it wakes, and the last poll has seen.
    news: Modelled,
    seen: AtomicU32,
    /// Whether the next poll ends the task.
    ends: bool,
    futures_dropped: AtomicU32,
    freed: AtomicU32,
}

// SAFETY: loom tells if two threads use the memory in a way that they must not.
unsafe impl Send for Task {}
// SAFETY: as above.
unsafe impl Sync for Task {}

const OUTCOME: u32 = 42;

impl Task {
    fn new(core: &Arc<Core>, ends: bool) -> Plain<Self> {
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
            freed: AtomicU32::new(0),
        })
    }

    /// A use of the cell by who has a reference.
    fn touch(&self) -> &State {
        self.memory.with(|_| ());
        &self.state
    }

    fn free(&self) {
        self.memory.with_mut(|_| ());
        // SAFETY: nobody else is left.
        let left = unsafe { self.state.take_awaiter() };
        assert!(left.is_none(), "an awaiter is dropped with its task");
        self.freed.fetch_add(1, Observed::Relaxed);
    }

    fn follow(self: &Plain<Self>, step: Step, home: bool) {
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

    fn run(self: &Plain<Self>) {
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

    fn end(self: &Plain<Self>, outcome: bool) {
        self.futures_dropped.fetch_add(1, Observed::Relaxed);
        // SAFETY: at home, with the poll's reference.
        let finished = unsafe { self.state.finish(outcome) };
        if finished.pushing {
            // SAFETY: at home.
            unsafe { self.core.mailbox.await_item() };
        }
        if !(finished.alone || finished.held) {
            return;
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
    fn assert_seen(&self, news: u32) {
        assert_eq!(self.seen.load(Observed::Relaxed), news, "news");
    }

    fn assert_gone(&self) {
        let dropped = self.futures_dropped.load(Observed::Relaxed);
        let freed = self.freed.load(Observed::Relaxed);
        assert_eq!((dropped, freed), (1, 1), "futures dropped, cells freed");
    }
}

/// What waits in the queues.
struct Item(Plain<Task>);

struct ItemLinks;

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
fn drain(core: &Core) -> bool {
    let mut any = false;
    // SAFETY: at home.
    while let Some(item) = unsafe { core.mailbox.pop() } {
        any = true;
        item.0.run();
    }
    any
}

/// A task at home that was polled once and is pending; with so many wakers, each counted at home, and the handle.
fn pending(core: &Arc<Core>, wakers: usize) -> Plain<Task> {
    let task = Task::new(core, false);
    for _ in 0..wakers {
        // SAFETY: at home.
        unsafe { task.touch().clone_at_home() };
    }
    task.run();
    task
}

/// Two wakes by one thread, of which the second may find the first one's item on its way: the last poll sees what came
/// before either.
///
/// Fails under: `local-task-wake-coalesced`, `local-task-arrive-acquire`, `local-task-arrive-release` (the link of the inbox).
#[test]
fn local_task_wake_brings_news() {
    model(|| {
        let core = Core::new();
        let task = pending(&core, 1);
        let waker = {
            let task = task.clone();
            thread::spawn(move || {
                for news in 1..=2 {
                    task.news.store(news, Ordering::Relaxed);
                    let step = task.touch().wake_elsewhere(false);
                    task.follow(step, false);
                }
                let step = task.touch().release_elsewhere();
                task.follow(step, false);
            })
        };
        drain(&core);
        waker.join().unwrap();
        drain(&core);
        task.assert_seen(2);
        // SAFETY: at home, the handle's reference.
        let step = unsafe { task.touch().drop_handle_at_home(true) };
        task.follow(step, true);
        drain(&core);
        task.assert_gone();
    });
}

/// A wake, as that of a parked thread.
struct Bell(Unparker);

impl Wake for Bell {
    fn wake(self: Plain<Self>) {
        self.0.unpark();
    }
}

/// Takes the outcome of an ended task, as its handle.
fn take(task: &Plain<Task>) -> Option<u32> {
    let outcome = task.state.has_outcome().then(|| {
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
fn join(task: &Plain<Task>, wakers: usize) -> Option<u32> {
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

/// A handle waits elsewhere while the task ends: it is woken, and sees the whole outcome.
///
/// Fails under: `local-task-merge-release`.
#[test]
fn local_task_outcome_is_waited_for() {
    model(|| {
        let core = Core::new();
        let task = Task::new(&core, true);
        let handle = {
            let task = task.clone();
            thread::spawn(move || assert_eq!(join(&task, 1), Some(OUTCOME)))
        };
        task.run();
        handle.join().unwrap();
        task.assert_gone();
    });
}

/// The handle changes its waker while the task ends: the awaiter is touched by one of the two at a time, and the last waker is
/// woken.
///
/// Fails under: `local-task-join-in-place`.
#[test]
fn local_task_awaiter_is_replaced() {
    model(|| {
        let core = Core::new();
        let task = Task::new(&core, true);
        let handle = {
            let task = task.clone();
            thread::spawn(move || assert_eq!(join(&task, 2), Some(OUTCOME)))
        };
        task.run();
        handle.join().unwrap();
        task.assert_gone();
    });
}

/// The last references to a pending task are dropped elsewhere and at home: its future is dropped.
///
/// Fails under: `local-task-last-elsewhere`.
#[test]
fn local_task_last_reference() {
    model(|| {
        let core = Core::new();
        let task = pending(&core, 1);
        let waker = {
            let task = task.clone();
            thread::spawn(move || {
                let step = task.touch().release_elsewhere();
                task.follow(step, false);
            })
        };
        // SAFETY: at home, the handle's reference.
        let step = unsafe { task.touch().drop_handle_at_home(true) };
        task.follow(step, true);
        drain(&core);
        waker.join().unwrap();
        drain(&core);
        task.assert_gone();
    });
}

/// The same where home drops what was counted elsewhere: a waker that another thread cloned.
#[test]
fn local_task_reference_comes_home() {
    model(|| {
        let core = Core::new();
        let task = pending(&core, 1);
        let waker = {
            let task = task.clone();
            thread::spawn(move || {
                task.touch().clone_elsewhere();
                let step = task.touch().release_elsewhere();
                task.follow(step, false);
                // The clone goes home.
            })
        };
        // SAFETY: at home, the handle's reference.
        let step = unsafe { task.touch().drop_handle_at_home(true) };
        task.follow(step, true);
        waker.join().unwrap();
        // SAFETY: at home, the clone's reference.
        let step = unsafe { task.touch().release_at_home() };
        task.follow(step, true);
        drain(&core);
        task.assert_gone();
    });
}

/// A task that nobody waits for ends while its last waker is dropped elsewhere: who sees that nobody else is left has
/// everything behind it.
///
/// Fails under: `local-task-alone-acquire`.
#[test]
fn local_task_alone_at_the_end() {
    model(|| {
        let core = Core::new();
        let task = Task::new(&core, true);
        // SAFETY: at home, with references of its own.
        unsafe {
            task.touch().clone_at_home();
            let step = task.state.drop_handle_at_home(true);
            task.follow(step, true);
        }
        // A waker that is dropped elsewhere need not ask home.
        task.state.set_registered();
        let waker = {
            let task = task.clone();
            thread::spawn(move || {
                let step = task.touch().release_elsewhere();
                task.follow(step, false);
            })
        };
        task.run();
        waker.join().unwrap();
        drain(&core);
        task.assert_gone();
    });
}

/// An ended task's last references are dropped on two threads: one of them frees it, after the other.
///
/// Fails under: `local-task-last-acquire`.
#[test]
fn local_task_freed_once() {
    model(|| {
        let core = Core::new();
        let task = Task::new(&core, true);
        // SAFETY: at home, with a reference.
        unsafe { task.touch().clone_at_home() };
        task.run();
        let waker = {
            let task = task.clone();
            thread::spawn(move || {
                let step = task.touch().release_elsewhere();
                task.follow(step, false);
            })
        };
        task.touch();
        assert_eq!(take(&task), Some(OUTCOME));
        waker.join().unwrap();
        task.assert_gone();
    });
}

/// A task ends, and its executor closes and is freed, while another thread wakes it: the core stays until the item has come.
///
/// Fails under: `local-task-await-item`.
#[test]
fn local_task_end_awaits_its_item() {
    model(|| {
        let core = Core::new();
        let task = Task::new(&core, true);
        // SAFETY: at home, with references of its own.
        unsafe {
            task.touch().clone_at_home();
            let step = task.state.drop_handle_at_home(true);
            task.follow(step, true);
        }
        let waker = {
            let task = task.clone();
            thread::spawn(move || {
                let step = task.touch().wake_elsewhere(true);
                task.follow(step, false);
            })
        };
        task.run();
        core.mailbox.close();
        // SAFETY: at home. A task that came back from the inbox would be run.
        while unsafe { core.mailbox.drain(|item| item.0.run()) } {}
        core.memory.with_mut(|_| ());
        waker.join().unwrap();
        task.assert_gone();
    });
}

/// The handle is dropped elsewhere while a waker wakes: one item, and the future is dropped at home, once.
#[test]
fn local_task_cancelled_elsewhere() {
    model(|| {
        let core = Core::new();
        let task = pending(&core, 1);
        let waker = {
            let task = task.clone();
            thread::spawn(move || {
                let step = task.touch().wake_elsewhere(true);
                task.follow(step, false);
            })
        };
        let handle = {
            let task = task.clone();
            thread::spawn(move || {
                let step = task.touch().drop_handle_elsewhere(false);
                task.follow(step, false);
            })
        };
        drain(&core);
        waker.join().unwrap();
        handle.join().unwrap();
        drain(&core);
        task.assert_gone();
    });
}
