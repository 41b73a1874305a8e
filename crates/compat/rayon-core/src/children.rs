//! The state of a scope: the children that have not ended, the first panic, and the thread that waits for them.
//!
//! The state lies on the stack of the waiter. `left` counts its users: the body, and each child from its spawn to its end. Only a user
//! adds a user, so a user that reads 1 is the last one, and stays it.
//!
//! | a user that ends reads  | does                                                                                      |
//! |-------------------------|-------------------------------------------------------------------------------------------|
//! | more than 1             | counts itself out, and touches the state no more                                          |
//! | 1                       | takes a reference to the bell; counts itself out; the waiter may free the state; rings    |

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use terrace_executor::ForkScope;

use crate::locked::lock;
use crate::wait::{Bell, WaitFor};

/// The state of a scope.
pub(crate) struct Core {
    /// The scope whose child, or a forked half of it, the thread that began this one is in the middle of.
    parent: Option<ChildOf>,
    /// Children that have not ended, and the body.
    pub(crate) left: AtomicUsize,
    /// The first panic.
    pub(crate) panic: Mutex<Option<Box<dyn Any + Send>>>,
    /// Of the waiter.
    pub(crate) bell: Arc<Bell>,
    /// Whether the waiter sleeps, or is about to.
    sleeps: AtomicBool,
    /// The waiter takes halves that children have forked on other threads.
    pub(crate) forks: ForkScope,
}

thread_local! {
    /// The scope whose child this thread is in the middle of, or a half that the child has forked. Or null.
    static INSIDE: Cell<*const Core> = const { Cell::new(ptr::null()) };
}

/// The scope that a job is a child of: a pointer that holds until the child has been counted out.
#[derive(Clone, Copy)]
pub(crate) struct ChildOf(NonNull<Core>);

// SAFETY: it is a reference to a `Core`, which is `Sync`, for as long as the users of `as_ref` promise.
unsafe impl Send for ChildOf {}
// SAFETY: as above.
unsafe impl Sync for ChildOf {}

/// The state of the scope, or null.
#[inline]
fn address(scope: Option<ChildOf>) -> *const Core {
    scope.map_or(ptr::null(), |scope| scope.0.as_ptr().cast_const())
}

impl ChildOf {
    /// # Safety
    /// A child of the scope that was counted in has not been counted out until the last use of the result.
    pub(crate) unsafe fn as_ref<'c>(self) -> &'c Core {
        // SAFETY: the waiter keeps the state while children are left (the caller's promise).
        unsafe { self.0.as_ref() }
    }

    /// A child, or the body, has ended. The scope may be gone afterwards.
    ///
    /// # Safety
    /// The child was counted in, or it is the body, and this is called once for it.
    pub(crate) unsafe fn count_out(self) {
        let core = self.0.as_ptr();
        // SAFETY: this child is not counted out. The reference is to the counter alone, and to no `Core` whose memory goes while it is
        // borrowed.
        let left = unsafe { &(*core).left };
        // Ordering: Relaxed, the exchange orders. It reads no value older than the one that this child was counted in with.
        let mut users = left.load(Ordering::Relaxed);
        while users > 1 {
            // Ordering: AcqRel on success, pairs with the Acquire in `is_done`: the waiter sees what the child did.
            match left.compare_exchange_weak(users, users - 1, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => return,
                Err(now) => users = now,
            }
        }
        // SAFETY: this child is not counted out.
        let bell = Arc::clone(unsafe { &(*core).bell });
        // Ordering: AcqRel, as above; Acquire for what the other children did.
        left.fetch_sub(1, Ordering::AcqRel);
        // So that the state of the test below is gone when this thread goes on.
        #[cfg(test)]
        std::thread::sleep(std::time::Duration::from_millis(1));
        bell.ring();
    }
}

impl Core {
    pub(crate) fn new(bell: Arc<Bell>) -> Self {
        Self {
            parent: Self::inside(),
            left: AtomicUsize::new(1),
            panic: Mutex::new(None),
            bell,
            sleeps: AtomicBool::new(false),
            forks: ForkScope::new(),
        }
    }

    /// The state is not moved any more.
    pub(crate) fn child(&self) -> ChildOf {
        ChildOf(NonNull::from(self))
    }

    /// The scope that this thread is inside of.
    #[inline]
    pub(crate) fn inside() -> Option<ChildOf> {
        NonNull::new(INSIDE.with(Cell::get).cast_mut()).map(ChildOf)
    }

