//! Stretches of a thread's time that are no polls.

/// What a thread is in the middle of. [`Inside`](crate::Inside) has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Span {
    /// A scope waits for its children, and runs them.
    Scope = 1,
    /// A join waits for its half, which another thread has taken.
    Join = 2,
    /// A job that another thread has forked.
    Job = 3,
    /// A closure that may block.
    Blocking = 4,
}

#[cfg(all(feature = "timeline", not(any(terrace_loom, terrace_shuttle))))]
impl Span {
    pub(crate) const ALL: [Self; 4] = [Self::Scope, Self::Join, Self::Job, Self::Blocking];
}
