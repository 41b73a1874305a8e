//! The frame of a `join`, and `join` itself, over whatever pushes, pops and waits.
//!
//! | the frame of the forked half          | is touched by                          | leaves it by                                       |
//! |---------------------------------------|----------------------------------------|----------------------------------------------------|
//! | forked: in the deque                  | no thread                              | the joiner's pop, or a thief's claim               |
//! | popped                                | the joiner, which runs the half        | the end of `join`                                  |
//! | claimed                               | the thief, which runs the half         | the latch                                          |
//! | done: the latch is set                | the joiner, which takes the result     | the end of `join`                                  |
//!
//! A panic of the inline half changes nothing in this table. `join` catches it, pops the other half and runs it, or waits for its thief,
//! and drops its result. So both halves have ended before `join` unwinds. The other half, and the jobs that run in the wait, see no
//! unwinding: their locks poison as on any other day. If both halves panic, the payload of the inline half goes on. Not an API; public
//! for its models.
//!
//! # Children of a fork scope
//!
//! [`ScopeRoot`] is the innermost root of a seat's thread that is a child of a fork scope (`fork_scope.rs`), as its waiter sees it.
//!
//! ```text
//! thread:  version + 1;  scope, root (Release);  version + 1 (Release)
//! waiter:  version is even (Acquire);  scope, root (Acquire);  version is the same -> they belong together
//! ```
//!
//! If the waiter reads a later scope or root than that of its version, it also sees that the version has moved on. While the thread writes, it
//! has no job.

use std::mem::{self, ManuallyDrop, MaybeUninit};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;

use terrace_local::{Payload, contain};
use terrace_queue::fork::{Depth, Latch, Popped, Root, Word};
use terrace_sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use terrace_sync::cell::UnsafeCell;
use terrace_sync::{ordering, weakened};

/// The place in which a thread forks: its deque, and its wait.
pub trait Forker: Sized + 'static {
    /// Wakes a joiner that sleeps.
    type Sleeper;

    /// Makes a job visible to thieves. `None` if it cannot: the caller runs it.
    fn push(&self, job: JobRef<Self>) -> Option<Depth>;

    /// Takes the job of the last push that was not popped.
    ///
    /// # Safety
    /// `at` came out of [`push`](Self::push) of this place, and every later push of it has been popped.
    unsafe fn pop(&self, at: Depth) -> Popped;

    /// Returns when the latch of `job` is done, and does not unwind.
    fn wait(&self, job: &Header<Self>);
}

/// What a thief knows of a job.
#[repr(C)]
pub struct Header<F: Forker> {
    execute: unsafe fn(NonNull<Self>, &F),
    /// Set by the thief, at last.
    pub latch: Latch<F::Sleeper>,
    /// The [`Root`] that the thief has begun with this job, or 0.
    thief: AtomicU64,
}

impl<F: Forker> Header<F> {
    /// Of no job: its latch tells a thread of work, and is never set.
    #[must_use = "a header does nothing until a frame has it"]
    pub fn of_no_job() -> Self {
        Self {
            execute: |_, _| unreachable!("it is in no deque"),
            latch: Latch::new(),
            thief: AtomicU64::new(0),
        }
    }

    /// The function that runs jobs of this call-site.
    #[inline]
    pub fn site(&self) -> usize {
        self.execute as usize
    }

    /// The thief has begun a root with the job.
    #[inline]
    pub fn begun(&self, root: Root) {
        let release = ordering!("executor-root-begun-relaxed", Release);
        // Ordering: Release pairs with the Acquire in `thief`.
        self.thief.store(root.pack(), release);
    }

    /// The root that the thief has begun with the job, once it has.
    #[inline]
    pub fn thief(&self) -> Option<Root> {
        // Ordering: Acquire pairs with the Release in `begun`: the thief's seat shows the root.
        Root::unpack(self.thief.load(Ordering::Acquire))
    }
}

/// A job that was pushed: a pointer to its frame, which outlives the run of the job.
pub struct JobRef<F: Forker>(NonNull<Header<F>>);

impl<F: Forker> Clone for JobRef<F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F: Forker> Copy for JobRef<F> {}

// SAFETY: `join` requires that the half which it forks is `Send`, and its result. The rest of the frame is for any thread.
unsafe impl<F: Forker> Send for JobRef<F> {}

