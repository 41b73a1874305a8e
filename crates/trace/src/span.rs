//! Stretches of a thread's time that are no polls.

/// What a thread is in the middle of. [`Inside`] has an example.
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

/// The calling thread is inside of a span until this is dropped.
///
/// # Examples
///
/// ```
/// use terrace_trace::{Span, inside};
///
/// let span = inside(Span::Scope);
/// // The thread waits for the children of a scope.
/// drop(span);
/// # #[cfg(feature = "timeline")] {
/// let mut json = Vec::new();
/// terrace_trace::timeline::snapshot().write_chrome(&mut json)?;
/// assert!(String::from_utf8(json)?.contains(r#""cat":"scope""#));
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "the span ends when it is dropped"]
pub struct Inside(Span);

/// Begins a span of the calling thread. [`Inside`] has an example.
#[inline(always)]
pub fn inside(span: Span) -> Inside {
    record!(Begin, span);
    Inside(span)
}

impl Drop for Inside {
    #[inline(always)]
    fn drop(&mut self) {
        record!(End, self.0);
    }
}
