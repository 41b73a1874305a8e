//! What a cell keeps of its task for the timeline.

/// A task, as the timeline knows it: its number and where it was spawned. No bytes and no code without the feature `timeline`.
///
/// # Examples
///
/// ```
/// use terrace_trace::Mark;
///
/// struct Dishes;
///
/// let mark = Mark::spawned::<Dishes>();
/// let poll = mark.polls();
/// // The thread polls the task.
/// drop(poll);
/// mark.woken();
/// drop(mark.polls());
/// # #[cfg(feature = "timeline")] {
/// let mut json = Vec::new();
/// terrace_trace::timeline::snapshot().write_chrome(&mut json)?;
/// let json = String::from_utf8(json)?;
/// assert!(json.contains("Dishes") && json.contains(r#""why":"woken""#));
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Mark(inner::Mark);

impl Mark {
    /// A task that no spawn has announced.
    pub const UNKNOWN: Self = Self(inner::UNKNOWN);

    /// A new task, whose future or closure is an `F`, is spawned by the calling thread, at the line that called the caller.
    /// The [type](Self) has an example.
    #[inline(always)]
    #[cfg_attr(feature = "timeline", track_caller)]
    #[must_use = "a mark does nothing until an event has it"]
    pub fn spawned<F: ?Sized>() -> Self {
        Self(inner::spawned(core::any::type_name::<F>()))
    }

    /// The calling thread has woken the task, and queues it next. The [type](Self) has an example.
    #[inline(always)]
    pub fn woken(self) {
        record!(Woken, self.0);
    }

    /// The calling thread has polled the task, and queues it next: a waker has woken it in the poll.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_trace::Mark;
    ///
    /// let mark = Mark::spawned::<u32>();
    /// drop(mark.polls());
    /// mark.woken_in_poll();
    /// drop(mark.polls());
    /// # #[cfg(feature = "timeline")] {
    /// let mut json = Vec::new();
    /// terrace_trace::timeline::snapshot().write_chrome(&mut json)?;
    /// assert!(String::from_utf8(json)?.contains(r#""why":"woken in its own poll""#));
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline(always)]
    pub fn woken_in_poll(self) {
        record!(WokenInPoll, self.0);
    }

    /// The task goes into a lane before all others if `high`, else into the one behind all others.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_trace::Mark;
    ///
    /// let mark = Mark::spawned::<u32>();
    /// mark.queued_on_lane(true);
    /// drop(mark.polls());
    /// # #[cfg(feature = "timeline")] {
    /// let mut json = Vec::new();
    /// terrace_trace::timeline::snapshot().write_chrome(&mut json)?;
    /// assert!(String::from_utf8(json)?.contains(r#""why":"spawned, high lane""#));
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline(always)]
    pub fn queued_on_lane(self, high: bool) {
        match high {
            true => record!(QueuedHigh, self.0),
            false => record!(QueuedBackground, self.0),
        }
    }

    /// The calling thread polls the task until the result is dropped. The [type](Self) has an example.
    #[inline(always)]
    pub fn polls(self) -> Polling {
        record!(Poll, self.0);
        Polling(self)
    }
}

/// A line of the program that spawns, for calls that spawn in closures. No bytes and no code without the feature `timeline`.
///
/// # Examples
///
/// ```
/// use terrace_trace::Caller;
///
/// let (line, caller) = (line!(), Caller::here());
/// # #[cfg(feature = "timeline")] {
/// let spawns = caller.spawns();
/// assert_eq!(terrace_trace::spawn_site().line(), line);
/// drop(spawns);
/// assert_ne!(terrace_trace::spawn_site().line(), line);
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Caller(inner::Caller);

/// The calling thread spawns for a [`Caller`] until this is dropped. [`Caller`] has an example.
#[derive(Debug)]
#[must_use = "it ends when it is dropped"]
pub struct Spawns {
    _until: inner::Spawns,
}

impl Caller {
    /// No line of the program.
    pub const UNKNOWN: Self = Self(inner::NOWHERE);

    /// The line that called the caller. The [type](Self) has an example.
    #[inline(always)]
    #[cfg_attr(feature = "timeline", track_caller)]
    #[must_use = "a mark does nothing until an event has it"]
    pub fn here() -> Self {
        Self(inner::here())
    }

    /// Until the calling thread drops the result, each task that it spawns has this line as its spawn site. In that time the thread may drop a
    /// future that a closed executor refuses. If the destructor of that future spawns tasks, the timeline shows this line for them, too. The [type](Self) has an
    /// example.
    #[inline(always)]
    pub fn spawns(self) -> Spawns {
        Spawns {
            _until: inner::spawns(self.0),
        }
    }
}

/// The line that spawns: the one that called the caller, or that of the [`Caller`] for which it does so.
/// [`Caller`] has an example.
#[cfg(all(feature = "timeline", not(any(terrace_loom, terrace_shuttle))))]
#[track_caller]
#[must_use = "the call only reads a value"]
pub fn spawn_site() -> &'static core::panic::Location<'static> {
    inner::here()
}

/// The poll of a task, until this is dropped. [`Mark`] has an example.
#[derive(Debug)]
#[must_use = "the poll ends when it is dropped"]
pub struct Polling(Mark);

impl Drop for Polling {
    #[inline(always)]
    fn drop(&mut self) {
        record!(PollEnd, self.0.0);
    }
}

#[cfg(all(feature = "timeline", not(any(terrace_loom, terrace_shuttle))))]
mod inner {
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
        let site = sites::of_type(here(), name);
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

    /// The line for which the thread spawns, or the one that called the caller.
    #[inline]
    #[track_caller]
    pub(super) fn here() -> Caller {
        let caller = Location::caller();
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
}

#[cfg(not(all(feature = "timeline", not(any(terrace_loom, terrace_shuttle)))))]
mod inner {
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
}