// SAFETY: both casts keep address and provenance.
unsafe impl<F: Forker> Word for JobRef<F> {
    #[inline(always)]
    fn into_raw(self) -> *mut () {
        self.0.as_ptr().cast()
    }

    #[inline(always)]
    unsafe fn from_raw(raw: *mut ()) -> Self {
        // SAFETY: the caller's word was a pointer that is not null.
        Self(unsafe { NonNull::new_unchecked(raw.cast()) })
    }
}

impl<F: Forker> JobRef<F> {
    /// What a thief knows of the job.
    ///
    /// # Safety
    /// The calling thread has claimed the job, or is in the middle of it, and has not set its latch; or it joins the job. It uses the
    /// result no longer than that holds.
    #[inline]
    pub unsafe fn header<'s>(self) -> &'s Header<F> {
        // SAFETY: the joiner keeps the frame until the latch is done.
        unsafe { self.0.as_ref() }
    }

    /// Runs the job on its thief. Its result, or the payload of its panic, is for the joiner.
    ///
    /// # Safety
    /// The calling thread has claimed the job, and runs it once. Then it [sets](Self::set) the latch.
    #[inline]
    pub unsafe fn execute(self, forks: &F) {
        // SAFETY: the calling thread has claimed the job.
        let execute = unsafe { self.header() }.execute;
        // SAFETY: the header is that of the frame which `execute` was made for; the claim is the caller's promise.
        unsafe { execute(self.0, forks) };
    }

    /// Lets the joiner go on. The frame may be gone afterwards.
    ///
    /// # Safety
    /// The calling thread has run the job, and sets the latch once.
    #[inline]
    pub unsafe fn set<W>(self, copy: impl FnOnce(&F::Sleeper) -> W, wake: impl FnOnce(W)) {
        // SAFETY: the joiner keeps the frame until the latch is done.
        let latch = unsafe { &raw const (*self.0.as_ptr()).latch };
        // SAFETY: the latch of a job that this thread ran.
        unsafe { Latch::set(latch, copy, wake) };
    }
}

#[cfg(test)]
impl<F: Forker> JobRef<F> {
    /// A job that does nothing, whose frame is never freed.
    pub(crate) fn leaked() -> Self {
        let frame: &Frame<F, _, ()> = Box::leak(Box::new(Frame::new(|_: &F| ())));
        frame.job()
    }
}

/// The frame of a half that was forked.
#[repr(C)]
struct Frame<F: Forker, A, R> {
    header: Header<F>,
    /// The half, until the thread that got the job takes it.
    half: UnsafeCell<ManuallyDrop<A>>,
    /// Written by the thief before it sets the latch.
    result: UnsafeCell<MaybeUninit<Result<R, Payload>>>,
}

