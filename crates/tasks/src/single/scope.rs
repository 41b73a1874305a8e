//! Scopes of a pool without threads, in safe code.
//!
//! A scope's tasks live in a [`LocalExecutor`] whose futures may borrow the scope itself, so it has to be given up
//! while that borrow lasts. It therefore sits in a slot that has no destructor, and [`Emptied`] takes it out at the end
//! of the call, while everything the futures may borrow is still alive.

use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::RefCell;
use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
#[cfg(feature = "std")]
use std::panic::{AssertUnwindSafe, resume_unwind};

#[cfg(feature = "std")]
use futures_lite::FutureExt;
use terrace_local::{LocalExecutor, Payload};

use crate::{Task, block_on};

/// Holds a scope's executor from its start until [`Emptied`] is dropped, which leaves nothing behind to be freed.
type Slot<'scope> = ManuallyDrop<RefCell<Option<Rc<LocalExecutor<'scope>>>>>;

/// Takes the executor out of its slot when dropped, and drops it with the futures in it.
struct Emptied<'scope>(&'scope Slot<'scope>);

impl Drop for Emptied<'_> {
    fn drop(&mut self) {
        let executor = self.0.take();
        drop(executor);
    }
}

/// Runs `f` and then all tasks of the scope it gets.
pub(super) fn run<'env, F, T>(f: F) -> Vec<T>
where
    F: for<'scope> FnOnce(&'scope mut Scope<'scope, 'env, T>),
    T: Send + 'static,
{
    let tasks = RefCell::new(VecDeque::new());
    let slot = ManuallyDrop::new(RefCell::new(None));
    let mut scope = Scope {
        slot: &slot,
        tasks: &tasks,
        env: PhantomData,
    };
    let emptied = Emptied(&slot);
    let executor = Rc::new(LocalExecutor::new());
    slot.replace(Some(Rc::clone(&executor)));
    f(&mut scope);
    let results = block_on(executor.run(results(&tasks)));
    drop(executor);
    drop(emptied);
    results.unwrap_or_else(|payload| rethrow(payload))
}

/// Awaits the tasks one after the other, those included that are spawned meanwhile.
async fn results<T>(tasks: &RefCell<VecDeque<Task<T>>>) -> Result<Vec<T>, Payload> {
    let mut results = Ok(Vec::with_capacity(tasks.borrow().len()));
    loop {
        let Some(task) = tasks.borrow_mut().pop_front() else {
            return results;
        };
        match (caught(task).await, &mut results) {
            (Ok(result), Ok(results)) => results.push(result),
            (Err(payload), Ok(_)) => results = Err(payload),
            (_, Err(_)) => {}
        }
    }
}

/// A task's result, or the payload of its panic.
#[cfg(feature = "std")]
async fn caught<T>(task: Task<T>) -> Result<T, Payload> {
    AssertUnwindSafe(task).catch_unwind().await
}

/// Throws a task's panic once more.
#[cfg(feature = "std")]
fn rethrow(payload: Payload) -> ! {
    resume_unwind(payload)
}

/// A task's result: without unwinding a panic does not come back.
#[cfg(not(feature = "std"))]
async fn caught<T>(task: Task<T>) -> Result<T, Payload> {
    Ok(task.await)
}

/// Unreachable in practice, as above.
#[cfg(not(feature = "std"))]
fn rethrow(payload: Payload) -> ! {
    drop(payload);
    panic!("a task of a scope panicked")
}

/// Where a call of [`TaskPool::scope`](crate::TaskPool::scope) spawns tasks that may borrow what outlives the call.
pub struct Scope<'scope, 'env: 'scope, T> {
    slot: &'scope Slot<'scope>,
    tasks: &'scope RefCell<VecDeque<Task<T>>>,
    /// Makes the type invariant over `'env`, as it is over `'scope`.
    env: PhantomData<&'env mut &'env ()>,
}

impl<'scope, 'env, T: Send + 'env> Scope<'scope, 'env, T> {
    /// Spawns a task whose result becomes part of what [`TaskPool::scope`](crate::TaskPool::scope) returns.
    pub fn spawn<Fut: Future<Output = T> + 'scope>(&self, f: Fut) {
        self.spawn_on_scope(f);
    }

    /// The same as [`spawn`](Self::spawn).
    pub fn spawn_on_external<Fut: Future<Output = T> + 'scope>(&self, f: Fut) {
        self.spawn_on_scope(f);
    }

    /// The same as [`spawn`](Self::spawn).
    pub fn spawn_on_scope<Fut: Future<Output = T> + 'scope>(&self, f: Fut) {
        let executor = self.slot.borrow().clone();
        // The slot is empty only while a scope unwinds; what a destructor spawns then is dropped unpolled.
        if let Some(executor) = executor {
            let task = executor.spawn(f);
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
