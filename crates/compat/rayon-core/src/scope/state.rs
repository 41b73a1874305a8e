//! The state of a scope: the children that have not ended, the first panic, and the thread that waits for them.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::member::Member;
use crate::queue::{Job, lock};
use crate::wait::{Bell, WaitFor};

/// The state of a scope.
pub(crate) struct Core {
    /// The scope whose child the thread that began this one was in the middle of.
    parent: Option<Arc<Core>>,
    /// Children that have not ended, and the body.
    pub(super) left: AtomicUsize,
    /// The first panic.
    pub(super) panic: Mutex<Option<Box<dyn Any + Send>>>,
    /// Of the waiter.
    pub(super) bell: Arc<Bell>,
    /// Whether the waiter sleeps, or is about to.
    sleeps: AtomicBool,
}

thread_local! {
    /// The scope whose child this thread is in the middle of, or null.
    static INSIDE: Cell<*const Core> = const { Cell::new(ptr::null()) };
}

impl Core {
    pub(super) fn new(bell: Arc<Bell>) -> Arc<Self> {
        let inside = INSIDE.with(Cell::get);
        let parent = (!inside.is_null()).then(|| {
            // SAFETY: `while_in` set it to the scope of a job that this thread is in the middle of. The job counts a reference
            // to its scope, which came from an `Arc`.
            unsafe { Arc::increment_strong_count(inside) };
            // SAFETY: the line above raised the count for this handle.
            unsafe { Arc::from_raw(inside) }
        });
        Arc::new(Self {
            parent,
            left: AtomicUsize::new(1),
            panic: Mutex::new(None),
            bell,
            sleeps: AtomicBool::new(false),
        })
    }

    /// Calls `run` as a child of `scope`, whose owner is an `Arc` that outlives the call.
    pub(crate) fn while_in(scope: Option<&Core>, run: impl FnOnce()) {
        struct Leave(*const Core);

        impl Drop for Leave {
            fn drop(&mut self) {
                INSIDE.with(|inside| inside.set(self.0));
            }
        }

        let scope = scope.map_or(ptr::null(), ptr::from_ref);
        let _leave = Leave(INSIDE.with(|inside| inside.replace(scope)));
        run();
    }

    /// This scope, and those that it is inside of.
    fn chain(&self) -> impl Iterator<Item = &Core> {
        std::iter::successors(Some(self), |core| core.parent.as_deref())
    }

    /// Whether this is the other scope, or its end is part of the other one's.
    pub(crate) fn is_inside(&self, other: &Core) -> bool {
        self.chain().any(|core| ptr::eq(core, other))
    }

    /// A child was queued.
    pub(super) fn tell_waiters(&self) {
        for core in self.chain() {
            // Ordering: Relaxed. The queue's lock orders it: the waiter sets the flag before it looks at the queue once more.
            if core.sleeps.load(Ordering::Relaxed) {
                core.bell.ring();
            }
        }
    }

    /// Runs a child or the body, keeps its panic, and counts it out.
    pub(super) fn run<R>(&self, f: impl FnOnce() -> R) -> Option<R> {
        let result = catch_unwind(AssertUnwindSafe(f));
        let value = match result {
            Ok(value) => Some(value),
            Err(payload) => {
                let mut panic = lock(&self.panic);
                let later = if panic.is_none() {
                    *panic = Some(payload);
                    None
                } else {
                    Some(payload)
                };
                drop(panic);
                if let Some(payload) = later {
                    terrace_executor::drop_payload(payload);
                }
                None
            }
        };
        // Ordering: AcqRel, pairs with the Acquire in `is_done`: the waiter sees what the child did.
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.bell.ring();
        }
        value
    }
}

/// A scope that waits.
pub(super) struct Waiting<'s> {
    pub(super) core: &'s Arc<Core>,
    /// This thread's place in the scope's pool, and where its queue ended when the scope began.
    pub(super) own: Option<(&'s Member, usize)>,
}

impl WaitFor for Waiting<'_> {
    fn is_done(&self) -> bool {
        self.core.left.load(Ordering::Acquire) == 0
    }

    fn run_one(&self) -> bool {
        let Some((member, from)) = self.own else {
            return false;
        };
        let job = member
            .take_own(from)
            .or_else(|| member.take_inside(self.core));
        job.map(Job::run).is_some()
    }

    fn announce(&self, sleeps: bool) {
        // Ordering: Relaxed, as in `tell_waiters`.
        self.core.sleeps.store(sleeps, Ordering::Relaxed);
    }
}
