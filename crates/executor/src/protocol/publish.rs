//! What a thread that has made an item visible owes the sleepers, and who pays where it does not publish at once. Also what a thread that
//! is about to sleep sees of the item.
//!
//! | the item is                                  | known by                                              | paid by                                    |
//! |----------------------------------------------|-------------------------------------------------------|--------------------------------------------|
//! | a task that has yielded                      | [`DeferredPublish`]                                   | the worker's next turn, mostly by nothing  |
//! | a background task, and no permit is free     | [`Permits`]                                           | the thread that gives a permit back        |
//! | published, but each worker is awake          | [`Alarm`]                                             | the watch                                  |
//! | left to its owner, which is awake            | [`Sight::Covered`]                                    | the sentinel                               |
//! | news for every thread that waits             | [`Broadcast`]                                         | the announcer, after the news              |
//!
//! Not an API; public for its models.

use std::cell::Cell;
use std::num::NonZeroUsize;

use terrace_park::Idle;
use terrace_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use terrace_sync::{Mutex, heavy, light, weakened};

/// When the item is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the item may have to be published now"]
pub enum Publish {
    /// The thread that has queued it publishes it now.
    Now,
    /// The protocol says who publishes it later, if anyone has to.
    Later,
}

/// Whether a task that yielded waits to be published: mostly its worker never publishes it, which saves the fence.
///
/// A task that wakes itself goes to the back of its worker's ring when the poll ends. The worker then takes its next
/// task at once. In between the worker runs no other code, so no thread waits for it:
///
/// | what the worker takes next      | the task that yielded                                                         |
/// |----------------------------------|--------------------------------------------------------------------------------|
/// | the head of its ring: that task  | runs                                                                            |
/// | the head of its ring: another X  | lies behind X, which was published; a looker that sees X gone sees the task    |
/// | anything else                    | is published first ([`flush`](Self::flush))                                          |
///
/// The second row, in full. A sleeper announces itself, fences, and looks at the ring: head, then tail. X was
/// published, so it sees X there, or a head that has moved beyond. The worker's compare-exchange (Release), or a
/// thief's after it, wrote that head. So the sleeper's Acquire load of the head makes every earlier push visible
/// (`Ring::len`): the ring does not look empty. The task takes X's place as the published one, for the next task that
/// yields. The searcher that X's publish relied on looks at the ring before it stops. If a thief was faster and took X,
/// the worker takes the task itself.
///
/// The same holds in the loop of a `run` future, while it is being polled. It holds only for the task of the loop's own turn. One that
/// is polled in the middle of that turn, by a wait or by the program's own hand, is published at once: the poll around it goes on, maybe
/// for long.
///
/// The word is the task of the turn under way, as a number that no other task has; 0 between turns; `DEFERRED` once that task has yielded,
/// which ends its poll.
#[derive(Default)]
pub struct DeferredPublish(Cell<usize>);

/// The task of the last turn waits to be published. No task has this number.
const DEFERRED: usize = usize::MAX;

impl DeferredPublish {
    /// The loop is going to poll this task. One that was deferred takes its place in the ring.
    #[inline]
    pub fn begin_turn(&self, task: NonZeroUsize) {
        self.0.set(task.get());
    }

    /// This task yielded, and was pushed behind the others in the ring. [`Publish::Later`] leaves it to the next turn.
    #[inline]
    pub fn pushed(&self, task: NonZeroUsize) -> Publish {
        if self.0.get() != task.get() {
            return Publish::Now;
        }
        self.0.set(DEFERRED);
        Publish::Later
    }

    /// Publishes the deferred task. The worker calls this before it does anything but take the head of its ring.
    #[inline]
    pub fn flush(&self, publish: impl FnOnce()) {
        if self.0.replace(0) == DEFERRED && !weakened!("executor-deferred-unflushed") {
            publish();
        }
    }
}

