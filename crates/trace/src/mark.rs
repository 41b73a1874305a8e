//! What a cell keeps of its task for the timeline.

use core::panic::Location;

#[cfg(all(feature = "timeline", not(any(terrace_loom, terrace_shuttle))))]
use on as inner;

#[cfg(not(all(feature = "timeline", not(any(terrace_loom, terrace_shuttle)))))]
use off as inner;

/// A task, as the timeline knows it: its number and where it was spawned. No bytes and no code without the feature `timeline`.
#[derive(Clone, Copy, Debug)]
pub struct Mark(inner::Mark);

impl Mark {
    /// A task that no spawn has announced.
    pub const UNKNOWN: Self = Self(inner::UNKNOWN);

    /// A new task, whose future or closure is an `F`, is spawned by the calling thread, at the line that called the caller.
    #[inline(always)]
    #[cfg_attr(feature = "timeline", track_caller)]
    #[must_use]
    pub fn spawned<F: ?Sized>() -> Self {
        Self(inner::spawned(core::any::type_name::<F>()))
    }

    /// The calling thread has woken the task, and queues it next.
    #[inline(always)]
    pub fn woken(self) {
        inner::woken(self.0);
    }

    /// The calling thread has polled the task, and queues it next: a waker has woken it in the poll.
    #[inline(always)]
    pub fn woken_in_poll(self) {
        inner::woken_in_poll(self.0);
    }

    /// The task goes into a lane before all others if `high`, else into the one behind all others.
    #[inline(always)]
    pub fn queued_on_lane(self, high: bool) {
        inner::queued_on_lane(self.0, high);
    }

    /// The calling thread polls the task until the result is dropped.
    #[inline(always)]
    pub fn polls(self) -> Polling {
        inner::polls(self.0);
        Polling(self)
    }
}

/// A line of the program that spawns, for calls that spawn in closures. No bytes and no code without the feature `timeline`.
#[derive(Clone, Copy, Debug)]
pub struct Caller(inner::Caller);

/// The calling thread spawns for a [`Caller`] until this is dropped.
#[derive(Debug)]
#[must_use = "it ends when it is dropped"]
pub struct Spawns {
    _until: inner::Spawns,
}

impl Caller {
    /// No line of the program.
    pub const UNKNOWN: Self = Self(inner::NOWHERE);

    /// The line that called the caller.
    #[inline(always)]
    #[cfg_attr(feature = "timeline", track_caller)]
    #[must_use]
    pub fn here() -> Self {
        Self(inner::here())
    }

    /// What the calling thread spawns until the result is dropped was spawned at this line. A future that a closed executor refuses is
    /// dropped meanwhile; what its destructor spawns counts for this line, too.
    #[inline(always)]
    pub fn spawns(self) -> Spawns {
        Spawns {
            _until: inner::spawns(self.0),
        }
    }
}

/// The line that spawns: the one that called the caller, or that of the [`Caller`] for which it does so.
#[cfg(all(feature = "timeline", not(any(terrace_loom, terrace_shuttle))))]
#[track_caller]
pub fn spawn_site() -> &'static Location<'static> {
    inner::site(Location::caller())
}

/// The poll of a task, until this is dropped.
#[derive(Debug)]
#[must_use = "the poll ends when it is dropped"]
pub struct Polling(Mark);

impl Drop for Polling {
    #[inline(always)]
    fn drop(&mut self) {
        inner::polled(self.0.0);
    }
}

/// The task that the thread polls has this name, which was given at this line.
#[inline(always)]
pub fn polls_named(name: &str, location: &'static Location<'static>) {
    inner::polls_named(name, location);
}

#[cfg(all(feature = "timeline", not(any(terrace_loom, terrace_shuttle))))]
mod on {
    use core::cell::Cell;
    use core::panic::Location;

    use crate::timeline::record::{Kind, task};
    use crate::timeline::sites;
    use crate::timeline::threads::{number, record};

    /// The payload of the task's records.
    pub(super) type Mark = u64;

    pub(super) const UNKNOWN: Mark = 0;

    #[inline]
    #[track_caller]
    pub(super) fn spawned(name: &'static str) -> Mark {
        let site = sites::of_type(site(Location::caller()), name);
        let mark = task(number(), site);
        record(Kind::Spawned, mark);
        mark
    }

    pub(super) type Caller = &'static Location<'static>;

    pub(super) const NOWHERE: Caller = Location::caller();

    terrace_sync::thread_local! {
        /// For whose line the thread spawns, if a call spawns in a closure.
        static FOR: Cell<Option<Caller>> = const { Cell::new(None) };
    }

    #[inline]
    #[track_caller]
    pub(super) fn here() -> Caller {
        site(Location::caller())
    }

    /// The line for which the thread spawns, or this one.
    #[inline]
    pub(super) fn site(caller: Caller) -> Caller {
        FOR.try_with(Cell::get).ok().flatten().unwrap_or(caller)
    }

    /// Puts back what was there before.
    #[derive(Debug)]
    pub(super) struct Spawns(Option<Caller>);

    impl Drop for Spawns {
        fn drop(&mut self) {
            let _gone = FOR.try_with(|cell| cell.set(self.0));
        }
    }

    pub(super) fn spawns(caller: Caller) -> Spawns {
        let before = FOR.try_with(|cell| cell.replace(Some(caller)));
        Spawns(before.ok().flatten())
    }

    #[inline]
    pub(super) fn woken(mark: Mark) {
        record(Kind::Woken, mark);
    }

    #[inline]
    pub(super) fn woken_in_poll(mark: Mark) {
        record(Kind::WokenInPoll, mark);
    }

    #[inline]
    pub(super) fn queued_on_lane(mark: Mark, high: bool) {
        let kind = if high {
            Kind::QueuedHigh
        } else {
            Kind::QueuedBackground
        };
        record(kind, mark);
    }

    #[inline]
    pub(super) fn polls(mark: Mark) {
        record(Kind::Poll, mark);
    }

    #[inline]
    pub(super) fn polled(mark: Mark) {
        record(Kind::PollEnd, mark);
    }

    pub(super) fn polls_named(name: &str, location: &'static Location<'static>) {
        match sites::of_name(location, name) {
            0 => {}
            site => record(Kind::Name, task(0, site)),
        }
    }
}

#[cfg(not(all(feature = "timeline", not(any(terrace_loom, terrace_shuttle)))))]
mod off {
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Mark;

    pub(super) const UNKNOWN: Mark = Mark;

    #[inline(always)]
    pub(super) fn spawned(_: &str) -> Mark {
        Mark
    }

    #[derive(Clone, Copy, Debug)]
    pub(super) struct Caller;

    pub(super) const NOWHERE: Caller = Caller;

    #[inline(always)]
    pub(super) fn here() -> Caller {
        Caller
    }

    #[derive(Debug)]
    pub(super) struct Spawns;

    #[inline(always)]
    pub(super) fn spawns(_: Caller) -> Spawns {
        Spawns
    }

    #[inline(always)]
    pub(super) fn woken(_: Mark) {}

    #[inline(always)]
    pub(super) fn woken_in_poll(_: Mark) {}

    #[inline(always)]
    pub(super) fn queued_on_lane(_: Mark, _: bool) {}

    #[inline(always)]
    pub(super) fn polls(_: Mark) {}

    #[inline(always)]
    pub(super) fn polled(_: Mark) {}

    #[inline(always)]
    pub(super) fn polls_named(_: &str, _: &'static core::panic::Location<'static>) {}
}
