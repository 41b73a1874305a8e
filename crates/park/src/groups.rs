//! All groups of one [`Idle`](crate::Idle): those it began with, and a list of later ones that only grows.

use terrace_sync::OnceLock;
use terrace_sync::atomic::Ordering;

use crate::group::Group;
use crate::word::{GROUP_CAPACITY, WIDE};

/// The groups. Worker `w` has bit `w % GROUP_CAPACITY` of group `w / GROUP_CAPACITY`.
pub(crate) struct Groups {
    pub(crate) first: Box<[Group]>,
    /// Groups added later.
    grown: OnceLock<Box<Group>>,
}

/// Where a worker's bits are.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) group: usize,
    pub(crate) bit: u32,
}

impl Groups {
    /// Groups with places for at least so many workers.
    pub(crate) fn new(workers: usize) -> Self {
        let count = workers.div_ceil(GROUP_CAPACITY);
        let word = if count > 1 { WIDE } else { 0 };
        Self {
            first: (0..count).map(|number| Group::new(number, word)).collect(),
            grown: OnceLock::new(),
        }
    }

    /// All groups, oldest first.
    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Group> {
        let grown = std::iter::successors(follow(&self.grown), |group| follow(&group.next));
        self.first.iter().chain(grown)
    }

    /// The group of a worker, and where its bits are.
    pub(crate) fn place(&self, worker: usize) -> (&Group, Place) {
        // Most pools have one group: a comparison is less than a division.
        let (group, bit) = if worker < GROUP_CAPACITY {
            (0, worker)
        } else {
            (worker / GROUP_CAPACITY, worker % GROUP_CAPACITY)
        };
        let place = Place {
            group,
            bit: bit as u32,
        };
        (self.get(place.group), place)
    }

    /// The group with this number.
    pub(crate) fn get(&self, number: usize) -> &Group {
        match self.first.get(number) {
            Some(group) => group,
            None => self.get_added(number),
        }
    }

    #[cold]
    fn get_added(&self, number: usize) -> &Group {
        self.iter()
            .nth(number)
            .expect("the worker has no place: call Idle::ensure with its number first")
    }

    /// Adds groups until there is a place for `worker`.
    pub(crate) fn ensure(&self, worker: usize) {
        let mut link = &self.grown;
        for number in self.first.len()..=worker / GROUP_CAPACITY {
            let group = link.get_or_init(|| {
                // Before the new group's workers can sleep, every older group has `W` set; see `Idle::driver`.
                self.widen();
                Box::new(Group::new(number, WIDE))
            });
            link = &group.next;
        }
    }

    /// Sets `W` in every group: sleepers may be outside its word.
    pub(crate) fn widen(&self) {
        for group in self.iter() {
            // Ordering: AcqRel as for every change of the word.
            unless_weakened!("park-wide", group.set(WIDE, Ordering::AcqRel));
        }
    }
}

/// The group that `link` leads to. If a publisher misses a group after its fence, the group's workers fence later and see its item.
#[inline]
fn follow(link: &OnceLock<Box<Group>>) -> Option<&Group> {
    link.get().map(|group| &**group)
}

#[cfg(test)]
mod tests {
    use terrace_testing::watchdog;

    use super::*;

    #[test]
    fn numbers_are_spread_over_groups() {
        let groups = Groups::new(GROUP_CAPACITY + 1);
        assert_eq!(groups.first.len(), 2);
        assert!(
            groups
                .iter()
                .all(|group| group.load(Ordering::Relaxed).is_wide())
        );
        for worker in [0, GROUP_CAPACITY - 1, GROUP_CAPACITY] {
            let (group, place) = groups.place(worker);
            assert_eq!(group.base + place.bit as usize, worker);
            assert_eq!(place.group, worker / GROUP_CAPACITY);
        }
        let one = Groups::new(GROUP_CAPACITY);
        assert!(!one.get(0).load(Ordering::Relaxed).is_wide());
        one.ensure(GROUP_CAPACITY);
        assert!(
            one.iter()
                .all(|group| group.load(Ordering::Relaxed).is_wide())
        );
    }

    #[test]
    fn groups_that_are_added_at_once_have_numbers_of_their_own() {
        let _watchdog = watchdog();
        for _ in 0..200 {
            let groups = Groups::new(1);
            std::thread::scope(|scope| {
                for last in 1..8 {
                    let groups = &groups;
                    scope.spawn(move || groups.ensure(last * GROUP_CAPACITY));
                }
            });
            let bases: Vec<_> = groups.iter().map(|group| group.base).collect();
            assert_eq!(bases, [0, 1, 2, 3, 4, 5, 6, 7].map(|n| n * GROUP_CAPACITY));
        }
    }
}
