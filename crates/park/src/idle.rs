//! [`Idle`]: the state of all sleepers and searchers. [`Work`]: its questions to the caller about visible work.

use terrace_sync::atomic::Ordering;

use crate::drivers::Drivers;
use crate::flag::Flags;
use crate::group::Group;
use crate::groups::Groups;

/// The questions about visible work that `Idle` asks before a worker sleeps or stops searching.
///
/// [`Idle`] calls every method after a full fence of its own, so relaxed loads suffice. It calls them with a bit of the
/// worker set: they must not block, run user code, or call `Idle`.
/// The [crate docs](crate) have an example.
pub trait Work {
    /// Whether work is visible that any worker may take: in rings (the caller's own included), or in shared queues with
    /// a free permit. Work that only one given worker may run belongs into
    /// [`has_private_work`](Self::has_private_work). A wrong `true` costs a vain search; a wrong `false` loses a wake.
    /// The [crate docs](crate) have an example.
    fn takeable(&self) -> bool;

    /// Whether there is work or news that only `worker` can act on: its pinned inbox, a stop flag.
    /// The [crate docs](crate) have an example.
    fn has_private_work(&self, worker: usize) -> bool;

    /// Work is visible, no worker is parked or searches, and the worker that saw the work sleeps on, as its place is held. An executor that
    /// looks after work which stands still can do so now.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use terrace_park::{Idle, Woken, Work};
    /// use terrace_sync::atomic::{AtomicBool, Ordering};
    ///
    /// #[derive(Default)]
    /// struct Queue {
    ///     item: AtomicBool,
    ///     is_unattended: AtomicBool,
    /// }
    ///
    /// impl Work for Queue {
    ///     fn takeable(&self) -> bool {
    ///         self.item.load(Ordering::Relaxed)
    ///     }
    ///     fn has_private_work(&self, _: usize) -> bool {
    ///         false
    ///     }
    ///     fn unattended(&self) {
    ///         self.is_unattended.store(true, Ordering::Relaxed);
    ///     }
    /// }
    ///
    /// let (idle, queue) = (Idle::new(1), Queue::default());
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         let token = idle.enter(0);
    ///         let sleeps = std::iter::from_fn(|| (!queue.takeable()).then_some(Duration::from_millis(1)));
    ///         let woken = idle.park_as_sentinel(0, token, &queue, sleeps);
    ///         let (Woken::Unparked(token) | Woken::TimedOut(token)) = woken.unwrap();
    ///         idle.leave(0, token, &queue);
    ///     });
    ///     while !idle.any_parked() {
    ///         std::thread::yield_now();
    ///     }
    ///     let held = idle.hold(&queue).expect("it is parked");
    ///     // The sentinel sees the item. It cannot get up, as this thread has its place.
    ///     queue.item.store(true, Ordering::Relaxed);
    ///     while !queue.is_unattended.load(Ordering::Relaxed) {
    ///         std::thread::yield_now();
    ///     }
    ///     idle.unhold(held, &queue);
    /// });
    /// ```
    fn unattended(&self) {}
}

/// Which workers sleep, which search, and which one a publisher wakes. See the [crate docs](crate).
///
/// Workers are numbered from 0. One thread at a time uses a number, from [`enter`](Self::enter) to
/// [`leave`](Self::leave); only that thread calls the methods that say so. A program that breaks this rule loses wakes, yet
/// never memory safety.
///
/// # Examples
///
/// ```
/// use terrace_park::{Doing, Idle, Wake, Work};
///
/// struct Nothing;
///
/// impl Work for Nothing {
///     fn takeable(&self) -> bool {
///         false
///     }
///     fn has_private_work(&self, _: usize) -> bool {
///         false
///     }
/// }
///
/// let idle = Idle::new(1);
/// let token = idle.enter(0);
/// // A worker that searches will find the item, so the publish wakes no thread.
/// assert_eq!((idle.publish(), idle.doing(0)), (Wake::Covered, Doing::Awake));
/// idle.leave(0, token, &Nothing);
/// assert_eq!((idle.publish(), idle.doing(0)), (Wake::NoneParked, Doing::Absent));
/// ```
#[doc(alias("Sleep", "sleepers"))]
pub struct Idle {
    pub(crate) groups: Groups,
    /// Async drivers.
    pub(crate) drivers: Drivers,
    /// Which workers are sentinels.
    pub(crate) flags: Flags,
}

