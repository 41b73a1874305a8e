//! The pool that a call is for, and how a call gets into it from outside.

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::{Arc, Once, OnceLock};

use crate::error::{Kind, ThreadPoolBuildError};
use crate::job::Job;
use crate::member::Member;
use crate::registry::Registry;
use crate::threads::{DefaultSpawn, Settings};
use crate::wait::{Left, wait};

static GLOBAL: OnceLock<Arc<Registry>> = OnceLock::new();
static MADE: Once = Once::new();

/// Makes the global pool.
pub(crate) fn make_global(
    make: impl FnOnce() -> Result<Arc<Registry>, ThreadPoolBuildError>,
) -> Result<&'static Arc<Registry>, ThreadPoolBuildError> {
    let mut result = Err(ThreadPoolBuildError::new(
        Kind::GlobalPoolAlreadyInitialized,
    ));
    MADE.call_once(|| result = make().map(|registry| GLOBAL.get_or_init(|| registry)));
    result
}

/// The global pool, made now if there is none.
///
/// # Panics
/// If it could not be made, now or before.
pub(crate) fn global() -> &'static Arc<Registry> {
    if let Some(registry) = GLOBAL.get() {
        return registry;
    }
    let error = match make_global(build_default) {
        Ok(registry) => return registry,
        Err(error) => error,
    };
    GLOBAL
        .get()
        .unwrap_or_else(|| panic!("The global thread pool has not been initialized.: {error:?}"))
}

/// Where the system starts no threads, the calling thread is the pool.
fn build_default() -> Result<Arc<Registry>, ThreadPoolBuildError> {
    match Settings::default().start(DefaultSpawn) {
        Err(error) if error.is_unsupported() && Member::address() == 0 => {
            let alone = Settings {
                num_threads: 1,
                use_current_thread: true,
                ..Settings::default()
            };
            alone.start(DefaultSpawn).map_err(|_| error)
        }
        result => result,
    }
}

/// Calls `f` with the pool of this thread, or the global one.
pub(crate) fn with_current<T>(f: impl FnOnce(&Arc<Registry>) -> T) -> T {
    Member::with(|member| match member {
        Some(member) => f(&member.registry),
        None => f(global()),
    })
}

/// Calls `op` as a thread of a pool: on this one, if it is in a pool, else in the global one.
pub(crate) fn in_pool<R: Send>(op: impl FnOnce() -> R + Send) -> R {
    if Member::address() != 0 {
        return op();
    }
    global().call(op)
}

/// Ends a stay in the place of another thread.
struct LeavesPlace<'m>(&'m Member, &'m Cell<bool>);

impl Drop for LeavesPlace<'_> {
    fn drop(&mut self) {
        if self.1.get() {
            self.0.leave_place();
        }
    }
}

impl Registry {
    /// Calls `op` on a thread of the pool: on this one, if it is in the pool.
    pub(crate) fn install<R: Send>(self: &Arc<Self>, op: impl FnOnce() -> R + Send) -> R {
        if self.here(|member| member.is_some()) {
            return op();
        }
        self.call_injected(op)
    }

    /// Calls `op` as a thread of the pool: on this thread if it is in the pool, or in no pool while a thread of this one sleeps.
    pub(crate) fn call<R: Send>(self: &Arc<Self>, op: impl FnOnce() -> R + Send) -> R {
        match self.call_in_place(op) {
            Ok(result) => result,
            Err(op) => self.install(op),
        }
    }

    /// Calls `op` on this thread, which is in no pool, in the place of a thread that sleeps. Hands `op` back if none does.
    fn call_in_place<R, F: FnOnce() -> R>(self: &Arc<Self>, op: F) -> Result<R, F> {
        if !self.calls_in_place || Member::address() != 0 {
            return Err(op);
        }
        let mut op = Some(op);
        let slept = Cell::new(false);
        let before_sleep = || {
            slept.set(true);
            Member::with(|member| member.is_some_and(Member::arrive_in_place))
        };
        let result = self.executor.stand_in(&before_sleep, |worker| {
            let index = self.first + worker;
            // SAFETY: a second handle of the same count, which is never dropped, and gone before the one that `self` borrows.
            let registry = unsafe { ptr::read(self) };
            let member = ManuallyDrop::new(Member { registry, index });
            let _leaves = LeavesPlace(&member, &slept);
            let op = op.take().expect("the place is taken once");
            member.enter(op)
        });
        match result {
            Ok(result) => Ok(result),
            Err(_unused) => Err(op.expect("the place was not taken")),
        }
    }

    #[cold]
    fn call_injected<R: Send>(self: &Arc<Self>, op: impl FnOnce() -> R + Send) -> R {
        let mut result = None;
        Member::with(|member| {
            let called = Left::new(1, Member::bell(member));
            let slot = &mut result;
            let ends = Arc::clone(&called);
            let run = move || *slot = Some(catch_unwind(AssertUnwindSafe(op)));
            let ended = move || ends.count_out();
            // SAFETY: this frame waits until `run` has returned: `wait` does not unwind, and every injected job runs.
            self.inject(unsafe { Job::borrowing(run, ended) });
            wait(&called.bell, &*called, |_| member.is_some_and(Member::help));
        });
        match result.expect("the job has run") {
            Ok(value) => value,
            Err(payload) => resume_unwind(payload),
        }
    }
}
