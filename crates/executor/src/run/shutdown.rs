//! The end of a pool's tasks, and that of its threads: a thread waits for them, mostly up to a point in time. The pool stays.
//!
//! A thread that waits until every task has ended:
//!
//! | the pool            | the caller, without a limit                    | with a limit                                      |
//! |---------------------|------------------------------------------------|---------------------------------------------------|
//! | has workers         | waits as in `block_on`                         | blocks                                            |
//! | has none            | drives the pool by a `run` future, in `block_on` | polls a `run` future, and sleeps between two polls |
//!
//! A pool that loses its last worker notifies the waiters, which then drive it.

use std::error::Error;
use std::future::Future;
use std::time::{Duration, Instant};
use std::{fmt, ptr};

use terrace_sync::{Arc, thread};
use terrace_trace::report::count;

use super::block_on::block_on;
use super::life::{resize, wake};
use super::{driver, stand_in, threadless};
use crate::guard::OnDrop;
use crate::parts::threads::Thread;
use crate::parts::waiters::block;
use crate::pool::dump::Dump;
use crate::pool::{Shared, frames, runner, schedule};
use crate::tuned::PERIOD;
use crate::work::bystander_has_work;

/// What becomes of an executor's tasks when its threads are ended.
///
/// | kind                              | a queued task | a task that waits to be woken                  | the limit is over before |
/// |-----------------------------------|---------------|------------------------------------------------|-------------------------------------|
/// | [`FinishAll`](Self::FinishAll)    | runs          | is waited for, and runs to its end             | no thread has been asked to end     |
/// | [`RunQueued`](Self::RunQueued)    | runs          | stays; it runs when the executor is driven     | all threads have been asked to end  |
/// | [`DropQueued`](Self::DropQueued)  | is dropped    | stays, likewise                                | all threads have been asked to end  |
///
/// Only the drop of the executor drops the tasks that wait.
///
/// # Examples
///
/// ```
/// use terrace_executor::{Builder, Shutdown};
///
/// let executor = Builder::new().workers(1).build();
/// let waits = executor.spawn(std::future::pending::<()>());
/// executor.shutdown(Shutdown::RunQueued, None)?;
/// assert!(!executor.is_empty(), "it keeps the task that waits");
/// # drop(waits);
/// # Ok::<(), terrace_executor::StillRunning>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shutdown {
    /// Waits until every task has ended, those that wait for a timer or for IO included; then ends the threads. Tasks may spawn
    /// others until the last one has ended. An executor without workers is driven by the caller.
    FinishAll,
    /// Workers run until nothing is queued. Tasks that wait for something stay as they are. Once woken, they run when
    /// the executor has workers again, or is driven.
    RunQueued,
    /// The threads end first; then the executor drops every queued task.
    DropQueued,
}

/// Other names of two kinds, for programs that took the crate from git.
#[expect(non_upper_case_globals, reason = "they stand where variants stood")]
impl Shutdown {
    /// [`RunQueued`](Self::RunQueued).
    #[deprecated = "it waits for queued tasks only: use `RunQueued`, or `FinishAll` to wait for every task"]
    pub const Drain: Self = Self::RunQueued;
    /// [`DropQueued`](Self::DropQueued).
    #[deprecated = "it drops queued tasks only: use `DropQueued`"]
    pub const Cancel: Self = Self::DropQueued;
}

/// Tasks or threads had not ended when the time was up.
///
/// Its `Display` text also names what most likely was in the way, and its `Debug` text, which `unwrap` shows, is followed by the whole
/// [`dump`](Self::dump).
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use terrace_executor::{Builder, Shutdown};
///
/// let executor = Builder::new().workers(1).build();
/// executor.spawn(std::future::pending::<()>()).detach();
/// let late = executor.shutdown(Shutdown::FinishAll, Some(Duration::ZERO)).unwrap_err();
/// assert_eq!((late.tasks(), late.threads()), (1, 0));
/// assert!(late.to_string().starts_with("1 task of the executor has not ended in time"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct StillRunning {
    threads: usize,
    tasks: usize,
    dump: Box<Dump>,
}

