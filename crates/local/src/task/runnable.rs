//! [`Runnable`]: what executors of many threads queue, a task that is to be polled once, or a raw job.

use core::mem::ManuallyDrop;
use core::num::NonZeroUsize;
use core::ptr::NonNull;
use core::task::Waker;

use terrace_queue::OwnedWord;
use terrace_trace::Mark;

use super::id::TaskId;
use crate::unwind::contain;

/// What each of the cells of [`build`](super::build) holds beside its future: the core, of the type that the cell's schedule
/// function knows. The reference to it is the future's, so this is good as long as the task can be scheduled.
pub struct Meta {
    pub(super) core: NonNull<()>,
    /// The task, as the timeline knows it.
    pub(super) mark: Mark,
}

// SAFETY: it stands for a reference to a core, and cores are Send and Sync.
unsafe impl Send for Meta {}
// SAFETY: shared, it gives out a pointer to a core, which is Sync.
unsafe impl Sync for Meta {}

/// A runnable of a cell that [`build`](super::build) made.
pub(super) type Own = async_task::Runnable<Meta>;

/// A runnable of any other cell of async-task.
type Foreign = async_task::Runnable;

/// Set in the address of a foreign cell. async-task's cells begin with a word of four bytes and more.
const FOREIGN: usize = 1;
/// Set in the address of a [`RawHeader`], whose alignment is four.
const RAW: usize = 2;
/// The bits that tell the kind. An own cell has none.
const KIND: usize = FOREIGN | RAW;

/// The begin of a job that is no task: two functions, one of which is called once, with the address of this header.
#[repr(C, align(4))]
#[derive(Clone, Copy)]
pub struct RawHeader {
    /// Runs the job. A panic that comes out of it is dropped.
    pub run: unsafe fn(NonNull<RawHeader>),
    /// Drops the job, which does not run.
    pub drop: unsafe fn(NonNull<RawHeader>),
}

/// A task on async-task's cell that is to be polled once. Dropping it cancels the task. Or a raw job.
///
/// One word, the address of the cell. Its lowest bits tell the executor's own cells from *foreign* ones, which the executor did
/// not make, and from raw jobs. The three have different headers, so a call asks for the bits first.
pub struct Runnable(NonNull<()>);

// SAFETY: it is one of two runnables, which async-task sends to any thread, or a raw job. The maker of the cell or job answers for
// its contents.
unsafe impl Send for Runnable {}
// SAFETY: a shared one gives out wakers, as async-task's runnables do, which are Sync. Of a raw job it only tells its bits.
unsafe impl Sync for Runnable {}

/// A [`Runnable`], taken apart.
enum Kind {
    Own(Own),
    Foreign(Foreign),
    Raw(NonNull<RawHeader>),
}

// SAFETY: a runnable is one word, and both functions pass on that word.
unsafe impl OwnedWord for Runnable {
    #[inline]
    fn into_raw(self) -> NonNull<()> {
        ManuallyDrop::new(self).0
    }

    #[inline]
    unsafe fn from_raw(raw: NonNull<()>) -> Self {
        Self(raw)
    }
}

impl Runnable {
    /// Of the executor's own cell.
    #[inline]
    pub(super) fn own(task: Own) -> Self {
        let address = task.into_raw();
        debug_assert!(address.addr().get() & KIND == 0);
        Self(address)
    }

    /// Of a cell that the executor did not make.
    ///
    /// # Panics
    /// If async-task lays its cells on addresses that are no multiple of four. No version 4 does.
    #[inline]
    #[must_use = "a runnable that is dropped cancels its task"]
    pub fn foreign(task: Foreign) -> Self {
        let address = task.into_raw();
        assert!(
            address.addr().get() & KIND == 0,
            "async-task lays its cells out otherwise than this version of terrace-local knows"
        );
        Self(address.map_addr(|address| address | FOREIGN))
    }

    /// Of a job that is no task.
    ///
    /// # Safety
    /// The header, and what its functions use, stay in place and are changed by no other code until one of the two functions is
    /// called, on whatever thread. The functions may be called once, with this pointer.
    #[inline]
    #[must_use = "a raw job has to be run"]
    pub unsafe fn raw(job: NonNull<RawHeader>) -> Self {
        Self(job.cast().map_addr(|address| address | RAW))
    }

