//! Scopes: children that may borrow, and a wait for all of them.
//!
//! | the waiter is        | it runs until its children have ended                                                        |
//! |----------------------|----------------------------------------------------------------------------------------------|
//! | in the scope's pool  | jobs that its thread has queued since the scope began; then children of the scope, and of scopes inside of these, wherever they lie; then halves that children of the scope have forked on other threads |
//! | elsewhere            | none of them                                                                                 |
//!
//! Both run what was broadcast to them, and before each part the jobs that their own queue holds by then. A panic of a child, or of the scope's body, is
//! kept until all children have ended.

use std::fmt;
use std::marker::PhantomData;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::yield_now;

use terrace_thread::Notify;

use crate::broadcast::BroadcastContext;
use crate::call::{in_pool, with_current};
use crate::children::Core;
use crate::job::Job;
use crate::locked::lock;
use crate::member::Member;
use crate::queue::Fifo;
use crate::registry::Registry;
use crate::wait::{Look, wait};

/// A child's closure.
type Body<'scope> = dyn FnOnce(&Scope<'scope>) + Send + Sync + 'scope;

/// What both kinds of scope have.
struct Base<'scope> {
    registry: Arc<Registry>,
    core: Core,
    /// Invariant in the lifetime, and Send and Sync.
    children: PhantomData<Box<Body<'scope>>>,
}

impl<'scope> Base<'scope> {
    fn new(registry: &Arc<Registry>, member: Option<&Member>) -> Self {
        Self {
            registry: Arc::clone(registry),
            core: Core::new(Member::bell(member)),
            children: PhantomData,
        }
    }

    /// Runs the body, and waits for all children.
    fn complete<R>(&self, member: Option<&Member>, body: impl FnOnce() -> R) -> R {
        // This thread's place in the scope's pool, and where its queue ends before the scope.
        let own = member.filter(|member| member.is_of(&self.registry));
        let own = own.map(|member| (member, member.place().queue.with(|queue| queue.top())));
        let result = self.core.run(body);
        // SAFETY: the count begins with the body.
        unsafe { self.core.child().count_out() };
        let core = &self.core;
        wait(&core.bell, core, |look| {
            if member.is_some_and(Member::help) {
                return true;
            }
            let Some((member, from)) = own else {
                return false;
            };
            let queued = member.take_own(from);
            Job::run_some(queued.or_else(|| member.take_inside(core, look)))
                || self.run_forked(look)
        });
        if let Some(payload) = lock(&core.panic).take() {
            resume_unwind(payload);
        }
        result.expect("a body that panics leaves its payload")
    }

    /// The waiter, in the scope's pool, runs a half that a child has forked, if it finds one.
    fn run_forked(&self, look: Look) -> bool {
        let (executor, forks) = (&self.registry.executor, &self.core.forks);
        if look == Look::Whole {
            let bell = || Arc::clone(&self.core.bell) as Arc<dyn Notify>;
            // SAFETY: the state stays in its place, and this wait returns when all children have been counted out.
            let has_one = unsafe { forks.announce_sleep(executor, bell) };
            if has_one && !forks.run_one(executor) {
                // Another thread is about to take it.
                yield_now();
            }
            return has_one;
        }
        forks.run_one(executor)
    }

    /// A child, counted in. It gets `scope`, the one that this base is of.
    fn child<T: Sync>(&self, scope: &T, body: impl FnOnce(&T) + Send + 'scope) -> Job {
        self.core.left.fetch_add(1, Ordering::Relaxed);
        let registry = &*self.registry;
        let run = move |core: &Core| {
            let child = || {
                core.run(|| body(scope));
            };
            // The waiter itself runs the child in the middle of its wait. Until the child ends, it looks for no halves.
            let is_waiter = |member: &Member| Arc::ptr_eq(&member.place().bell, &core.bell);
            if registry.here(|member| member.is_none_or(is_waiter)) {
                return child();
            }
            // SAFETY: the state stays in its place, and this child has not been counted out.
            unsafe { core.forks.run(&registry.executor, child) };
        };
        // SAFETY: the child was counted in. `scope` ends after the child, and `'scope` after `scope`: `complete` waits for all children and
        // does not unwind. Every job that is queued runs.
        unsafe { Job::child(self.core.child(), run) }
    }

