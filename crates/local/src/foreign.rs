//! Tasks in cells that the executor does not make: how a program queues any `async_task::Runnable` on a thread's executor.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use async_task::{Runnable, ScheduleInfo};

use crate::executor::LocalExecutor;
use crate::spawn::LocalSpawner;
use crate::thread_id::{ThreadNumber, thread_id};

/// Queues runnables of [`async_task`] cells on the executor of one thread. [`LocalExecutor::scheduler`] makes it.
///
/// It is for programs that bring their own cells: with metadata of their own in the schedule function, or with the plain
/// [`async_task::Task`] as the handle. The schedule function of a cell keeps a scheduler, and calls [`schedule`](Self::schedule).
/// The runnables lie in the same queues as the executor's own tasks, and have their turns in the same order.
///
/// The executor's thread alone runs a runnable that was given to a scheduler, and it alone drops one. So the future need not be
/// `Send`. `async_task::spawn_local` makes cells of such futures without unsafe code.
///
/// These things of the executor's own tasks they lack:
///
/// - Each call of `schedule` makes a small task that holds the runnable: one allocation a wake. So an interrupt must not wake them.
/// - A panic stays in the cell only if the cell was built with `Builder::propagate_panic`. Else it is a panic of the small task,
///   which goes to the executor's panic handler.
/// - The drop of the executor drops the runnables that are queued. It does not find the cells that wait for a wake, and
///   [`is_empty`](LocalExecutor::is_empty) does not count them. A later wake on the executor's thread drops the runnable. One on
///   another thread leaks it, since its future may have to stay on its thread; a handle that awaits it waits without end.
///
/// # Examples
///
/// ```
/// use async_task::{Runnable, ScheduleInfo, WithInfo};
///
/// let executor = terrace_local::LocalExecutor::new();
/// let scheduler = executor.scheduler();
/// let schedule = move |runnable: Runnable, info: ScheduleInfo| scheduler.schedule(runnable, info);
/// let number = std::rc::Rc::new(42);
/// let (runnable, task) = async_task::spawn_local(async move { *number }, WithInfo(schedule));
/// runnable.schedule();
/// assert_eq!(futures_lite::future::block_on(executor.run(task)), 42);
/// ```
#[derive(Clone)]
pub struct LocalScheduler {
    spawner: LocalSpawner,
}

impl LocalExecutor<'_> {
    /// A handle that queues runnables of cells which the executor did not make, from any thread.
    /// [`LocalScheduler`] has an example.
    #[must_use = "a handle spawns nothing by itself"]
    pub fn scheduler(&self) -> LocalScheduler {
        LocalScheduler {
            spawner: self.spawner(),
        }
    }
}

impl LocalScheduler {
    /// Queues a runnable behind all others, and wakes the executor's thread: the body of a schedule function.
    /// The [type](Self) has an example.
    pub fn schedule(&self, runnable: Runnable, _info: ScheduleInfo) {
        self.start(runnable);
    }

    /// As [`schedule`](Self::schedule), for a caller that has no [`ScheduleInfo`].
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_local::LocalExecutor::new();
    /// let scheduler = executor.scheduler();
    /// let schedule = move |runnable| scheduler.start(runnable);
    /// let (runnable, task) = async_task::spawn_local(async { 6 * 7 }, schedule);
    /// runnable.schedule();
    /// assert_eq!(futures_lite::future::block_on(executor.run(task)), 42);
    /// ```
    pub fn start(&self, runnable: Runnable) {
        let turn = Turn {
            runnable: Some(runnable),
            owner: self.spawner.thread_id(),
        };
        self.spawner.spawn(turn).detach();
    }
}

impl fmt::Debug for LocalScheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalScheduler")
            .field("thread", &self.spawner.thread_id())
            .finish()
    }
}

/// The small task of one turn of a runnable.
struct Turn {
    /// There until it is polled.
    runnable: Option<Runnable>,
    owner: ThreadNumber,
}

impl Future for Turn {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        // The executor polls its tasks on its own thread.
        if let Some(runnable) = self.runnable.take() {
            runnable.run();
        }
        Poll::Ready(())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.owner != thread_id() {
            // The executor has ended, and the runnable's future may have to stay on that thread.
            core::mem::forget(self.runnable.take());
        }
    }
}