/// How many background tasks may run at once: permits, and the handshake between a push that finds none and a thread that gives one
/// back. The caller owns the queue: both sides pass what they know of it. The caller also passes how many permits there are at each
/// call, since the number changes with the pool.
#[derive(Default)]
pub struct Permits {
    taken: AtomicUsize,
}

impl Permits {
    /// Whether fewer than `permits` are taken. Valid after a fence.
    #[inline]
    pub fn is_free(&self, permits: usize) -> bool {
        // Ordering: Relaxed, after the caller's fence.
        self.taken.load(Ordering::Relaxed) < permits
    }

    /// Takes one, unless `permits` are taken.
    pub fn take(&self, permits: usize) -> bool {
        // Ordering: Relaxed, a count; the queue's own Release and Acquire carry the task.
        self.taken
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| {
                (taken < permits).then_some(taken + 1)
            })
            .is_ok()
    }

    /// Takes one in any case.
    pub fn take_anyway(&self) {
        // Ordering: Relaxed, a count, as in `take`.
        self.taken.fetch_add(1, Ordering::Relaxed);
    }

    /// Gives one back. The caller then looks at the queue and publishes what it finds, if a permit is free.
    pub fn give_back(&self) {
        // Ordering: Relaxed, ordered by the fence.
        let taken = self.taken.fetch_sub(1, Ordering::Relaxed);
        debug_assert!(
            taken > 0,
            "a permit was given back that no thread had taken"
        );
        // Fence pair: the one in `after_push`: either that sees the permit, or the caller sees the item.
        if !weakened!("executor-permit-back-fence") {
            light();
        }
    }

    /// Called after an item was queued. [`Publish::Later`] leaves the item to the thread that gives a permit back.
    pub fn after_push(&self, permits: usize) -> Publish {
        // Fence pair: the one in `give_back`.
        if !weakened!("executor-permit-push-fence") {
            light();
        }
        if self.is_free(permits) {
            Publish::Now
        } else {
            Publish::Later
        }
    }
}

/// Whether the watch looks after a pool, because a publish found all of its workers awake.
///
/// An awake worker mostly takes a published item when its current task returns. A worker that blocks its thread does
/// not. Perhaps no other worker looks either: its peers may be blocked, too, or wait for an event of their own. So such
/// a publish raises the pool's alarm. From then on the watch (`run::watch`) looks at the pool, until the pool has
/// been calm for a while.
///
/// ```text
/// publish:  item; F; no worker sleeps or searches -> alarm down -> raise it; raised by me -> tell the watch
/// searcher: token back; no worker sleeps and alarm down -> F; something takeable -> as a publish
/// watch:    calm for long -> alarm down; F; something takeable -> raise it again, unless a publisher has
/// ```
///
/// Of a publish and the watch that leaves, the later to fence sees the other.
pub struct Alarm(AtomicBool);

impl Alarm {
    /// Raised or not. A pool without workers keeps it raised: the watch cannot help it.
    #[must_use = "an alarm does nothing by itself"]
    pub fn new(raised: bool) -> Self {
        Self(AtomicBool::new(raised))
    }

    /// Whether it is raised; valid after a fence.
    #[inline]
    pub fn is_raised(&self) -> bool {
        // Ordering: Relaxed. The caller's fence pairs with the one in `lower`; the list of the
        // watch has a lock.
        self.0.load(Ordering::Relaxed)
    }

    /// Raises it. True if the caller raised it, and so has to tell the watch.
    #[must_use = "the watch has to be told"]
    pub fn raise(&self) -> bool {
        // Ordering: Relaxed, as in `is_raised`.
        !self.0.swap(true, Ordering::Relaxed)
    }

    /// For a pool that has got its first worker.
    pub fn reset(&self) {
        // Ordering: Relaxed; the workers that are being started look at everything before they sleep.
        self.0.store(false, Ordering::Relaxed);
    }