    /// A child on each thread of the pool.
    fn broadcast<T: Sync>(
        &self,
        scope: &T,
        body: impl Fn(&T, BroadcastContext<'_>) + Send + Sync + 'scope,
    ) {
        let body = Arc::new(body);
        self.registry
            .send_to_all(self.registry.places.iter().map(|_| {
                let body = Arc::clone(&body);
                self.child(scope, move |scope| {
                    BroadcastContext::with(|context| body(scope, context));
                })
            }));
    }

    fn debug(&self, f: &mut fmt::DebugStruct<'_, '_>) -> fmt::Result {
        f.field("pool_id", &self.registry.id())
            .field("panic", &lock(&self.core.panic).is_some())
            .field("left", &self.core.left)
            .finish()
    }
}

/// A scope: it ends when all of its children have ended. A thread runs the newest of its children first.
pub struct Scope<'scope> {
    base: Base<'scope>,
}

impl<'scope> Scope<'scope> {
    /// Spawns a child, which may borrow what outlives the scope, and may spawn further ones.
    ///
    /// ```
    /// # use rayon_core as rayon;
    /// let mut words = [String::from("a"), String::from("b")];
    /// rayon::scope(|scope| {
    ///     for word in &mut words {
    ///         scope.spawn(|_| word.push('!'));
    ///     }
    /// });
    /// assert_eq!(words, ["a!", "b!"]);
    /// ```
    pub fn spawn<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        let child = self.base.child(self, body);
        self.base.registry.inject_or_push(child);
        self.base.core.tell_waiters();
    }

    /// Spawns a child on each thread of the pool.
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&Scope<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        self.base.broadcast(self, body);
    }
}

/// A scope: it ends when all of its children have ended. A thread runs the oldest of its children first.
pub struct ScopeFifo<'scope> {
    base: Base<'scope>,
    /// Of each thread of the pool.
    fifos: Box<[Arc<Fifo>]>,
}

impl<'scope> ScopeFifo<'scope> {
    fn new(base: Base<'scope>) -> Self {
        let fifos = base
            .registry
            .places
            .iter()
            .map(|_| Arc::default())
            .collect();
        Self { base, fifos }
    }

    /// Spawns a child, which may borrow what outlives the scope, and may spawn further ones.
    pub fn spawn_fifo<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&ScopeFifo<'scope>) + Send + 'scope,
    {
        let child = self.base.child(self, body);
        let Base { registry, core, .. } = &self.base;
        registry.here(|member| match member {
            Some(member) => member.push_fifo(&self.fifos[member.index], child),
            None => registry.inject(child),
        });
        core.tell_waiters();
    }

    /// Spawns a child on each thread of the pool.
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&ScopeFifo<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        self.base.broadcast(self, body);
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.base.debug(&mut f.debug_struct("Scope"))
    }
}

impl fmt::Debug for ScopeFifo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ScopeFifo");
        shown.field("num_fifos", &self.fifos.len());
        self.base.debug(&mut shown)
    }
}

/// Calls `op` with a scope, on a thread of this thread's pool or of the global one, and waits for all children of the scope.
///
/// # Panics
/// If `op` or a child panics, when all children have ended: with the first payload.
pub fn scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    in_pool(|| in_place_scope(op))
}

/// As [`scope`], with a scope whose children run in the order in which their thread has spawned them.
///
/// # Panics
/// As [`scope`].
pub fn scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    in_pool(|| in_place_scope_fifo(op))
}

/// As [`scope`], but calls `op` on this thread.
///
/// # Panics
/// As [`scope`].
pub fn in_place_scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    with_current(|registry| in_place_scope_in(registry, op))
}

/// As [`scope_fifo`], but calls `op` on this thread.
///
/// # Panics
/// As [`scope`].
pub fn in_place_scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    with_current(|registry| in_place_scope_fifo_in(registry, op))
}

/// [`in_place_scope`], in this pool.
pub(crate) fn in_place_scope_in<'scope, R>(
    registry: &Arc<Registry>,
    op: impl FnOnce(&Scope<'scope>) -> R,
) -> R {
    Member::with(|member| {
        let base = Base::new(registry, member);
        let scope = Scope { base };
        scope.base.complete(member, || op(&scope))
    })
}

/// [`in_place_scope_fifo`], in this pool.
pub(crate) fn in_place_scope_fifo_in<'scope, R>(
    registry: &Arc<Registry>,
    op: impl FnOnce(&ScopeFifo<'scope>) -> R,
) -> R {
    Member::with(|member| {
        let scope = ScopeFifo::new(Base::new(registry, member));
        scope.base.complete(member, || op(&scope))
    })
}
