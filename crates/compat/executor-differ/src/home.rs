//! Executors of all four kinds behind one type, and the way from a task to its executor.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::{self, Rc};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};

use async_executor::{Executor, LocalExecutor, StaticExecutor, StaticLocalExecutor, Task};
use fastrand::Rng;

use crate::plan::{Plan, Value, perform};
use crate::world::{Ctx, outcome};

/// An executor.
#[derive(Clone)]
pub(crate) enum Home {
    Shared(Arc<Executor<'static>>),
    Local(Rc<LocalExecutor<'static>>),
    Static(&'static StaticExecutor),
    StaticLocal(&'static StaticLocalExecutor),
}

/// How a task finds its executor, on any thread that polls it.
#[derive(Clone)]
pub(crate) enum Reach {
    Shared(Weak<Executor<'static>>),
    Static(&'static StaticExecutor),
    /// An entry of [`LOCALS`].
    OfThread(usize),
}

thread_local! {
    /// The executors whose tasks stay on this thread.
    static LOCALS: RefCell<Vec<LocalHome>> = const { RefCell::new(Vec::new()) };
}

/// An executor of one thread.
enum LocalHome {
    Dropped(rc::Weak<LocalExecutor<'static>>),
    Kept(&'static StaticLocalExecutor),
}

impl Reach {
    /// The executor, unless it has been dropped or leaked.
    pub(crate) fn home(&self) -> Option<Home> {
        match self {
            Self::Shared(executor) => executor.upgrade().map(Home::Shared),
            Self::Static(executor) => Some(Home::Static(executor)),
            Self::OfThread(at) => LOCALS.with_borrow(|locals| match &locals[*at] {
                LocalHome::Dropped(executor) => executor.upgrade().map(Home::Local),
                LocalHome::Kept(executor) => Some(Home::StaticLocal(executor)),
            }),
        }
    }
}

/// The same expression on each kind of executor.
macro_rules! each {
    ($home:expr, $executor:ident => $value:expr) => {
        match $home {
            Home::Shared($executor) => $value,
            Home::Local($executor) => $value,
            Home::Static($executor) => $value,
            Home::StaticLocal($executor) => $value,
        }
    };
}

/// The future as a driver that may change threads, where the executor allows that.
macro_rules! drive {
    ($home:expr, $executor:ident => $future:expr) => {
        match $home {
            Home::Shared($executor) => Drive::Anywhere(Box::pin(async move { $future })),
            Home::Local($executor) => Drive::Here(Box::pin(async move { $future })),
            Home::Static($executor) => Drive::Anywhere(Box::pin(async move { $future })),
            Home::StaticLocal($executor) => Drive::Here(Box::pin(async move { $future })),
        }
    };
}

impl Home {
    /// An executor of a random kind; `sendable` ones may be used by several threads.
    pub(crate) fn random(rng: &mut Rng, sendable: bool) -> Self {
        match rng.u32(0..if sendable { 2 } else { 4 }) {
            0 => Self::Shared(Arc::new(Executor::new())),
            1 => Self::Static(Box::leak(Box::new(StaticExecutor::new()))),
            2 => Self::Local(Rc::new(LocalExecutor::new())),
            _ => Self::StaticLocal(Box::leak(Box::new(StaticLocalExecutor::new()))),
        }
    }

    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Shared(_) => "Executor",
            Self::Local(_) => "LocalExecutor",
            Self::Static(_) => "StaticExecutor",
            Self::StaticLocal(_) => "StaticLocalExecutor",
        }
    }

    pub(crate) fn reach(&self) -> Reach {
        let local = match self {
            Self::Shared(executor) => return Reach::Shared(Arc::downgrade(executor)),
            Self::Static(executor) => return Reach::Static(executor),
            Self::Local(executor) => LocalHome::Dropped(Rc::downgrade(executor)),
            Self::StaticLocal(executor) => LocalHome::Kept(executor),
        };
        LOCALS.with_borrow_mut(|locals| {
            locals.push(local);
            Reach::OfThread(locals.len() - 1)
        })
    }

    /// Spawns a task that does what `plan` says.
    pub(crate) fn spawn(&self, plan: Plan, ctx: &Arc<Ctx>) -> Task<Value> {
        let scoped = plan.scoped;
        let future = perform(plan, Arc::clone(ctx));
        match self {
            Self::Shared(executor) => executor.spawn(future),
            Self::Local(executor) => executor.spawn(stays(future)),
            // SAFETY: the future borrows nothing.
            Self::Static(executor) if scoped => unsafe { executor.spawn_scoped(future) },
            Self::Static(executor) => executor.spawn(future),
            Self::StaticLocal(executor) if scoped => {
                // SAFETY: the future borrows nothing.
                unsafe { executor.spawn_scoped(stays(future)) }
            }
            Self::StaticLocal(executor) => executor.spawn(stays(future)),
        }
    }

    /// Spawns them in one call, where there is such a call.
    pub(crate) fn spawn_many(&self, plans: Vec<Plan>, ctx: &Arc<Ctx>) -> Vec<Task<Value>> {
        let mut tasks = Vec::new();
        let futures = plans.into_iter();
        match self {
            Self::Shared(executor) => executor.spawn_many(
                futures.map(|plan| perform(plan, Arc::clone(ctx))),
                &mut tasks,
            ),
            Self::Local(executor) => executor.spawn_many(
                futures.map(|plan| stays(perform(plan, Arc::clone(ctx)))),
                &mut tasks,
            ),
            _ => tasks.extend(futures.map(|plan| self.spawn(plan, ctx))),
        }
        tasks
    }

    pub(crate) fn try_tick(&self) -> bool {
        each!(self, executor => executor.try_tick())
    }

    /// Static executors do not say.
    pub(crate) fn is_empty(&self) -> Option<bool> {
        match self {
            Self::Shared(executor) => Some(executor.is_empty()),
            Self::Local(executor) => Some(executor.is_empty()),
            _ => None,
        }
    }

    /// `tick`, then 0.
    pub(crate) fn tick(&self) -> Drive {
        drive!(self.clone(), executor => { executor.tick().await; 0 })
    }

    pub(crate) fn run(&self, future: impl Future<Output = u64> + Send + 'static) -> Drive {
        drive!(self.clone(), executor => executor.run(future).await)
    }

    /// `self.run(inner)`, where `inner` is a driver, too.
    pub(crate) fn run_driver(&self, inner: Drive) -> Drive {
        match inner {
            Drive::Anywhere(inner) => self.run(inner),
            Drive::Here(inner) => {
                let home = self.clone();
                Drive::Here(Box::pin(async move {
                    each!(home, executor => executor.run(inner).await)
                }))
            }
        }
    }

    /// Leaks it, if this is its only owner.
    pub(crate) fn leak(self) -> Self {
        match self {
            Self::Shared(executor) => match Arc::try_unwrap(executor) {
                Ok(executor) => Self::Static(executor.leak()),
                Err(executor) => Self::Shared(executor),
            },
            Self::Local(executor) => match Rc::try_unwrap(executor) {
                Ok(executor) => Self::StaticLocal(executor.leak()),
                Err(executor) => Self::Local(executor),
            },
            kept => kept,
        }
    }
}

/// A future that is not `Send`.
async fn stays<T>(future: impl Future<Output = T>) -> T {
    let thread = Rc::new(());
    let value = future.await;
    drop(thread);
    value
}

/// A future that runs an executor's tasks while it is polled.
pub(crate) enum Drive {
    Anywhere(Pin<Box<dyn Future<Output = u64> + Send>>),
    Here(Pin<Box<dyn Future<Output = u64>>>),
}

impl Drive {
    /// Polls it once, on a thread of its own if `elsewhere` and if it may go there.
    pub(crate) fn poll(&mut self, waker: &Waker, elsewhere: bool) -> Result<Poll<u64>, String> {
        let mut context = Context::from_waker(waker);
        match self {
            Self::Anywhere(future) if elsewhere => std::thread::scope(|scope| {
                let poll = || outcome(|| future.as_mut().poll(&mut Context::from_waker(waker)));
                scope.spawn(poll).join().expect("the panic is caught")
            }),
            Self::Anywhere(future) => outcome(|| future.as_mut().poll(&mut context)),
            Self::Here(future) => outcome(|| future.as_mut().poll(&mut context)),
        }
    }

    /// Drops it, likewise.
    pub(crate) fn end(self, elsewhere: bool) {
        match self {
            Self::Anywhere(future) if elsewhere => std::thread::scope(|scope| {
                scope.spawn(move || drop(future));
            }),
            here => drop(here),
        }
    }

    /// Blocks until it is done.
    pub(crate) fn block(self) -> Result<u64, String> {
        outcome(|| match self {
            Self::Anywhere(future) => futures_lite::future::block_on(future),
            Self::Here(future) => futures_lite::future::block_on(future),
        })
    }
}