    /// The watch is going to leave; whether it may. `look` tells whether anything is takeable.
    #[must_use = "else the watch has to stay"]
    pub fn lower(&self, look: impl FnOnce() -> bool) -> bool {
        // Ordering: Relaxed, ordered by the fence.
        self.0.store(false, Ordering::Relaxed);
        // Fence pair: `light` in a publish: either it sees the alarm down, or `look` sees its item.
        if !weakened!("executor-alarm-fence") {
            heavy();
        }
        // A publisher that has raised it since has told the watch anew.
        !look() || !self.raise()
    }
}

/// What a look at a place of work shows, ordered by how much it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sight {
    /// No task.
    Nothing,
    /// A task that its runner or waiter is expected to take. A sentinel has to watch it, and takes
    /// it if it stands still.
    Covered,
    /// A task that the looker may take now.
    Ready,
}

impl Sight {
    /// `Covered` if `full`, else `Nothing`.
    #[inline]
    #[must_use = "the call only reads a value"]
    pub fn covered_if(full: bool) -> Self {
        if full { Self::Covered } else { Self::Nothing }
    }

    /// `Ready` if `full`, else `Nothing`.
    #[inline]
    #[must_use = "the call only reads a value"]
    pub fn ready_if(full: bool) -> Self {
        if full { Self::Ready } else { Self::Nothing }
    }

    /// Whether it counts as takeable work for the sleeping protocol: covered work does while no sentinel watches. Valid
    /// after a fence.
    #[inline]
    #[must_use = "the call only answers a question"]
    pub fn is_takeable(self, idle: &Idle) -> bool {
        match self {
            Self::Nothing => false,
            Self::Covered => !idle.has_sentinel() && !weakened!("executor-covered-never-takeable"),
            Self::Ready => true,
        }
    }
}

/// News for every thread that waits: the number of the last announcement, which tells readers whether there is any, and how they are woken.
///
/// ```text
/// announce:  the news is written; number up; subscribers, under their lock; notify each
/// reader:    subscribe, under the same lock; loop { number is another -> read the news; else sleep until notified }
/// ```
///
/// `announce` notifies a reader that subscribed before it took the lock; a reader that subscribes later sees the number. A reader that
/// never sleeps need not subscribe.
pub struct Broadcast<T> {
    number: AtomicUsize,
    subscribers: Mutex<Vec<T>>,
}

impl<T> Broadcast<T> {
    terrace_sync::const_fn! {
        /// No announcement yet, and no subscriber.
        #[must_use = "a count does nothing until it is shared"]
        pub const fn new() -> Self {
            Self { number: AtomicUsize::new(0), subscribers: Mutex::new(Vec::new()) }
        }
    }

    /// The number of the last announcement. A reader that sees it sees what was written before it.
    #[inline]
    pub fn number(&self) -> usize {
        // Ordering: Acquire, pairs with the Release in `announce`.
        self.number.load(if weakened!("executor-broadcast-number") {
            Ordering::Relaxed
        } else {
            Ordering::Acquire
        })
    }

    /// Adds a subscriber, and forgets those that `is_gone`. One lock.
    pub fn subscribe(&self, subscriber: T, is_gone: impl Fn(&T) -> bool) {
        let mut subscribers = self.subscribers.lock();
        subscribers.retain(|subscriber| !is_gone(subscriber));
        subscribers.push(subscriber);
    }

    /// Raises the number, and calls `notify` for every subscriber that `reach` finds. The calls run outside of the
    /// lock.
    pub fn announce<N>(&self, reach: impl Fn(&T) -> Option<N>, notify: impl Fn(N)) {
        if !weakened!("executor-broadcast-late") {
            self.raise();
        }
        let reached: Vec<N> = self.subscribers.lock().iter().filter_map(reach).collect();
        reached.into_iter().for_each(notify);
        if weakened!("executor-broadcast-late") {
            self.raise();
        }
    }

    fn raise(&self) {
        // Ordering: Release, pairs with the Acquire in `number`.
        self.number.fetch_add(1, Ordering::Release);
    }
}

impl<T> Default for Broadcast<T> {
    fn default() -> Self {
        Self::new()
    }
}
