//! Scopes of a pool without threads, in safe code.
//!
//! A scope's tasks live in a [`LocalExecutor`] whose futures may borrow the scope itself. So the scope has to drop it
//! while that borrow lasts. It sits in a slot that has no destructor. [`Emptied`] takes it out at the end
//! of the call, while everything the futures may borrow is still alive.

use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::fmt;
use core::future::{Future, poll_fn};
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};
#[cfg(feature = "std")]
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use pin_project_lite::pin_project;
use terrace_local::{LocalExecutor, Payload, Task, drop_payload};

use crate::host::block_on;

/// Holds a scope's executor from its start until [`Emptied`] is dropped. Then it owns no memory any more.
type Slot<'scope> = ManuallyDrop<RefCell<Option<Rc<LocalExecutor<'scope>>>>>;

/// Takes the executor out of its slot when dropped, and drops it with the futures in it.
struct Emptied<'scope>(&'scope Slot<'scope>);

impl Drop for Emptied<'_> {
    fn drop(&mut self) {
        drop(self.0.take());
    }
}

/// Runs `f` and then all tasks of the scope it gets.
pub(super) fn run<'env, F, T>(f: F) -> Vec<T>
where
    F: for<'scope> FnOnce(&'scope mut Scope<'scope, 'env, T>),
    T: Send + 'static,
{
    let tasks = RefCell::new(VecDeque::new());
    let panic = FirstPanic::default();
    let slot = ManuallyDrop::new(RefCell::new(None));
    let mut scope = Scope {
        slot: &slot,
        tasks: &tasks,
        panic: &panic,
        env: PhantomData,
    };
    let emptied = Emptied(&slot);
    let executor = Rc::new(LocalExecutor::new());
    slot.replace(Some(Rc::clone(&executor)));
    f(&mut scope);
    let results = block_on(executor.run(results(&tasks, &panic)));
    drop(executor);
    // Drops the futures that a panic has cancelled.
    drop(emptied);
    results.unwrap_or_else(|payload| rethrow(payload))
}

/// Awaits the tasks one after the other, also tasks that tasks spawn, until one has panicked.
async fn results<T>(
    tasks: &RefCell<VecDeque<Task<T>>>,
    panic: &FirstPanic,
) -> Result<Vec<T>, Payload> {
    let mut results = Vec::with_capacity(tasks.borrow().len());
    loop {
        let Some(task) = tasks.borrow_mut().pop_front() else {
            return Ok(results);
        };
        let mut task = pin!(task);
        let result = poll_fn(|context| match panic.take(context) {
            Some(payload) => Poll::Ready(Err(payload)),
            None => catch(|| task.as_mut().poll(context))
                .map_or_else(|payload| Poll::Ready(Err(payload)), |poll| poll.map(Ok)),
        });
        match result.await {
            Ok(result) => results.push(result),
            Err(payload) => {
                results.into_iter().for_each(discard);
                return Err(payload);
            }
        }
    }
}

/// The first panic of a scope's task, until the scope takes it. From then on no task of the scope is polled.
#[derive(Default)]
struct FirstPanic {
    came: Cell<bool>,
    payload: Cell<Option<Payload>>,
    /// The scope's.
    waker: Cell<Option<Waker>>,
}

impl FirstPanic {
    /// The payload. Without one, keeps the scope's waker, which `set` wakes.
    fn take(&self, context: &Context<'_>) -> Option<Payload> {
        let payload = self.payload.take();
        if payload.is_none() {
            self.waker.set(Some(context.waker().clone()));
        }
        payload
    }

    /// Notes it. Tasks are polled one at a time, and no more after it, so it comes once.
    fn set(&self, payload: Payload) {
        self.came.set(true);
        self.payload.set(Some(payload));
        self.waker.take().into_iter().for_each(Waker::wake);
    }
}

pin_project! {
    /// A task's future until a task of its scope has panicked; it is not polled from then on.
    struct Child<'scope, Fut> {
        #[pin]
        future: Fut,
        panic: &'scope FirstPanic,
    }
}

impl<Fut: Future> Future for Child<'_, Fut> {
    type Output = Fut::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Fut::Output> {
        let this = self.project();
        if this.panic.came.get() {
            return Poll::Pending;
        }
        catch(|| this.future.poll(context)).unwrap_or_else(|payload| {
            this.panic.set(payload);
            Poll::Pending
        })
    }
}

/// Calls `f` and catches its panic.
#[cfg(feature = "std")]
fn catch<R>(f: impl FnOnce() -> R) -> Result<R, Payload> {
    catch_unwind(AssertUnwindSafe(f))
}

/// Calls `f`: without unwinding a panic does not come back.
#[cfg(not(feature = "std"))]
#[expect(
    clippy::unnecessary_wraps,
    reason = "stands in for the function that catches"
)]
fn catch<R>(f: impl FnOnce() -> R) -> Result<R, Payload> {
    Ok(f())
}

/// Drops a value, and its destructor's panic with it.
fn discard<T>(value: T) {
    if let Err(payload) = catch(|| drop(value)) {
        drop_payload(payload);
    }
}

/// Throws a task's panic once more.
fn rethrow(payload: Payload) -> ! {
    #[cfg(feature = "std")]
    resume_unwind(payload);
    // Unreachable in practice: without unwinding a panic does not come back.
    #[cfg(not(feature = "std"))]
    panic!("a task of a scope panicked: {payload:?}");
}

/// Where a call of [`TaskPool::scope`](crate::TaskPool::scope) spawns tasks that may borrow values that outlive the call.
pub struct Scope<'scope, 'env: 'scope, T> {
    slot: &'scope Slot<'scope>,
    tasks: &'scope RefCell<VecDeque<Task<T>>>,
    panic: &'scope FirstPanic,
    /// Makes the type invariant over `'env`, as it is over `'scope`.
    env: PhantomData<&'env mut &'env ()>,
}

impl<'scope, 'env, T: Send + 'env> Scope<'scope, 'env, T> {
    /// Spawns a task whose result becomes part of the result of [`TaskPool::scope`](crate::TaskPool::scope).
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn<Fut: Future<Output = T> + 'scope>(&self, f: Fut) {
        self.spawn_on_scope(f);
    }

    /// The same as [`spawn`](Self::spawn).
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_on_external<Fut: Future<Output = T> + 'scope>(&self, f: Fut) {
        self.spawn_on_scope(f);
    }

    /// The same as [`spawn`](Self::spawn).
    #[cfg_attr(feature = "timeline", track_caller)]
    pub fn spawn_on_scope<Fut: Future<Output = T> + 'scope>(&self, f: Fut) {
        let executor = self.slot.borrow().clone();
        // The slot is empty only while a scope unwinds; futures that a destructor spawns then are dropped unpolled.
        if let Some(executor) = executor {
            let task = executor.spawn(Child {
                future: f,
                panic: self.panic,
            });
            self.tasks.borrow_mut().push_back(task);
        }
    }
}

impl<T> fmt::Debug for Scope<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tasks = self.tasks.borrow().len();
        f.debug_struct("Scope").field("tasks", &tasks).finish()
    }
}