    /// A half that this thread forks. Wherever it runs, it is inside of the scope that this thread is inside of.
    #[inline(always)]
    pub(crate) fn forked<R>(half: impl FnOnce() -> R + Send) -> impl FnOnce() -> R + Send {
        /// The thread is a thief, in another scope or in none.
        #[cold]
        #[inline(never)]
        fn stolen<R>(scope: Option<ChildOf>, half: impl FnOnce() -> R) -> R {
            Core::while_in(scope, half)
        }

        let scope = Self::inside();
        move || {
            if ptr::eq(INSIDE.with(Cell::get), address(scope)) {
                return half();
            }
            stolen(scope, half)
        }
    }

    /// Calls `run` as a child of `scope`, or as a half that such a child has forked.
    pub(crate) fn while_in<R>(scope: Option<ChildOf>, run: impl FnOnce() -> R) -> R {
        struct Leave(*const Core);

        impl Drop for Leave {
            fn drop(&mut self) {
                INSIDE.with(|inside| inside.set(self.0));
            }
        }

        let _leave = Leave(INSIDE.with(|inside| inside.replace(address(scope))));
        run()
    }

    /// This scope, and those that it is inside of.
    fn chain(&self) -> impl Iterator<Item = &Core> {
        std::iter::successors(Some(self), |core| {
            // SAFETY: the thread that waits for this scope is in the middle of a child of the parent, or of a half that the child has
            // forked. The child's join waits for the half.
            core.parent.map(|parent| unsafe { parent.as_ref() })
        })
    }

    /// Whether this is the other scope, or its end is part of the other one's.
    pub(crate) fn is_inside(&self, other: &Core) -> bool {
        self.chain().any(|core| ptr::eq(core, other))
    }

    /// A child was queued.
    pub(crate) fn tell_waiters(&self) {
        for core in self.chain() {
            // Ordering: Relaxed. The queue's lock orders it: the waiter sets the flag before it looks at the queue once more.
            if core.sleeps.load(Ordering::Relaxed) {
                core.bell.ring();
            }
        }
    }

    /// Runs a child or the body, and keeps its panic.
    pub(crate) fn run<R>(&self, f: impl FnOnce() -> R) -> Option<R> {
        let result = catch_unwind(AssertUnwindSafe(f));
        result.map_err(|payload| self.keep(payload)).ok()
    }

    /// Keeps the payload of a panic, if it is the first.
    fn keep(&self, payload: Box<dyn Any + Send>) {
        let mut panic = lock(&self.panic);
        if panic.is_none() {
            *panic = Some(payload);
            return;
        }
        drop(panic);
        terrace_executor::drop_payload(payload);
    }
}

impl WaitFor for Core {
    fn is_done(&self) -> bool {
        self.left.load(Ordering::Acquire) == 0
    }

    fn announce(&self, sleeps: bool) {
        // Ordering: Relaxed, as in `tell_waiters`.
        self.sleeps.store(sleeps, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::hint::{black_box, spin_loop};
    use std::mem::{MaybeUninit, size_of};
    use std::ptr;
    use std::sync::Arc;
    use std::sync::atomic::Ordering;
    use std::thread;

    use super::Core;
    use crate::wait::{Bell, WaitFor};

    /// A scope of two users, which end on two threads. The waiter writes over the state as soon as both have ended.
    #[test]
    fn a_state_that_is_gone_is_not_touched() {
        let _watchdog = terrace_testing::watchdog();
        for _ in 0..100 {
            let mut place = Box::new(MaybeUninit::<Core>::uninit());
            let core: *mut Core = place.write(Core::new(Arc::new(Bell::default())));
            // SAFETY: the place has a value until both have ended.
            let state = unsafe { &*core };
            let child = state.child();
            state.left.fetch_add(1, Ordering::Relaxed);
            thread::scope(|threads| {
                for _ in 0..2 {
                    // SAFETY: there are two users, and each is counted out once.
                    threads.spawn(move || unsafe { child.count_out() });
                }
                while !state.is_done() {
                    spin_loop();
                }
                // SAFETY: no thread uses it any more.
                unsafe { ptr::drop_in_place(core) };
                // SAFETY: the bytes are this place's.
                unsafe { ptr::write_bytes(core.cast::<u8>(), 0xff, size_of::<Core>()) };
                black_box(core);
            });
        }
    }
}
