//! [`FallibleTask`]: the handle of a task, on whichever of the two cells, in one word.
//!
//! | its word                 | the task                                                                         |
//! |--------------------------|----------------------------------------------------------------------------------|
//! | an even address          | is on async-task's cell, and this is its handle                                  |
//! | a cell's address, tagged | has that cell of one thread, or one in which it ended before it had another cell |
//! | [`READY`]                | ended in the call that spawned it: its output is to be taken, and needs no place |
//! | `TAG`                    | has ended, and its outcome was taken                                             |
//! | `TAG` and `CANCELLED`    | was cancelled                                                                    |
//!
//! A program may hold many handles, and mostly holds them in a `Vec`. A second word for each, to say what the first one is, cost
//! executors of many threads up to a tenth of a batch.

use core::fmt;
use core::future::{Future, poll_fn};
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, needs_drop};
use core::num::NonZeroUsize;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::pin::Pin;
use core::ptr::{NonNull, without_provenance_mut};
use core::task::{Context, Poll, Waker};

#[cfg(feature = "std")]
use super::awaited;
use super::guarded::Outcome;
use super::id::TaskId;
use super::local::cell::{Cell, FRESH_OUTCOME, Header};
use super::runnable::{Meta, Own};
use crate::biased::{HandleEnd, Joined, State};
use crate::on_owner::OnOwner;
use crate::unwind::{Contained, Payload, resume_unwind};

/// The end of a task: its output or its panic, or `None` if its future was dropped before it was done, or the handle has taken it.
pub(crate) type End<T> = Option<Result<T, Payload>>;

/// A handle on async-task's cell.
type Shared<T> = async_task::FallibleTask<Outcome<T>, Meta>;

/// Set in each word but that of a handle on async-task's cell.
const TAG: usize = 1;
/// Set beside it in a handle without a cell whose task was cancelled.
const CANCELLED: usize = 2;
/// The whole word of a handle without a cell whose output [needs no place](needs_no_place).
const READY: usize = TAG | 4;
/// A cell's own address has all of these clear. A handle's word without a cell has nothing else.
const TAGS: usize = TAG | CANCELLED | READY;
const _: () = assert!(align_of::<Header>() > TAGS);

/// A spawned task whose output is `None` if it was cancelled, or taken before; else as [`Task`](super::Task).
///
/// # Examples
///
/// ```
/// let executor = terrace_local::LocalExecutor::new();
/// let (runs, lost) = (executor.spawn(async { 1 }).fallible(), executor.spawn(async { 2 }).fallible());
/// assert!(executor.try_tick());
/// // Its drop cancels the tasks that have not run.
/// drop(executor);
/// assert_eq!(futures_lite::future::block_on(async { (runs.await, lost.await) }), (Some(1), None));
/// ```
#[must_use = "tasks are cancelled when dropped, use `.detach()` to run them in the background"]
pub struct FallibleTask<T, M = ()> {
    /// See the module. With a cell it has a counted reference.
    word: NonNull<()>,
    pub(super) metadata: M,
    _handle: PhantomData<(Shared<T>, Outcome<T>)>,
}

// SAFETY: it is async-task's handle, or one on a cell of one thread. The future and the core of the latter stay on the owner's thread, or
// are gone since before the handle was made. What the handle takes to another thread is the outcome, and the metadata.
unsafe impl<T, M> Send for FallibleTask<T, M> where (Shared<T>, Outcome<T>, M): Send {}
// SAFETY: it is async-task's handle. A shared one of another cell only says whether the task has ended, out of an atomic, and lends the
// metadata.
unsafe impl<T, M> Sync for FallibleTask<T, M> where (Shared<T>, M): Sync {}

impl<T, M> Unpin for FallibleTask<T, M> {}
impl<T, M> UnwindSafe for FallibleTask<T, M> {}
impl<T, M> RefUnwindSafe for FallibleTask<T, M> {}

/// What a handle is of.
enum Kind {
    Shared,
    Local(Cell),
    /// There is no cell any more.
    Empty,
}

/// Whether outputs of this type need neither a place nor a destructor: a handle alone says that there is one.
const fn needs_no_place<T>() -> bool {
    size_of::<T>() == 0 && !core::mem::needs_drop::<T>()
}

