//! A job: a closure on the heap that runs once, behind a pointer that fits into a register.
//!
//! A job that borrows has a second closure, which tells the waiter that the first one has returned. Then what the first one borrowed may go
//! at once. The compiler may rely on a reference until the function returns that got it: so no function that has got the first closure
//! is running any more.
//!
//! A queue moves a job in and out under its lock. A fat pointer with the scope beside it takes three words, which each move writes to the
//! stack and reads back.

use std::mem;
use std::ptr::NonNull;

use crate::children::{ChildOf, Core};

/// A closure that runs once, on a thread of its pool. One that is dropped does not run.
pub(crate) struct Job(NonNull<Header>);

// SAFETY: it owns a closure that is `Send`: both makers require it. A `ChildOf` is `Send`.
unsafe impl Send for Job {}

/// What is done with the closure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Run,
    Drop,
}

/// What all jobs have.
struct Header {
    /// The scope that it is a child of. It is counted in until the job has run.
    scope: Option<ChildOf>,
    /// Frees the job, and runs or drops its closures.
    end: unsafe fn(NonNull<Header>, End),
}

/// A job of two closures, which get the scope.
#[repr(C)]
struct Frame<F, E> {
    header: Header,
    run: F,
    ended: E,
}

impl<F: FnOnce(Option<ChildOf>), E: FnOnce(Option<ChildOf>)> Frame<F, E> {
    /// # Safety
    /// `header` is that of a frame of this type out of `Box::into_raw`, and is not used afterwards.
    unsafe fn end(header: NonNull<Header>, end: End) {
        // SAFETY: the caller's promise; the header is the first field.
        let frame = unsafe { Box::from_raw(header.cast::<Self>().as_ptr()) };
        let Self { header, run, ended } = *frame;
        if end == End::Run {
            Core::while_in(header.scope, || run(header.scope));
            ended(header.scope);
        }
    }
}

impl Job {
    /// A job of no scope. `run` does not unwind.
    pub(crate) fn new(run: impl FnOnce() + Send + 'static) -> Self {
        // SAFETY: it borrows nothing.
        unsafe { Self::borrowing(run, || ()) }
    }

    /// A job of no scope that may borrow: calls `run`, and then `ended`. Neither unwinds.
    ///
    /// # Safety
    /// The job is run. What `run` borrows lives until `run` has returned, and `ended` borrows nothing.
    pub(crate) unsafe fn borrowing(run: impl FnOnce() + Send, ended: impl FnOnce() + Send) -> Self {
        Self::boxed(None, |_| run(), |_| ended())
    }

    /// A child of `scope`, counted out after `run` has returned, which does not unwind.
    ///
    /// # Safety
    /// The child was counted in, and the job is run. What `run` borrows lives until the child is counted out.
    pub(crate) unsafe fn child(scope: ChildOf, run: impl FnOnce(&Core) + Send) -> Self {
        const SCOPE: &str = "a child has a scope";
        // SAFETY: the child is not counted out yet.
        let run = |scope: Option<ChildOf>| run(unsafe { scope.expect(SCOPE).as_ref() });
        // SAFETY: the child was counted in (the caller's promise), and a job runs once.
        let ended = |scope: Option<ChildOf>| unsafe { scope.expect(SCOPE).count_out() };
        Self::boxed(Some(scope), run, ended)
    }

    /// A frame on the heap.
    fn boxed<F, E>(scope: Option<ChildOf>, run: F, ended: E) -> Self
    where
        F: FnOnce(Option<ChildOf>) + Send,
        E: FnOnce(Option<ChildOf>) + Send,
    {
        let end = Frame::<F, E>::end;
        let header = Header { scope, end };
        let frame = Box::into_raw(Box::new(Frame { header, run, ended }));
        // SAFETY: a box is not null.
        Self(unsafe { NonNull::new_unchecked(frame.cast()) })
    }

    fn header(&self) -> &Header {
        // SAFETY: the job owns its frame, and the header is its first field.
        unsafe { self.0.as_ref() }
    }

    /// Runs it.
    pub(crate) fn run(self) {
        let (frame, end) = (self.0, self.header().end);
        mem::forget(self);
        // SAFETY: the frame is this job's, which is forgotten.
        unsafe { end(frame, End::Run) };
    }

    /// Runs it, if there is one.
    pub(crate) fn run_some(job: Option<Self>) -> bool {
        job.map(Self::run).is_some()
    }

    pub(crate) fn child_of(&self) -> Option<ChildOf> {
        self.header().scope
    }

    /// The scope that it is a child of.
    pub(crate) fn scope(&self) -> Option<&Core> {
        // SAFETY: the child is counted out after the job has run.
        self.child_of().map(|scope| unsafe { scope.as_ref() })
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let end = self.header().end;
        // SAFETY: the frame is this job's, which goes.
        unsafe { end(self.0, End::Drop) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::Job;

    #[test]
    fn a_closure_runs_or_is_dropped_once() {
        let runs = Arc::new(AtomicUsize::new(0));
        let job = || {
            let runs = Arc::clone(&runs);
            Job::new(move || {
                runs.fetch_add(1, Ordering::Relaxed);
            })
        };
        job().run();
        assert_eq!(
            (runs.load(Ordering::Relaxed), Arc::strong_count(&runs)),
            (1, 1)
        );
        drop(job());
        assert_eq!(
            (runs.load(Ordering::Relaxed), Arc::strong_count(&runs)),
            (1, 1)
        );
    }
}