impl Idle {
    /// An `Idle` with places for `workers` workers, spares included; [`ensure`](Self::ensure) adds more. No worker is live yet.
    ///
    /// Places come in groups of [`GROUP_CAPACITY`](crate::GROUP_CAPACITY). Methods that take the number of a worker panic if it has no place.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_park::{Doing, Idle};
    ///
    /// let idle = Idle::new(4);
    /// assert_eq!((idle.awake(), idle.doing(3)), (0, Doing::Absent));
    /// ```
    #[must_use = "it wakes nobody until workers park"]
    pub fn new(workers: usize) -> Self {
        Self {
            groups: Groups::new(workers),
            drivers: Drivers::new(),
            flags: Flags::new(),
        }
    }

    /// Whether a worker is parked: a hint (one relaxed load a group, no fence). It can decide whether a publish is worth its
    /// fence where a missed wake costs speed alone.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_park::Idle;
    ///
    /// # struct Nothing;
    /// # impl terrace_park::Work for Nothing {
    /// #     fn takeable(&self) -> bool { false }
    /// #     fn has_private_work(&self, _: usize) -> bool { false }
    /// # }
    /// let idle = Idle::new(1);
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         let token = idle.enter(0);
    ///         let token = idle.park(0, token, &Nothing);
    ///         // The worker is awake, and searches.
    ///         idle.leave(0, token, &Nothing);
    ///     });
    ///     while !idle.any_parked() {
    ///         std::thread::yield_now();
    ///     }
    ///     // Here a publish is worth its fence.
    ///     assert!(idle.any_parked());
    ///     idle.publish();
    /// });
    /// ```
    pub fn any_parked(&self) -> bool {
        self.groups
            .iter()
            .any(|group| group.load(Ordering::Relaxed).parked() != 0)
    }

    /// Whether the thread that last woke `worker`, which calls this, was then on the processor on which that worker is now: a
    /// hint. While the worker searches for that thread's next item, it would only keep the thread off its processor.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_park::Idle;
    ///
    /// # struct Nothing;
    /// # impl terrace_park::Work for Nothing {
    /// #     fn takeable(&self) -> bool { false }
    /// #     fn has_private_work(&self, _: usize) -> bool { false }
    /// # }
    /// let idle = Idle::new(1);
    /// let token = idle.enter(0);
    /// assert!(!idle.shares_processor(0), "no thread has woken the worker");
    /// idle.leave(0, token, &Nothing);
    /// ```
    #[inline]
    pub fn shares_processor(&self, worker: usize) -> bool {
        let (group, place) = self.groups.place(worker);
        group.shares_processor(place.bit)
    }

    /// Whether a worker sleeps in a restricted wait, or the holder of a place does: a hint (two relaxed loads a group, no fence).
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_park::{Idle, Restricted};
    ///
    /// # struct Nothing;
    /// # impl terrace_park::Work for Nothing {
    /// #     fn takeable(&self) -> bool { false }
    /// #     fn has_private_work(&self, _: usize) -> bool { false }
    /// # }
    /// let idle = Idle::new(1);
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         let token = idle.enter(0);
    ///         idle.stop_search(token, &Nothing);
    ///         assert_eq!(idle.wait_restricted(0, &Nothing, || false), Restricted::Woken);
    ///         idle.leave(0, None, &Nothing);
    ///     });
    ///     while !idle.any_restricted() {
    ///         std::thread::yield_now();
    ///     }
    ///     assert!(idle.wake_worker(0));
    /// });
    /// ```
    pub fn any_restricted(&self) -> bool {
        let waits = |group: &Group| group.waiting(group.load(Ordering::Relaxed)) != 0;
        self.groups.iter().any(waits)
    }