impl<T> FallibleTask<T> {
    /// The handle of the task that `runnable` is of.
    ///
    /// # Panics
    /// If async-task's handle is not the address of its cell. It is in all of version 4.
    #[inline]
    pub(super) fn shared(task: Shared<T>, runnable: Own) -> (Own, Self) {
        const { assert!(size_of::<Shared<T>>() == size_of::<NonNull<()>>()) };
        let cell = runnable.into_raw();
        // SAFETY: the word came out of a runnable in the line above, and is given back once.
        let runnable = unsafe { Own::from_raw(cell) };
        let task = ManuallyDrop::new(task);
        // SAFETY: async-task's handle is of the size of a pointer, as the first line checks, and consists of one.
        let word: *mut () = unsafe { core::mem::transmute_copy(&task) };
        assert!(
            word == cell.as_ptr() && word.addr() & TAG == 0,
            "async-task lays its handles out otherwise than this version of terrace-local knows"
        );
        // SAFETY: it is the runnable's address, which is not null.
        (runnable, Self::of(unsafe { NonNull::new_unchecked(word) }))
    }

    /// The handle of a task on a cell of one thread.
    ///
    /// # Safety
    /// The cell's outcome is an `Outcome<T>`. It counts a reference for this handle, which is its only one.
    #[inline]
    pub(crate) unsafe fn local(cell: Cell) -> Self {
        Self::of(cell.0.cast().map_addr(|address| address | TAG))
    }

    /// The handle of a task with this outcome, if that is an output that [needs no place](needs_no_place).
    ///
    /// # Safety
    /// If there is a handle, the caller forgets the outcome.
    #[inline]
    pub(crate) unsafe fn ready(outcome: &Outcome<T>) -> Option<Self> {
        (needs_no_place::<T>() && outcome.result.is_ok()).then(|| Self::of(tags(READY)))
    }

    /// The same handle, of a fresh task. It gives the cell back, if the output needs no place.
    ///
    /// # Safety
    /// The task is fresh, and nothing has taken its outcome.
    #[inline]
    pub(crate) unsafe fn without_place(self) -> Self {
        let Kind::Local(cell) = self.kind() else {
            return self;
        };
        if !needs_no_place::<T>() {
            return self;
        }
        // SAFETY: the task is fresh.
        let outcome = unsafe { fresh_outcome(cell) };
        // SAFETY: the outcome is there, and the handle has it for itself.
        let outcome = unsafe { outcome.as_ref() };
        // SAFETY: with the cell goes the outcome, unread.
        let Some(ready) = (unsafe { Self::ready(outcome) }) else {
            return self;
        };
        core::mem::forget(self);
        // SAFETY: the task is fresh, and `self` had its only reference.
        unsafe { keep_fresh(cell) };
        ready
    }

    #[inline]
    fn of(word: NonNull<()>) -> Self {
        Self {
            word,
            metadata: (),
            _handle: PhantomData,
        }
    }
}

impl<T, M> FallibleTask<T, M> {
    #[inline]
    fn kind(&self) -> Kind {
        if self.word.addr().get() & TAG == 0 {
            return Kind::Shared;
        }
        match NonNull::new(self.word.as_ptr().map_addr(|address| address & !TAGS)) {
            // `local` made the address out of a cell's, and the handle still has its reference.
            Some(cell) => Kind::Local(Cell(cell.cast())),
            None => Kind::Empty,
        }
    }

    /// A copy of async-task's handle. A caller that takes the handle out of it forgets the original, or the copy.
    ///
    /// # Safety
    /// There is one: [`Kind::Shared`].
    #[inline]
    unsafe fn as_shared(&self) -> ManuallyDrop<Shared<T>> {
        // SAFETY: the word is that of a handle of this type, as the caller says, which is a pointer and nothing else.
        unsafe { NonNull::from(&self.word).cast().read() }
    }

    /// Which task this is, for logs and maps: the same as [`TaskId::current`] inside of it. No two tasks have the same id at a time;
    /// a later task may get the id of one that has ended. It may be `None` where the task ended in the call that
    /// spawned it, and once this handle has returned the task's end.
    #[must_use = "the call only reads a value"]
    pub fn id(&self) -> Option<TaskId> {
        let word = self.word.addr().get();
        let cell = NonZeroUsize::new(word & !TAG).filter(|_| word > TAGS);
        cell.map(TaskId::of_cell)
    }

