//! Two closures that may run in parallel.

use std::fmt;
use std::marker::PhantomData;

use crate::call::global;
use crate::children::Core;
use crate::member::Member;

/// What a closure of [`join_context`] learns of its call.
pub struct FnContext {
    migrated: bool,
    on_thread: PhantomData<*mut ()>,
}

impl FnContext {
    #[inline]
    fn new(migrated: bool) -> Self {
        Self {
            migrated,
            on_thread: PhantomData,
        }
    }

    /// Whether the closure runs on another thread than the one that called [`join_context`].
    #[inline]
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}

impl fmt::Debug for FnContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnContext")
            .field("migrated", &self.migrated)
            .finish_non_exhaustive()
    }
}

/// Runs both closures, `oper_b` on another thread if one comes to it in time, and returns both results. On a thread that is in no
/// pool, it runs in the global one.
///
/// The thread forks `oper_b`, runs `oper_a`, and then `oper_b` itself, unless another thread has taken it. While it waits for that
/// thread, it runs jobs that `oper_b` has forked, and no others.
///
/// # Panics
/// If a closure panics, when both have ended: with the payload of `oper_a` if both panic.
///
/// ```
/// # use rayon_core as rayon;
/// fn sum(numbers: &[u64]) -> u64 {
///     if numbers.len() <= 64 {
///         return numbers.iter().sum();
///     }
///     let (left, right) = numbers.split_at(numbers.len() / 2);
///     let (left, right) = rayon::join(|| sum(left), || sum(right));
///     left + right
/// }
///
/// let numbers: Vec<u64> = (0..10_000).collect();
/// assert_eq!(sum(&numbers), 49_995_000);
/// ```
#[inline]
pub fn join<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    Member::with(|member| match member {
        Some(member) => {
            let oper_b = Core::forked(oper_b);
            let (b, a) = member
                .registry
                .executor
                .with_worker(|worker| worker.join(|_| oper_b(), |_| oper_a()));
            (a, b)
        }
        None => global().call(|| join(oper_a, oper_b)),
    })
}

/// As [`join`]. Each closure learns whether it runs on another thread than the caller.
///
/// # Panics
/// As [`join`].
#[inline]
pub fn join_context<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    if Member::address() == 0 {
        return global().call(|| join_contexts(oper_a, oper_b, true));
    }
    join_contexts(oper_a, oper_b, false)
}

#[inline]
fn join_contexts<A, B, RA, RB>(oper_a: A, oper_b: B, injected: bool) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    let here = Member::address();
    join(
        move || oper_a(FnContext::new(injected)),
        move || oper_b(FnContext::new(injected || Member::address() != here)),
    )
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::sync::{Arc, Barrier};
    use std::thread;

    use crate::children::Core;
    use crate::{ThreadPool, ThreadPoolBuilder};

    fn pool() -> ThreadPool {
        let pool = ThreadPoolBuilder::new().num_threads(2).build();
        pool.expect("the threads start")
    }

    /// Both threads of a pool wait, one of them in a child of a scope. That one takes the half that the other one has forked, as a last
    /// resort. The half is not inside of the scope.
    #[test]
    fn a_half_is_not_inside_of_the_scope_that_its_thief_is_in() {
        let _watchdog = terrace_testing::watchdog();
        let (pool, elsewhere) = (&pool(), &pool());
        let (wake_child, child_waits) = channel::<()>();
        let (wake_joiner, joiner_waits) = channel::<()>();
        let child_runs = &Barrier::new(2);
        thread::scope(|threads| {
            threads.spawn(move || {
                pool.install(|| {
                    let scope = Core::new(Arc::default());
                    Core::while_in(Some(scope.child()), || {
                        child_runs.wait();
                        elsewhere.install(move || child_waits.recv().expect("the half sends"));
                        assert!(Core::new(Arc::default()).is_inside(&scope));
                    });
                });
            });
            child_runs.wait();
            let first =
                move || elsewhere.install(move || joiner_waits.recv().expect("the half sends"));
            let second = move || {
                wake_child.send(()).expect("the child waits");
                wake_joiner.send(()).expect("the joiner waits");
                Core::inside().is_none()
            };
            assert!(pool.join(first, second).1);
        });
    }
}