impl StillRunning {
    /// What the executor looked like when the time was up.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use terrace_executor::{Builder, Shutdown};
    ///
    /// let executor = Builder::new().workers(1).build();
    /// executor.spawn(std::future::pending::<()>()).detach();
    /// let late = executor.shutdown(Shutdown::FinishAll, Some(Duration::ZERO)).unwrap_err();
    /// assert!(late.dump().to_string().contains("1 of 1 task not ended"));
    /// ```
    #[must_use = "the call only reads a value"]
    pub fn dump(&self) -> &Dump {
        &self.dump
    }

    /// How many threads were asked to end, and have not. They will. Zero if none was asked.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    /// use std::time::Duration;
    /// use terrace_executor::{Builder, Shutdown};
    ///
    /// let ((begins, begun), (go_on, blocks)) = (channel(), channel::<()>());
    /// let executor = Builder::new().workers(1).build();
    /// let blocking = async move {
    ///     begins.send(()).unwrap();
    ///     blocks.recv()
    /// };
    /// executor.spawn(blocking).detach();
    /// begun.recv().unwrap();
    /// let late = executor.shutdown(Shutdown::RunQueued, Some(Duration::ZERO)).unwrap_err();
    /// assert_eq!(late.threads(), 1);
    /// drop(go_on);
    /// ```
    #[must_use = "the call only reads a value"]
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// How many tasks have not ended: they run, are queued, or wait to be woken.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let executor = terrace_executor::Executor::new();
    /// executor.spawn(std::future::pending::<()>()).detach();
    /// executor.spawn(async {}).detach();
    /// let late = executor.wait_idle(Some(Duration::ZERO)).unwrap_err();
    /// assert!(late.tasks() >= 1, "one of the tasks never ends");
    /// ```
    #[must_use = "the call only reads a count"]
    pub fn tasks(&self) -> usize {
        self.tasks
    }
}

impl fmt::Display for StillRunning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { threads, tasks, .. } = self;
        let have = |count: usize| if count == 1 { "has" } else { "have" };
        let (of_tasks, of_threads) = (count(*tasks, "task"), count(*threads, "thread"));
        match threads {
            0 => write!(
                f,
                "{of_tasks} of the executor {} not ended in time",
                have(*tasks)
            )?,
            _ => write!(
                f,
                "{of_threads} of the executor {} not ended in time, with {of_tasks} left; a task may be blocking a thread",
                have(*threads)
            )?,
        }
        match self.dump.suspects().first() {
            Some(suspect) => write!(f, ": {suspect}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for StillRunning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StillRunning")
            .field("threads", &self.threads)
            .field("tasks", &self.tasks)
            .finish_non_exhaustive()?;
        write!(f, "\n{}", self.dump)
    }
}

impl Error for StillRunning {}

/// The point in time at which `limit` is over; none if it never is.
pub(crate) fn deadline_after(limit: Option<Duration>) -> Option<Instant> {
    limit.and_then(|limit| Instant::now().checked_add(limit))
}

/// Waits for a notification; false if the deadline came first. A thread without a deadline waits as in `block_on`: other threads may wait
/// for tasks that only this one runs. `drives`: whether polls of the future run tasks, of which there are some.
fn wait_for(
    future: impl Future<Output = ()>,
    deadline: Option<Instant>,
    drives: impl Fn() -> bool,
) -> bool {
    if deadline.is_none() {
        block_on(future);
        return true;
    }
    block(future, deadline, drives)
}

/// Waits for a notification that comes without a task of the calling thread. So this runs none: the caller may hold a lock that one wants.
/// A worker or stand-in waits as in `block_on` all the same: other workers may wait for tasks that they cannot take.
pub(crate) fn wait_beside_tasks(listener: impl Future<Output = ()>) {
    if stand_in::is_worker_or_stands_in() {
        block_on(listener);
    } else {
        block(listener, None, || false);
    }
}