    /// Whether the task is done, cancelled or has panicked.
    #[inline]
    #[must_use = "the call only answers a question"]
    pub fn is_finished(&self) -> bool {
        match self.kind() {
            // SAFETY: the kind says so.
            Kind::Shared => unsafe { self.as_shared() }.is_finished(),
            Kind::Local(cell) => cell.state().is_finished(),
            Kind::Empty => true,
        }
    }

    /// The outcome of a task that ended in the call that spawned it, if nothing has taken it.
    #[inline]
    fn take_fresh(&mut self) -> Option<Result<T, Payload>> {
        // First what takes one comparison, and none where outputs need a place.
        if let Some(ready) = self.take_ready() {
            return Some(ready);
        }
        let Kind::Local(cell) = self.kind() else {
            return None;
        };
        if !cell.state().is_fresh() {
            return None;
        }
        self.word = tags(TAG);
        // SAFETY: the task is fresh.
        let outcome = unsafe { fresh_outcome(cell) };
        // SAFETY: the outcome is there, and the handle takes it once, with its reference.
        let outcome: Outcome<T> = unsafe { outcome.read() };
        // SAFETY: the task is fresh, and that was the only reference.
        unsafe { keep_fresh(cell) };
        Some(outcome.into_result())
    }

    /// The output of [`ready`](Self::ready), once.
    #[inline]
    fn take_ready(&mut self) -> Option<Result<T, Payload>> {
        if !needs_no_place::<T>() || self.word.addr().get() != READY {
            return None;
        }
        self.word = tags(TAG);
        // SAFETY: `ready` saw a value of this type, which is forgotten, and the handle takes it once. It has no size.
        Some(Ok(unsafe { NonNull::dangling().read() }))
    }

    /// Cancels the task, and polls for the end. [`poll_end`](Self::poll_end) says when its future has been dropped.
    pub(crate) fn begin_cancel(&mut self, context: &mut Context<'_>) -> Poll<End<T>> {
        match self.kind() {
            // SAFETY: both steps keep the handle's reference.
            Kind::Local(cell) => unsafe {
                cell.step(|state| state.cancel_local(), State::cancel_remote);
            },
            Kind::Empty => {}
            Kind::Shared => {
                // SAFETY: the kind says so.
                let task = unsafe { self.as_shared() };
                // async-task's handle is cancelled by a future that has it. So such a future gets the copy for one poll. It drops
                // the copy where it ends, and this handle becomes empty. Else the copy is forgotten with it, which has lent nothing
                // out.
                let mut cancel = ManuallyDrop::new(ManuallyDrop::into_inner(task).cancel());
                // SAFETY: the future stays in its place until it ends or is forgotten.
                let cancelled = unsafe { Pin::new_unchecked(&mut *cancel) }.poll(context);
                if cancelled.is_ready() {
                    self.word = tags(TAG | CANCELLED);
                }
                return cancelled.map(|outcome| outcome.map(Outcome::into_result));
            }
        }
        self.poll_end(context)
    }

    /// Polls for the end: the result, or the panic as a value. If there is none, [`gone`](Self::gone) says what happened. Out of line, to
    /// keep polls of tasks that ended in the call that spawned them short.
    #[inline(never)]
    pub(crate) fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<End<T>> {
        let cell = match self.kind() {
            Kind::Local(cell) => cell,
            Kind::Empty => return Poll::Ready(self.take_ready()),
            Kind::Shared => {
                // SAFETY: the kind says so.
                let mut task = unsafe { self.as_shared() };
                let polled = Pin::new(&mut *task).poll(context);
                match polled {
                    #[cfg(feature = "std")]
                    Poll::Pending => awaited::note(self.id(), context),
                    #[cfg(not(feature = "std"))]
                    Poll::Pending => {}
                    Poll::Ready(Some(_)) => self.remember(TAG),
                    Poll::Ready(None) => self.remember(TAG | CANCELLED),
                }
                return polled.map(|outcome| outcome.map(Outcome::into_result));
            }
        };
        // SAFETY: this is the task's one handle.
        if !cell.state().is_finished() && !unsafe { join(cell, context) } {
            return Poll::Pending;
        }
        self.word = tags(TAG);
        // SAFETY: the task has ended, and the handle has forgotten its reference.
        let outcome = unsafe { Self::take(cell) };
        if outcome.is_none() {
            self.word = tags(TAG | CANCELLED);
        }
        Poll::Ready(outcome.map(Outcome::into_result))
    }

