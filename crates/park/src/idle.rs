//! The type that holds every group, and the view of the work that it asks the caller for.

use terrace_sync::CachePadded;
use terrace_sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::drivers::Drivers;
use crate::group::{GROUP_CAPACITY, Group, GroupConfig};
use crate::word::bits_of;

/// What a worker that is about to sleep, or to stop searching, asks about the work there is.
///
/// Every method is called after a full fence of this crate: relaxed loads suffice. They are called
/// with a bit of the worker set, so they must not block, run user code, or call [`Idle`].
pub trait Work {
    /// Whether work of any of `lanes` is visible that a worker serving them may take: in rings (the
    /// caller's own included), shared queues with a permit free, fork deques, and so on. Work that only one
    /// given worker may run belongs into [`inlet`](Self::inlet). May answer `true` in vain, never `false` in vain.
    fn takeable(&self, lanes: u32) -> bool;

    /// Whether something is there that only `worker` can act on: its pinned inbox, a stop flag.
    fn inlet(&self, worker: usize) -> bool;
}

impl<W: Work + ?Sized> Work for &W {
    fn takeable(&self, lanes: u32) -> bool {
        (**self).takeable(lanes)
    }

    fn inlet(&self, worker: usize) -> bool {
        (**self).inlet(worker)
    }
}

/// Who sleeps, who searches, and whom to wake. See the [crate docs](crate).
///
/// Workers are numbered from 0 over all groups, in the order of the [`GroupConfig`]s. A number is
/// used by one thread at a time, from [`enter`](Self::enter) to [`leave`](Self::leave); only that thread calls the
/// methods that say so. Breaking this rule loses wakes, yet never memory safety.
pub struct Idle {
    pub(crate) first: Box<[Group]>,
    /// For each worker of the first groups its group and its bit there.
    places: Box<[Place]>,
    /// Groups added later, each of [`GROUP_CAPACITY`]: a list that only grows.
    pub(crate) grown: AtomicPtr<Group>,
    /// Async drivers.
    pub(crate) drivers: Drivers,
    /// 0, or the number of the guard plus one.
    pub(crate) guard: CachePadded<AtomicUsize>,
}

/// Where a worker's bits are.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) group: usize,
    pub(crate) bit: u32,
}

impl Idle {
    /// An `Idle` whose workers are those of all `configs`, in order. Nobody is live yet.
    pub fn new(configs: &[GroupConfig]) -> Self {
        let groups = Group::split(configs);
        let places = groups
            .iter()
            .enumerate()
            .flat_map(|(group, g)| (0..g.seats.len() as u32).map(move |bit| Place { group, bit }))
            .collect();
        Self {
            first: groups.into(),
            places,
            grown: AtomicPtr::new(std::ptr::null_mut()),
            drivers: Drivers::new(),
            guard: CachePadded::new(AtomicUsize::new(0)),
        }
    }

    /// An `Idle` for `workers` workers (spares included) that all serve lane mask 1.
    pub fn with_workers(workers: usize) -> Self {
        Self::new(&[GroupConfig { workers, lanes: 1 }])
    }

    /// The number of places for workers, spares included.
    pub fn capacity(&self) -> usize {
        self.places.len() + GROUP_CAPACITY * (self.groups().count() - self.first.len())
    }

    /// The lanes that `worker` serves.
    pub fn lanes_of(&self, worker: usize) -> u32 {
        self.place(worker).0.lanes
    }

    /// Whether a worker of `lanes` is parked: a hint (one relaxed load a group, no fence), good for
    /// deciding whether a publish is worth its fence where a missed wake costs speed alone.
    pub fn any_parked(&self, lanes: u32) -> bool {
        self.serving(lanes)
            .any(|group| group.load(Ordering::Relaxed).parked() != 0)
    }

    /// The number of parked workers of `lanes`: a hint, for metrics and tests.
    pub fn parked(&self, lanes: u32) -> usize {
        self.serving(lanes)
            .map(|group| group.load(Ordering::Relaxed).parked().count_ones() as usize)
            .sum()
    }

    /// The number of tokens in existence: a hint, for metrics and tests.
    pub fn searching(&self) -> usize {
        self.groups()
            .map(|group| group.load(Ordering::Relaxed).searching() as usize)
            .sum()
    }

    /// Whether `worker` sleeps in a restricted wait: a hint (one relaxed load, no fence).
    pub fn is_restricted(&self, worker: usize) -> bool {
        let (group, place) = self.place(worker);
        group.load(Ordering::Relaxed).is_restricted(place.bit)
    }

    pub(crate) fn place(&self, worker: usize) -> (&Group, Place) {
        match self.places.get(worker) {
            Some(&place) => (&self.first[place.group], place),
            None => self.grown_place(worker),
        }
    }

    #[cold]
    fn grown_place(&self, worker: usize) -> (&Group, Place) {
        let later = worker - self.places.len();
        let place = Place {
            group: self.first.len() + later / GROUP_CAPACITY,
            bit: (later % GROUP_CAPACITY) as u32,
        };
        (self.group(place.group), place)
    }

    /// All groups, oldest first.
    #[inline]
    pub(crate) fn groups(&self) -> impl Iterator<Item = &Group> {
        self.first
            .iter()
            .chain(std::iter::successors(follow(&self.grown), |group| {
                follow(&group.next)
            }))
    }

    /// The group with this number.
    pub(crate) fn group(&self, number: usize) -> &Group {
        match self.first.get(number) {
            Some(group) => group,
            None => self
                .groups()
                .nth(number)
                .expect("a worker's group was added before"),
        }
    }

    /// The groups that serve any of `lanes`.
    pub(crate) fn serving(&self, lanes: u32) -> impl Iterator<Item = &Group> {
        self.groups().filter(move |group| group.lanes & lanes != 0)
    }
}

/// The group that `link` leads to.
#[inline]
pub(crate) fn follow(link: &AtomicPtr<Group>) -> Option<&Group> {
    // Ordering: Acquire pairs with the Release in `ensure`. A publisher that misses a group after its fence has fenced
    // before the group's workers do, who then see its item.
    let group = link.load(Ordering::Acquire);
    // SAFETY: a group in the list is initialised, only shared, and freed with the `Idle`.
    unsafe { group.as_ref() }
}

/// Each lane of `lanes` as a mask of its own.
pub(crate) fn each_lane(lanes: u32) -> impl Iterator<Item = u32> {
    bits_of(lanes).map(|lane| 1 << lane)
}

impl std::fmt::Debug for Idle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut list = f.debug_list();
        for group in self.groups() {
            list.entry(&format_args!(
                "lanes {:#x} live {:024b} {:?}",
                group.lanes,
                group.live.load(Ordering::Relaxed),
                group.load(Ordering::Relaxed)
            ));
        }
        list.finish()
    }
}