/// Waits until every task of the pool has ended.
///
/// # Panics
/// Without a deadline, if the caller is a task of this pool.
pub(crate) fn wait_idle(pool: &Shared, deadline: Option<Instant>) -> Result<(), StillRunning> {
    assert!(
        deadline.is_some() || !is_inside(pool),
        "a task waits for the end of all tasks of its own executor, so also for its own end. Pass a limit, await the \
         other tasks, or call this outside of the executor"
    );
    let handshake = &pool.quiet.handshake;
    // Else an ender may not notify, and this looks from time to time.
    let is_seen = handshake.enter();
    let _waits = OnDrop(|| handshake.leave());
    loop {
        let listener = pool.quiet.event.listen();
        let tasks = pool.seats.active();
        if tasks == 0 {
            return Ok(());
        }
        let is_over = || deadline.is_some_and(|deadline| deadline <= Instant::now());
        let soon = (!is_seen).then(|| Instant::now() + PERIOD);
        let next = deadline.into_iter().chain(soon).min();
        let notified = !is_over()
            && if pool.workers() > 0 {
                wait_for(listener, next, || false)
            } else {
                wait_for(driver::run(pool, listener), next, || {
                    bystander_has_work(pool)
                })
            };
        if !notified && (is_seen || is_over()) && pool.seats.active() > 0 {
            return Err(StillRunning {
                threads: 0,
                tasks: pool.seats.active(),
                dump: Box::new(pool.dump()),
            });
        }
    }
}

/// Whether the caller is in the middle of a task, or a hook, of the pool.
fn is_inside(pool: &Shared) -> bool {
    runner::is_inside(pool) || runner::is_worker_of(pool) || frames::is_in(pool)
}

/// Ends all threads, and waits for them for at most `limit`.
pub(crate) fn shutdown(
    pool: &Arc<Shared>,
    how: Shutdown,
    limit: Option<Duration>,
) -> Result<(), StillRunning> {
    let deadline = deadline_after(limit);
    stand_in::give_way(pool);
    if how == Shutdown::FinishAll {
        wait_idle(pool, deadline)?;
    }
    pool.threads.draining.set(how != Shutdown::DropQueued);
    schedule::empty_slot_in(pool);
    let asked = resize(pool, &pool.threads.list.lock(), 0);
    wake(pool, &asked);
    let caller = Caller::new(pool);
    loop {
        let listener = pool.threads.ended.listen();
        if caller.is_alone() {
            break;
        }
        if !wait_for(listener, deadline, || false) && !caller.is_alone() {
            let own = usize::from(runner::is_worker_of(&raw const **pool));
            let ending = ending(pool, &pool.threads.list.lock()).count();
            let threads = ending.saturating_sub(own);
            let dump = Box::new(pool.dump());
            if how != Shutdown::DropQueued {
                leave_to_waiters(pool);
            }
            return Err(StillRunning {
                threads,
                tasks: pool.seats.active(),
                dump,
            });
        }
    }
    pool.threads.draining.set(false);
    if how == Shutdown::DropQueued && pool.workers() == 0 {
        pool.drop_queued();
    }
    // The caller does this before it joins the threads: destructors of their thread-locals may wait for tasks, and then
    // run them.
    leave_to_waiters(pool);
    caller.join_ended();
    Ok(())
}

/// After a shutdown: threads that wait drive the pool, unless it has got workers again, or never had any.
fn leave_to_waiters(pool: &Arc<Shared>) {
    {
        let _list = pool.threads.list.lock();
        // Ordering: Relaxed, written under the lock.
        if pool.workers() > 0 || !pool.threads.were_any.get() {
            return;
        }
        threadless::register(pool);
    }
    threadless::announce();
    pool.quiet.notify();
}