    /// Keeps why there is no outcome any more: async-task's handle does not say it a second time.
    #[inline(never)]
    fn remember(&mut self, why: usize) {
        self.let_go();
        self.word = tags(why);
    }

    /// Panics in the place of the output that a poll has not found. The message begins with the words of `async-task`, which tests of
    /// programs expect.
    #[cold]
    pub(super) fn gone(&self) -> ! {
        debug_assert!(
            self.id().is_none(),
            "a handle that saw its end became an empty one"
        );
        if self.word.addr().get() & CANCELLED != 0 {
            panic!(
                "Task polled after completion: its executor dropped it before it was done, as an executor does that is dropped, \
                 closed or shut down; with `Task::fallible` this is `None` instead of a panic"
            );
        }
        panic!(
            "Task polled after completion: its output, or its panic, was taken before, and there is one; with \
             `Task::fallible` this is `None` instead of a panic"
        );
    }

    /// Lets the task run in the background.
    #[inline]
    pub fn detach(mut self) {
        const {
            assert!(
                !needs_drop::<M>(),
                "the handle is forgotten, and its metadata with it"
            )
        };
        match self.kind() {
            Kind::Shared => {
                // SAFETY: the kind says so.
                let task = unsafe { self.as_shared() };
                core::mem::forget(self);
                ManuallyDrop::into_inner(task).detach();
            }
            Kind::Local(cell) => self.end(cell, HandleEnd::Detach),
            Kind::Empty => {}
        }
    }

    /// Cancels the task and waits until its future has been dropped. Returns the output if it was done before.
    ///
    /// # Panics
    /// With the task's panic, if that came before.
    pub async fn cancel(mut self) -> Option<T> {
        let mut begins = true;
        let end = poll_fn(|context| {
            if core::mem::take(&mut begins) {
                self.begin_cancel(context)
            } else {
                self.poll_end(context)
            }
        });
        end.await.map(deliver)
    }

    /// The result or the panic of a task that has ended; within it `None` if the task was cancelled. Leaves the waker of `context` with
    /// a task whose future is still to be dropped, and with no other.
    #[inline]
    pub(crate) fn take_finished(&mut self, context: &mut Context<'_>) -> Option<End<T>> {
        if let Some(result) = self.take_fresh() {
            return Some(Some(result));
        }
        if !self.is_finished() {
            return None;
        }
        match self.poll_end(context) {
            Poll::Ready(end) => Some(end),
            // The task is cancelled, and its executor has not dropped the future yet.
            Poll::Pending => None,
        }
    }

    /// Takes the output if the task is done. `None` if it is not, was cancelled, or the output was taken before. For a frame
    /// loop that polls: it does not wait, allocate, or make a waker.
    ///
    /// Once the task is done or cancelled this counts as a poll: the task need not wake a waker that an earlier one left.
    ///
    /// # Panics
    /// With the task's panic.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = terrace_local::LocalExecutor::new();
    /// let mut task = executor.spawn(async { "done" });
    /// assert_eq!(task.try_take(), None);
    /// executor.try_tick();
    /// assert_eq!(task.try_take(), Some("done"));
    /// assert_eq!(task.try_take(), None);
    /// ```
    #[inline]
    pub fn try_take(&mut self) -> Option<T> {
        let end = self.take_finished(&mut Context::from_waker(Waker::noop()));
        end.flatten().map(deliver)
    }

    /// Gives up the cell of one thread.
    #[inline]
    fn end(&mut self, cell: Cell, end: HandleEnd) {
        self.word = tags(TAG);
        let local = |state: OnOwner<'_, State>| state.drop_handle_local(end);
        let remote = |state: &State| state.drop_handle_remote(end);
        // SAFETY: the handle has forgotten its reference, which both steps use up unless the task has ended.
        if unsafe { cell.step(local, remote) } {
            // SAFETY: the task has ended, so the step kept the handle's reference.
            drop(unsafe { Self::take(cell) });
        }
    }