impl<F: Forker, A: FnOnce(&F) -> R, R> Frame<F, A, R> {
    #[inline(always)]
    fn new(half: A) -> Self {
        Self {
            header: Header {
                execute: Self::execute,
                latch: Latch::new(),
                thief: AtomicU64::new(0),
            },
            half: UnsafeCell::new(ManuallyDrop::new(half)),
            result: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    #[inline(always)]
    fn job(&self) -> JobRef<F> {
        JobRef(NonNull::from(self).cast())
    }

    /// The half.
    ///
    /// # Safety
    /// The caller is the one thread that got the job, and takes the half once.
    #[inline(always)]
    unsafe fn take(&self) -> A {
        self.half.with_mut(|half| {
            // SAFETY: no other thread touches the half (the caller's promise).
            let half = unsafe { &mut *half };
            // SAFETY: it is not used again (the caller's promise).
            unsafe { ManuallyDrop::take(half) }
        })
    }

    /// The thief's run.
    ///
    /// # Safety
    /// `header` is that of a frame of this type, and the calling thread has claimed the job.
    unsafe fn execute(header: NonNull<Header<F>>, forks: &F) {
        // SAFETY: the header lies at the start of a frame of this type, which lives until the latch is done.
        let frame = unsafe { header.cast::<Self>().as_ref() };
        // SAFETY: the claim made this thread the one that got the job.
        let half = unsafe { frame.take() };
        let result = catch_unwind(AssertUnwindSafe(|| half(forks)));
        frame.result.with_mut(|place| {
            // SAFETY: until the latch is done, only this thread touches the result.
            unsafe { (*place).write(result) };
        });
    }

    /// The result of the thief.
    ///
    /// # Safety
    /// The job was stolen and its latch is done; the joiner takes the result once.
    unsafe fn result(&self) -> Result<R, Payload> {
        self.result.with(|place| {
            // SAFETY: the thief is done with the place.
            let place = unsafe { &*place };
            // SAFETY: the thief has written it before it set the latch, and it is read once (the caller's promise).
            unsafe { place.assume_init_read() }
        })
    }
}

/// The inline half has panicked: ends the forked one, and drops its result. Then the panic of the inline half goes on.
#[cold]
#[inline(never)]
fn unwind<F: Forker, A: FnOnce(&F) -> R, R>(
    forks: &F,
    frame: &Frame<F, A, R>,
    at: Depth,
    payload: Payload,
) -> ! {
    if weakened!("executor-join-forgets") {
        resume_unwind(payload);
    }
    // SAFETY: the inline half has unwound, and with it each push that it made was popped.
    match unsafe { forks.pop(at) } {
        Popped::Mine => {
            // SAFETY: the pop gave the job to this thread.
            let half = unsafe { frame.take() };
            end_beside(payload, || drop(half(forks)))
        }
        Popped::Stolen => end_beside(payload, || drop(stolen(forks, frame))),
    }
}

/// Calls `end`, and drops the payload of its panic. Then the panic with `payload` goes on.
fn end_beside(payload: Payload, end: impl FnOnce()) -> ! {
    contain(end);
    resume_unwind(payload)
}

/// The result of the inline half, while the forked one may panic. Then it is dropped, and a panic of its destructor stops here: it would
/// meet the other, which ends the process.
struct Kept<R>(ManuallyDrop<R>);

impl<R> Kept<R> {
    #[inline(always)]
    fn new(result: R) -> Self {
        Self(ManuallyDrop::new(result))
    }

    #[inline(always)]
    fn into_inner(self) -> R {
        let mut kept = ManuallyDrop::new(self);
        // SAFETY: it is not dropped, nor used again.
        unsafe { ManuallyDrop::take(&mut kept.0) }
    }
}

impl<R> Drop for Kept<R> {
    #[inline(always)]
    fn drop(&mut self) {
        #[cold]
        #[inline(never)]
        fn drop_it<R>(result: &mut ManuallyDrop<R>) {
            // SAFETY: the caller drops it once, at its end.
            contain(|| unsafe { ManuallyDrop::drop(result) });
        }

        // Without a destructor nothing is left of this, not even code for the unwinding.
        if mem::needs_drop::<R>() {
            drop_it(&mut self.0);
        }
    }
}

/// Runs both halves: forks `a`, runs `b`, and then `a` unless another thread took it. Returns, or unwinds, when both have
/// ended. `emptied` is called where a pop finds the deque empty.
///
/// # Panics
/// If a half panics; with the payload of `b` if both do.
#[inline(always)]
pub fn join<F: Forker, A, B, RA, RB>(forks: &F, a: A, b: B) -> (RA, RB)
where
    A: FnOnce(&F) -> RA + Send,
    B: FnOnce(&F) -> RB + Send,
    RA: Send,
    RB: Send,
{
    let frame = Frame::new(a);
    let Some(at) = forks.push(frame.job()) else {
        // SAFETY: the job was not pushed, so no other thread has it.
        let half = unsafe { frame.take() };
        return in_order(forks, half, b);
    };
    let from_b = match catch_unwind(AssertUnwindSafe(|| b(forks))) {
        Ok(from_b) => Kept::new(from_b),
        Err(payload) => unwind(forks, &frame, at, payload),
    };
    // SAFETY: the inline half has returned, so each push that it made was popped.
    let from_a = match unsafe { forks.pop(at) } {
        Popped::Mine => {
            // SAFETY: the pop gave the job to this thread.
            let half = unsafe { frame.take() };
            half(forks)
        }
        Popped::Stolen => stolen(forks, &frame),
    };
    (from_a, from_b.into_inner())
}

/// The result of a half that a thief runs.
#[cold]
#[inline(never)]
fn stolen<F: Forker, A: FnOnce(&F) -> R, R>(forks: &F, frame: &Frame<F, A, R>) -> R {
    forks.wait(&frame.header);
    // SAFETY: the wait has ended, and this is the one call.
    match unsafe { frame.result() } {
        Ok(result) => result,
        Err(payload) => resume_unwind(payload),
    }
}

/// Both halves on this thread, in the order of a `join` that no thief disturbs.
#[inline(never)]
fn in_order<F: Forker, A, B, RA, RB>(forks: &F, a: A, b: B) -> (RA, RB)
where
    A: FnOnce(&F) -> RA,
    B: FnOnce(&F) -> RB,
{
    let from_b = match catch_unwind(AssertUnwindSafe(|| b(forks))) {
        Ok(from_b) => Kept::new(from_b),
        Err(payload) => end_beside(payload, || drop(a(forks))),
    };
    let from_a = a(forks);
    (from_a, from_b.into_inner())
}

/// What a seat shows.
#[derive(Debug, Default)]
pub struct ScopeRoot {
    /// It wraps.
    version: AtomicUsize,
    scope: AtomicUsize,
    root: AtomicU64,
}

impl ScopeRoot {
    /// The thread of the seat is inside of `root` from now on, which is a child of the scope at this address. Returns what was
    /// here before.
    pub fn replace(&self, (scope, root): (usize, u64)) -> (usize, u64) {
        // Ordering: Relaxed, all loads: the thread's own stores.
        let version = self.version.load(Ordering::Relaxed);
        let before = (
            self.scope.load(Ordering::Relaxed),
            self.root.load(Ordering::Relaxed),
        );
        // Ordering: Relaxed, published with the two below.
        self.version
            .store(version.wrapping_add(1), Ordering::Relaxed);
        let release = ordering!("executor-scope-root-relaxed", Release);
        // Ordering: Release, both, pair with the Acquire loads in `of`: they bring the odd version along.
        self.scope.store(scope, release);
        self.root.store(root, release);
        // Ordering: Release pairs with the Acquire load in `of`: the version brings both along.
        self.version
            .store(version.wrapping_add(2), Ordering::Release);
        before
    }

    /// The root, if it is a child of the scope at this address.
    pub fn of(&self, scope: usize) -> Option<Root> {
        // Ordering: Acquire pairs with the last store in `replace`.
        let version = self.version.load(Ordering::Acquire);
        let acquire = ordering!("executor-scope-root-look-relaxed", Acquire);
        // Ordering: Acquire, both, pair with the Release stores in `replace`.
        let is_here = self.scope.load(acquire) == scope;
        let root = self.root.load(acquire);
        // Ordering: Relaxed, after the Acquire loads of what is checked.
        let is_same = self.version.load(Ordering::Relaxed) == version;
        Root::unpack(root).filter(|_| is_here && is_same && version % 2 == 0)
    }
}

#[cfg(all(test, not(terrace_loom)))]
mod tests {
    use std::thread;

    use terrace_queue::fork::{ForkDeque, Nest};

    use terrace_sync::atomic::AtomicBool;

    use super::*;

    /// The thread of a seat is inside of a child of scope 1, and again and again in the middle of it inside of one of scope 2.
    #[test]
    fn a_scope_finds_no_root_of_another_one() {
        let _watchdog = terrace_testing::watchdog();
        let rounds = if cfg!(miri) { 50 } else { 20_000 };
        let shown = &ScopeRoot::default();
        let deque = ForkDeque::<usize>::boxed();
        // SAFETY: one owner handle of this deque.
        let me = unsafe { deque.owner() };
        let nest = Nest::of_seat(0).expect("a small number");
        let outer = nest.begin(&me).expect("no job lies below");
        assert_eq!(shown.replace((1, outer.pack())), (0, 0));
        assert_eq!((shown.of(1), shown.of(2)), (Some(outer), None));
        let ended = AtomicBool::new(false);
        thread::scope(|threads| {
            threads.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    assert!(shown.of(1).is_none_or(|root| root == outer));
                    assert_ne!(shown.of(2), Some(outer));
                }
            });
            for _ in 0..rounds {
                let inner = nest.begin(&me).expect("no job lies below");
                let before = shown.replace((2, inner.pack()));
                assert_eq!(before, (1, outer.pack()));
                assert_eq!((shown.of(1), shown.of(2)), (None, Some(inner)));
                shown.replace(before);
                nest.end(&me, inner);
            }
            ended.store(true, Ordering::Relaxed);
        });
    }
}