    /// The number of tokens in existence: a hint.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_park::Idle;
    ///
    /// # struct Nothing;
    /// # impl terrace_park::Work for Nothing {
    /// #     fn takeable(&self) -> bool { false }
    /// #     fn has_private_work(&self, _: usize) -> bool { false }
    /// # }
    /// let idle = Idle::new(2);
    /// let token = idle.enter(0);
    /// assert_eq!(idle.searching(), 1);
    /// idle.stop_search(token, &Nothing);
    /// assert_eq!(idle.searching(), 0);
    /// # idle.leave(0, None, &Nothing);
    /// ```
    pub fn searching(&self) -> usize {
        self.groups
            .iter()
            .map(|group| group.load(Ordering::Relaxed).searching() as usize)
            .sum()
    }

    /// Live workers that neither park nor wait restricted: those that run or search. A hint: workers that come, go, sleep or
    /// wake during the call may be counted or not. A held place counts as its holder does. Some relaxed loads a group.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_park::Idle;
    ///
    /// # struct Nothing;
    /// # impl terrace_park::Work for Nothing {
    /// #     fn takeable(&self) -> bool { false }
    /// #     fn has_private_work(&self, _: usize) -> bool { false }
    /// # }
    /// let idle = Idle::new(1);
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         let token = idle.enter(0);
    ///         let token = idle.park(0, token, &Nothing);
    ///         // The worker is awake, and searches.
    ///         idle.leave(0, token, &Nothing);
    ///     });
    ///     while !idle.any_parked() {
    ///         std::thread::yield_now();
    ///     }
    ///     assert_eq!(idle.awake(), 0);
    ///     idle.unpark_all();
    /// });
    /// ```
    pub fn awake(&self) -> usize {
        self.groups
            .iter()
            .map(|group| {
                let live = group.live();
                let word = group.load(Ordering::Relaxed);
                (live & !(word.parked() | group.waiting(word))).count_ones() as usize
            })
            .sum()
    }

    /// The number of async drivers, and of those asleep: a hint.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::task::Waker;
    /// use terrace_park::Idle;
    ///
    /// let idle = Idle::new(0);
    /// let (mut one, _two) = (idle.driver(), idle.driver());
    /// one.sleep(Waker::noop());
    /// assert_eq!(idle.driver_count(), (2, 1));
    /// ```
    pub fn driver_count(&self) -> (usize, usize) {
        self.drivers.count()
    }

    /// Whether a worker is a sentinel. Exact if asked after a fence.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_park::{Idle, Wake, Woken};
    ///
    /// # struct Nothing;
    /// # impl terrace_park::Work for Nothing {
    /// #     fn takeable(&self) -> bool { false }
    /// #     fn has_private_work(&self, _: usize) -> bool { false }
    /// # }
    /// use std::time::Duration;
    ///
    /// let idle = Idle::new(1);
    /// let token = idle.enter(0);
    /// // The iterator is asked while the worker is a sentinel.
    /// let sleeps = std::iter::from_fn(|| {
    ///     assert!(idle.has_sentinel());
    ///     None::<Duration>
    /// });
    /// let Ok(Woken::TimedOut(token)) = idle.park_as_sentinel(0, token, &Nothing, sleeps) else {
    ///     panic!("no other thread wakes it");
    /// };
    /// assert!(!idle.has_sentinel());
    /// idle.leave(0, token, &Nothing);
    /// ```
    pub fn has_sentinel(&self) -> bool {
        self.flags.any_up()
    }
}

impl std::fmt::Debug for Idle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut list = f.debug_list();
        for group in self.groups.iter() {
            list.entry(&format_args!(
                "live {:024b} {:?}",
                group.live(),
                group.load(Ordering::Relaxed)
            ));
        }
        list.finish()
    }
}