    /// Tells it from every other runnable that exists at the same time.
    #[inline]
    pub fn word(&self) -> NonZeroUsize {
        self.0.addr()
    }

    /// The same runnable, without the reference.
    #[inline]
    fn as_kind(&self) -> ManuallyDrop<Kind> {
        ManuallyDrop::new(Self(self.0).into_kind())
    }

    #[inline]
    fn into_kind(self) -> Kind {
        let word = self.into_raw();
        if word.addr().get() & KIND == 0 {
            // SAFETY: without a bit the word is that of `own`, and the runnable that it was has just been taken apart.
            return Kind::Own(unsafe { Own::from_raw(word) });
        }
        // SAFETY: the address of a cell or header is not null.
        let address =
            unsafe { NonNull::new_unchecked(word.as_ptr().map_addr(|word| word & !KIND)) };
        if word.addr().get() & RAW != 0 {
            return Kind::Raw(address.cast());
        }
        // SAFETY: with this bit the word is that of `foreign`, and the runnable that it was has just been taken apart.
        Kind::Foreign(unsafe { Foreign::from_raw(address) })
    }

    /// Polls the task, or drops its future if it was cancelled. No panic comes out: the cell keeps that of its own task. A foreign
    /// cell that does not keep it, or a raw job, lets it out to this call, which drops it. The panic hook has reported it before.
    #[inline]
    pub fn run(self) {
        match self.into_kind() {
            Kind::Own(task) => {
                let _polling = task.metadata().mark.polls();
                task.run();
            }
            Kind::Foreign(task) => run_foreign(task),
            Kind::Raw(job) => call_raw(job, |header| header.run),
        }
    }

    /// The waker of the task. Of a raw job, one that does nothing.
    #[must_use = "a waker wakes nothing by itself"]
    pub fn waker(&self) -> Waker {
        match &*self.as_kind() {
            Kind::Own(task) => task.waker(),
            Kind::Foreign(task) => task.waker(),
            Kind::Raw(_) => Waker::noop().clone(),
        }
    }

    /// Which task it is; `None` for one of a foreign cell, and for a raw job.
    pub fn id(&self) -> Option<TaskId> {
        let address = self.0.addr();
        (address.get() & KIND == 0).then(|| TaskId::of_cell(address))
    }

    /// The task, as the timeline knows it.
    #[inline(always)]
    pub fn mark(&self) -> Mark {
        if !terrace_trace::TIMELINE {
            return Mark::UNKNOWN;
        }
        match &*self.as_kind() {
            Kind::Own(task) => task.metadata().mark,
            Kind::Foreign(_) | Kind::Raw(_) => Mark::UNKNOWN,
        }
    }

    /// Passes the runnable to the schedule function of its cell.
    ///
    /// # Panics
    /// If it is a raw job, which has none. The job is dropped.
    #[inline]
    pub fn schedule(self) {
        match self.into_kind() {
            Kind::Own(task) => task.schedule(),
            Kind::Foreign(task) => task.schedule(),
            Kind::Raw(job) => {
                call_raw(job, |header| header.drop);
                panic!("a raw job has no schedule function");
            }
        }
    }
}

/// Out of line, to keep the turns of own tasks short.
#[inline(never)]
fn run_foreign(task: Foreign) {
    let _polling = Mark::UNKNOWN.polls();
    contain(|| {
        task.run();
    });
}

/// Uses up a raw job that was taken out of its runnable, by one of the functions of its header.
#[inline(never)]
fn call_raw(
    job: NonNull<RawHeader>,
    which: impl FnOnce(&RawHeader) -> unsafe fn(NonNull<RawHeader>),
) {
    contain(|| {
        // SAFETY: the header is in place until one of its functions is called (`Runnable::raw`).
        let function = which(unsafe { job.as_ref() });
        // SAFETY: one of its functions may be called once. The runnable was taken apart, so this is the call.
        unsafe { function(job) }
    });
}

impl Drop for Runnable {
    #[inline]
    fn drop(&mut self) {
        // The copy is the only one that is used from here on.
        match Self(self.0).into_kind() {
            Kind::Own(task) => drop(task),
            Kind::Foreign(task) => drop(task),
            Kind::Raw(job) => call_raw(job, |header| header.drop),
        }
    }
}
