//! When a worker publishes a task that has yielded: mostly never, which saves the fence.
//!
//! A task that wakes itself goes to the back of its worker's ring when the poll ends. The worker then takes its next
//! task at once. In between the worker runs no other code, so no thread waits for it:
//!
//! | what the worker takes next      | the task that yielded                                                         |
//! |----------------------------------|--------------------------------------------------------------------------------|
//! | the head of its ring: that task  | runs                                                                            |
//! | the head of its ring: another X  | lies behind X, which was published; a looker that sees X gone sees the task    |
//! | anything else                    | is published first ([`DeferredPublish::flush`])                                          |
//!
//! The second row, in full. A sleeper announces itself, fences, and looks at the ring: head, then tail. X was
//! published, so it sees X there, or a head that has moved beyond. The worker's compare-exchange (Release), or a
//! thief's after it, wrote that head. So the sleeper's Acquire load of the head makes every earlier push visible
//! (`Ring::len`): the ring does not look empty. The task takes X's place as the published one, for the next task that
//! yields. The searcher that X's publish relied on looks at the ring before it stops. If a thief was faster and took X,
//! the worker takes the task itself.
//!
//! The same holds in the loop of a `run` future, while it is being polled. It holds only where the loop takes a task in
//! its next turn. So the caller of any other poll calls [`DeferredPublish::forbid`] first, such as a wait that runs a
//! task in the middle of a poll. Not an API; public for its models.

use std::cell::Cell;

use terrace_sync::weakened;

use super::publish::Publish;

/// The state of one worker or driver.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Every push is published.
    Publish,
    /// The loop polls, and takes its next task right after.
    Defer,
    /// As `Defer`; a task was pushed.
    Deferred,
}

/// Whether a task that yielded waits to be published.
pub struct DeferredPublish(Cell<State>);

impl Default for DeferredPublish {
    fn default() -> Self {
        Self(Cell::new(State::Publish))
    }
}

impl DeferredPublish {
    /// The loop is going to poll a task, and no deferred task is left from the turn before.
    #[inline]
    pub fn allow(&self) {
        self.0.set(State::Defer);
    }

    /// The next poll is no turn of the loop. No deferred task can be left: tasks yield at the end of a poll.
    #[inline]
    pub fn forbid(&self) {
        self.0.set(State::Publish);
    }

    /// Calls `poll`, which polls a task in the middle of the poll under way, and is no turn of the loop. Afterwards the poll
    /// under way is what it was, also if `poll` unwinds.
    #[inline]
    pub fn suspend<T>(&self, poll: impl FnOnce() -> T) -> T {
        struct Resume<'a>(&'a Cell<State>, State);

        impl Drop for Resume<'_> {
            #[inline]
            fn drop(&mut self) {
                self.0.set(self.1);
            }
        }

        let before = self.0.replace(State::Publish);
        debug_assert!(
            before != State::Deferred,
            "tasks yield at the end of a poll"
        );
        let _resume = Resume(&self.0, before);
        poll()
    }

    /// A task that yielded was pushed behind the others in the ring. [`Publish::Later`] leaves it to the next turn.
    #[inline]
    pub fn pushed(&self) -> Publish {
        if self.0.get() == State::Publish {
            return Publish::Now;
        }
        self.0.set(State::Deferred);
        Publish::Later
    }

    /// Publishes the deferred task. The worker calls this before it does anything but take the head of its ring.
    #[inline]
    pub fn flush(&self, publish: impl FnOnce()) {
        if self.0.replace(State::Publish) == State::Deferred
            && !weakened!("executor-deferred-unflushed")
        {
            publish();
        }
    }
}
