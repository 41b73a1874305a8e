//! The search token: one unit of a group's `S`, owned.

/// One unit of a group's searching count, owned by the worker that searches.
///
/// While a token exists, publishers rely on its owner to find their work. The owner gives it back through
/// [`Idle`](crate::Idle), by `park`, `park_as_sentinel`, `stop_search` or `leave`. It calls `stop_search` *before it runs
/// anything*. A dropped token would leave its group searched by no worker, so it panics in debug builds.
/// [`Idle`](crate::Idle) has an example.
#[must_use = "a search token must be given back to its Idle"]
#[derive(Debug)]
pub struct Token {
    group: usize,
}

impl Token {
    /// A token for one unit of `S` that the caller has just added to `group`.
    pub(crate) fn new(group: usize) -> Self {
        Self { group }
    }

    /// Gives the unit up; the caller takes it off the group's `S`.
    pub(crate) fn into_group(self) -> usize {
        let group = self.group;
        std::mem::forget(self);
        group
    }

    /// The number of the group whose `S` this token belongs to.
    pub(crate) fn group(&self) -> usize {
        self.group
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        debug_assert!(
            std::thread::panicking(),
            "a search token was dropped instead of returned"
        );
    }
}