/// The threads of the pool that have yet to end. All of them, while it has no workers; if it has got workers again, those that were asked
/// to end before, and have not been asked to stay.
fn ending<'l>(pool: &Shared, list: &'l [Arc<Thread>]) -> impl Iterator<Item = &'l Arc<Thread>> {
    list.iter().filter(move |thread| {
        let stays = || !thread.gone.get() && !pool.is_asked_to_end(thread.seat);
        !thread.has_ended() && (pool.workers() == 0 || !stays())
    })
}

/// The thread that is in the middle of a `shutdown` of `pool`, and the threads that it waits for, of those that are [`ending`].
///
/// | the caller                                      | waits until                                          | then joins       |
/// |-------------------------------------------------|------------------------------------------------------|------------------|
/// | is no thread of an executor                     | every thread of the pool has run its last task        | all              |
/// | is a worker, of any executor                    | each of them has, or is inside a `shutdown` itself    | those that have  |
/// | is a thread of the pool that has left its seat  | as a worker                                           | as a worker      |
///
/// So threads that are inside a `shutdown` do not wait for each other. A thread that finds all others ended or inside
/// tells them by `Threads::passes`: when they look, it may have left its own call already.
struct Caller<'p> {
    pool: &'p Shared,
    /// Whether it is a thread of an executor.
    is_inside: bool,
    /// The thread, if this call has marked it, rather than a call that this one is nested in.
    marked: Option<Arc<Thread>>,
    /// `Threads::passes` at the beginning, if it is a thread of `pool`.
    passes: Option<usize>,
}

impl<'p> Caller<'p> {
    fn new(pool: &'p Shared) -> Self {
        let own_pool = runner::with_worker(|worker| worker.map(|worker| worker.pool.arc()));
        let own = own_pool.as_deref().unwrap_or(pool);
        let list = own.threads.list.lock();
        let thread = list.iter().find(|thread| thread.is_here()).cloned();
        let is_listed = thread.is_some();
        let passes = own.threads.passes.get();
        // Only the thread itself counts itself out, and never in the middle of a `shutdown`.
        let marked = thread.filter(|thread| !thread.in_shutdown.get());
        if let Some(thread) = &marked {
            thread.in_shutdown.set(true);
        }
        drop(list);
        if marked.is_some() {
            own.threads.ended.notify(usize::MAX);
        }
        Self {
            pool,
            is_inside: own_pool.is_some() || is_listed,
            marked,
            passes: (is_listed && ptr::eq(own, pool)).then_some(passes),
        }
    }

    /// Whether no thread is left to wait for.
    fn is_alone(&self) -> bool {
        let threads = &self.pool.threads;
        // Starters count threads in, and threads mark themselves, under the lock.
        let list = threads.list.lock();
        // `has_ended` sees all that an ended thread did: it happens before this call returns.
        let ending = || ending(self.pool, &list);
        if !self.is_inside {
            return ending().next().is_none();
        }
        if ending().any(|thread| !thread.in_shutdown.get()) {
            // Ordering: Relaxed, accessed under the lock.
            let passes = threads.passes.get();
            return self.passes.is_some_and(|before| before != passes);
        }
        let inside = |thread: &Arc<Thread>| thread.shuts_down() && !thread.is_here();
        let others = list.iter().any(inside);
        if others {
            threads.passes.rise();
        }
        drop(list);
        if others {
            threads.ended.notify(usize::MAX);
        }
        true
    }

    /// Joins the threads that this call has waited for. Where the caller cannot, it leaves them to a thread that can.
    fn join_ended(&self) {
        if !thread::can_join() {
            return;
        }
        let ended = |thread: &&Arc<Thread>| {
            let is_inside = self.is_inside && thread.in_shutdown.get();
            thread.has_ended() && !is_inside && !thread.is_here()
        };
        let threads = &self.pool.threads;
        let ended: Vec<_> = threads.list.lock().iter().filter(ended).cloned().collect();
        threads.join(ended);
    }
}

impl Drop for Caller<'_> {
    fn drop(&mut self) {
        if let Some(thread) = &self.marked {
            // Without the lock: a thread that sees this took the lock after `is_alone`, and sees what that wrote.
            thread.in_shutdown.set(false);
        }
    }
}