    /// The outcome of an ended task, if there is one. Gives back the reference.
    ///
    /// # Safety
    /// The task has ended, and its handle hands over its reference.
    #[inline]
    unsafe fn take(cell: Cell) -> Option<Outcome<T>> {
        let outcome = cell.state().has_outcome().then(|| {
            // SAFETY: the vtable is this cell's, which is in place, so the offset lies in it.
            let outcome = unsafe { cell.0.byte_add(cell.header().vtable.outcome) };
            // SAFETY: `local` was told that it is an outcome, and the handle takes it once, with its reference.
            unsafe { outcome.cast().read() }
        });
        if cell.state().release_ended() {
            // SAFETY: that was the last reference to an ended task.
            unsafe { cell.free() };
        }
        outcome
    }

    /// Drops a handle that has a cell.
    fn let_go(&mut self) {
        #[cfg(feature = "std")]
        awaited::forget(self.id());
        match self.kind() {
            Kind::Shared => {
                // SAFETY: the kind says so.
                let task = unsafe { self.as_shared() };
                self.word = tags(TAG);
                drop(ManuallyDrop::into_inner(task));
            }
            Kind::Local(cell) => self.end(cell, HandleEnd::Cancel),
            Kind::Empty => {}
        }
    }
}

impl<T, M> Future for FallibleTask<T, M> {
    type Output = Option<T>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let end = match self.take_fresh() {
            Some(result) => Poll::Ready(Some(result)),
            None => self.poll_end(context),
        };
        end.map(|end| end.map(deliver))
    }
}

impl<T, M: fmt::Debug> fmt::Debug for FallibleTask<T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FallibleTask")
            .field("finished", &self.is_finished())
            .finish()
    }
}

/// The output, or the task's panic.
#[inline]
fn deliver<T>(result: Result<T, Payload>) -> T {
    result.unwrap_or_else(|payload| resume_unwind(payload))
}

impl<T, M> Drop for FallibleTask<T, M> {
    #[inline]
    fn drop(&mut self) {
        if self.word.addr().get() > TAGS {
            self.let_go();
        }
    }
}

/// A word without a cell.
#[inline]
fn tags(tags: usize) -> NonNull<()> {
    // SAFETY: not null, because `TAG` is set.
    unsafe { NonNull::new_unchecked(without_provenance_mut(tags)) }
}

/// Where a fresh task has its outcome, which is of type `O`.
///
/// # Safety
/// The task is fresh.
#[inline]
unsafe fn fresh_outcome<O>(cell: Cell) -> NonNull<O> {
    // SAFETY: the outcome of a fresh task lies there.
    unsafe { cell.0.byte_add(FRESH_OUTCOME) }.cast()
}

/// Keeps the memory of a fresh task for the thread's next one.
///
/// # Safety
/// The caller has the only reference to the cell, and nothing uses its outcome later.
#[inline]
unsafe fn keep_fresh(cell: Cell) {
    // SAFETY: a fresh task's memory is of the class that its vtable names. There is no awaiter, and the rest of the header needs
    // no drop.
    unsafe { cell.header().vtable.class.keep(cell.0.cast()) };
}

/// Polls a task that has not ended so far. True if it has now.
///
/// # Safety
/// The caller is the task's one handle.
#[inline(never)]
unsafe fn join(cell: Cell, context: &mut Context<'_>) -> bool {
    let local = cell.on_owner();
    // SAFETY: the caller is the task's one handle, and `on_owner` checked the thread.
    let joined = unsafe { cell.state().join(context.waker(), local) };
    match joined {
        Joined::Pending(replaced) => {
            if local.is_some() {
                // SAFETY: this is the owner's thread, as `on_owner` found. The task has not ended, and only this thread ends it,
                // so its core is in place.
                unsafe { cell.core() }.note_awaited();
            }
            drop(Contained(replaced));
            false
        }
        Joined::Ended([replaced, clone]) => {
            drop([Contained(replaced), Contained(clone)]);
            true
        }
    }
}
