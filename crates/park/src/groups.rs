//! All groups of one [`Idle`](crate::Idle): those it began with, and a list of later ones that only grows.

use std::ptr;

use terrace_sync::atomic::{AtomicPtr, Ordering};

use crate::group::Group;
use crate::word::{GROUP_CAPACITY, WIDE};

/// The groups. Worker `w` has bit `w % GROUP_CAPACITY` of group `w / GROUP_CAPACITY`.
pub(crate) struct Groups {
    pub(crate) first: Box<[Group]>,
    /// Groups added later.
    grown: AtomicPtr<Group>,
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
            grown: AtomicPtr::new(ptr::null_mut()),
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
        while self.iter().count() * GROUP_CAPACITY <= worker {
            // Before the new group's workers can sleep, every older group has `W` set; see `Idle::driver`.
            self.widen();
            let mut link = &self.grown;
            while let Some(group) = follow(link) {
                link = &group.next;
            }
            // This counts after the walk: if another thread adds a group behind `link` before the count, the exchange
            // fails.
            let number = self.iter().count();
            if worker < number * GROUP_CAPACITY {
                // Another thread has added it since the loop's look.
                return;
            }
            let new = Box::into_raw(Box::new(Group::new(number, WIDE)));
            // Ordering: Release pairs with the Acquire in `follow`.
            let added =
                link.compare_exchange(ptr::null_mut(), new, Ordering::Release, Ordering::Relaxed);
            if added.is_err() {
                // SAFETY: it came from `Box::into_raw` above, and the failed exchange has shown it to no other thread.
                drop(unsafe { Box::from_raw(new) });
            }
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

impl Drop for Groups {
    fn drop(&mut self) {
        // Ordering: Relaxed, `&mut self` excludes all other threads.
        let mut next = self.grown.load(Ordering::Relaxed);
        while !next.is_null() {
            // SAFETY: the pointer came from `Box::into_raw` in `ensure`, and no borrow of a group outlives the list.
            let group = unsafe { Box::from_raw(next) };
            next = group.next.load(Ordering::Relaxed);
        }
    }
}

/// The group that `link` leads to.
#[inline]
fn follow(link: &AtomicPtr<Group>) -> Option<&Group> {
    // Ordering: Acquire pairs with the Release in `ensure`. If a publisher misses a group after its fence, the group's
    // workers fence later and see its item.
    let group = link.load(Ordering::Acquire);
    // SAFETY: `ensure` put it there initialised, threads only share it, and the drop of the list frees it.
    unsafe { group.as_ref() }
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
