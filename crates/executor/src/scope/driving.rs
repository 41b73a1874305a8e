//! A thread off a pool that drives a scope of it counts as busy with that pool, once, however its scopes are nested.
//!
//! A scope opens in its pool at its first child, which any thread may spawn. So the outer scope may open after the inner
//! one, or not at all. The thread therefore records for itself whether it is counted:
//!
//! | on the scope's thread                               | not counted yet                    | counted    |
//! |-----------------------------------------------------|------------------------------------|------------|
//! | its body spawns the first child, or its wait begins | +1, and the scope has counted it   | nothing    |
//! | its wait sleeps, and is awake again                 | cannot be                          | −1, and +1 |
//! | the scope ends that has counted it                  | cannot be                          | −1         |
//!
//! A first child that another thread spawns counts nothing: the scope's thread counts itself when its wait begins.

use std::ptr;

use crate::pool::runner;
use crate::pool::shared::Shared;

/// The bit of the thread's record that says: counted.
const COUNTED: usize = 1;

/// What the thread has recorded of its innermost open scope: the pool, and whether the thread is counted there.
#[derive(Clone, Copy)]
pub(super) struct Record(*const ());

impl Record {
    fn of(pool: *const Shared, counted: bool) -> Self {
        let pool: *const () = pool.cast();
        Self(pool.map_addr(|address| address | if counted { COUNTED } else { 0 }))
    }

    fn pool(self) -> *const Shared {
        self.0.map_addr(|address| address & !COUNTED).cast()
    }

    fn is_counted(self) -> bool {
        self.0.addr() & COUNTED != 0
    }

    /// Makes this the thread's record. Returns the one before.
    fn set(self) -> Self {
        Self(terrace_thread::internal::replace_scope(self.0))
    }

    /// A scope of `pool` opens on this thread. Returns the record of the scope that it is nested in.
    #[inline]
    pub(super) fn scope_opens(pool: &Shared) -> Self {
        let outer = Self::of(pool, false).set();
        if ptr::eq(outer.pool(), pool) {
            outer.set();
        }
        outer
    }

    /// The scope of `pool` ends that found this record when it opened, and `has_counted` its thread.
    #[inline]
    pub(super) fn scope_ends(self, pool: &Shared, has_counted: bool) {
        if has_counted {
            pool.scopes.driver_leaves();
        } else if ptr::eq(self.pool(), pool) {
            // The outer scope may have counted the thread since.
            return;
        }
        self.set();
    }
}

/// Counts the current thread, whose innermost open scope is one of `pool`, unless it is counted or a worker of `pool`, which
/// counts as awake anyway. Whether it was counted by this call: the caller's scope then tells [`Record::scope_ends`].
pub(super) fn count_driver(pool: &Shared) -> bool {
    if runner::is_worker_of(pool) {
        return false;
    }
    let own = Record::of(pool, true).set();
    if own.is_counted() || !ptr::eq(own.pool(), pool) {
        // Counted, or in the middle of another pool's scope: then the wait counts the thread.
        own.set();
        return false;
    }
    pool.scopes.driver_enters();
    true
}
