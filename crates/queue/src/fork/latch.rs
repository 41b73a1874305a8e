//! [`Latch`]: a thief says that the job which it has stolen has ended.
//!
//! | state        | means                                        | becomes        | by                                    |
//! |--------------|----------------------------------------------|----------------|---------------------------------------|
//! | `UNSET`      | the job runs, and its joiner is awake          | `ASLEEP`       | the joiner, compare-exchange          |
//! |              |                                              | `DONE`         | the thief, compare-exchange           |
//! | `ASLEEP` (s) | the joiner sleeps, or did: `s` wakes it        | `DONE`         | the thief, which copies `s` before    |
//! | `DONE`       | the frame belongs to the joiner alone again    | –              | –                                     |
//!
//! The latch lies in the joiner's frame, which may go as soon as it is `DONE`. So the thief touches nothing of the frame after that,
//! and wakes by a copy of the sleeper. The joiner announces itself once: a sleeper stays until `DONE`, so that the thief may
//! copy it at any time. A joiner that is awake again gets one wake in vain.
//!
//! A wake is not lost. Announcement and `DONE` exchange one word. If the announcement comes first, the thief wakes. Else the joiner
//! sees `DONE`. What wakes it (`Notify`) keeps a notification for a thread that is about to sleep.
//!
//! The joiner also sleeps for work that the job makes visible, and looks for it. Of the two the later one to fence sees the other:
//!
//! ```text
//! joiner:  announces itself, in this sleep or in an earlier one;  H;  looks for work
//! job:     work;  l;  a sleeper -> wakes it
//! ```

use core::{fmt, ptr};

use terrace_sync::atomic::{AtomicPtr, Ordering};
use terrace_sync::{heavy, light, ordering, weakened};

/// The latch of a job that was stolen: its thief sets it, the joining thread waits for it. `S` wakes the joiner.
///
/// # Examples
///
/// ```
/// use std::thread;
/// use terrace_queue::fork::Latch;
///
/// let latch = Latch::new();
/// let sleeper = thread::current();
/// thread::scope(|scope| {
///     scope.spawn(|| {
///         // SAFETY: this is the one call, and the latch outlives the scope.
///         unsafe { Latch::set(&raw const latch, thread::Thread::clone, |joiner| joiner.unpark()) };
///     });
///     // SAFETY: the sleeper lives until the latch is done.
///     if unsafe { latch.announce(&sleeper) } {
///         while !latch.is_done() {
///             thread::park();
///         }
///     }
/// });
/// assert!(latch.is_done());
/// ```
pub struct Latch<S>(AtomicPtr<S>);

/// The address that says that the job has ended. No sleeper lies there.
fn done<S>() -> *mut S {
    ptr::without_provenance_mut(1)
}

impl<S> Latch<S> {
    terrace_sync::const_fn! {
        /// An unset latch. The [type](Self) has an example.
        #[inline(always)]
        pub const fn new() -> Self {
            Self(AtomicPtr::new(ptr::null_mut()))
        }
    }

    /// Whether the job has ended. If so, the caller sees its result.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::fork::Latch;
    ///
    /// let latch = Latch::<()>::new();
    /// assert!(!latch.is_done());
    /// // SAFETY: this is the one call, and the latch lives.
    /// unsafe { Latch::set(&raw const latch, |_| (), |()| ()) };
    /// assert!(latch.is_done());
    /// ```
    #[inline]
    pub fn is_done(&self) -> bool {
        let acquire = ordering!("queue-latch-look-relaxed", Acquire);
        // Ordering: Acquire pairs with the Release of `set`: the result is written, and the thief is done with the frame.
        self.0.load(acquire) == done()
    }

    /// The joiner is going to sleep: `sleeper` will wake it. False if the job has ended. Called at most once.
    /// The [type](Self) has an example.
    ///
    /// # Safety
    /// `sleeper` lives, any thread may use it, and it is not changed, until [`is_done`](Self::is_done) is true.
    pub unsafe fn announce(&self, sleeper: &S) -> bool {
        let sleeper = ptr::from_ref(sleeper).cast_mut();
        // Ordering: Release publishes the sleeper, Acquire of a failure pairs with the Release of `set`.
        let release = ordering!("queue-latch-announce-relaxed", Release);
        self.0
            .compare_exchange(ptr::null_mut(), sleeper, release, Ordering::Acquire)
            .is_ok()
    }

    /// The sleeper of a joiner that has announced itself. Only for a thread that runs the job: until it sets the latch, the
    /// sleeper lives.
    ///
    /// # Safety
    /// The calling thread runs the job, and has not set the latch.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::fork::Latch;
    ///
    /// let (latch, joiner) = (Latch::new(), "the joiner");
    /// // SAFETY: this thread stands for the one that runs the job, and has not set the latch.
    /// assert_eq!(unsafe { latch.sleeper() }, None);
    /// // SAFETY: the sleeper lives as long as the latch.
    /// assert!(unsafe { latch.announce(&joiner) });
    /// // SAFETY: as above.
    /// assert_eq!(unsafe { latch.sleeper() }, Some(&"the joiner"));
    /// ```
    #[inline]
    pub unsafe fn sleeper(&self) -> Option<&S> {
        let acquire = ordering!("queue-latch-sleeper-relaxed", Acquire);
        // Ordering: Acquire pairs with the Release of `announce`.
        let sleeper = self.0.load(acquire);
        // SAFETY: the latch is not done (the caller's promise), so this is null or a sleeper, which lives until it is.
        unsafe { sleeper.as_ref() }
    }

    /// As [`sleeper`](Self::sleeper), by a job that has made work visible: the joiner is returned, or sees the work
    /// behind its [fence](Self::fence_before_look).
    ///
    /// # Safety
    /// As [`sleeper`](Self::sleeper).
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::fork::Latch;
    ///
    /// let (latch, joiner) = (Latch::new(), "the joiner");
    /// // SAFETY: the sleeper lives as long as the latch.
    /// assert!(unsafe { latch.announce(&joiner) });
    /// latch.fence_before_look();
    /// // The joiner finds no work, and sleeps. Then the job makes some visible.
    /// // SAFETY: this thread stands for the one that runs the job, and has not set the latch.
    /// assert_eq!(unsafe { latch.sleeper_for_work() }, Some(&"the joiner"));
    /// ```
    #[inline]
    pub unsafe fn sleeper_for_work(&self) -> Option<&S> {
        // Fence pair: `heavy` in `fence_before_look`.
        light();
        // SAFETY: the caller's promise.
        unsafe { self.sleeper() }
    }

    /// The joiner, which has announced itself, calls this before it looks for work of the job, in each sleep.
    /// [`sleeper_for_work`](Self::sleeper_for_work) has an example.
    #[inline]
    pub fn fence_before_look(&self) {
        // Fence pair: `light` in `sleeper_for_work`.
        if !weakened!("queue-latch-work-unfenced") {
            heavy();
        }
    }

    /// The job has ended: the joiner may go on. Wakes it with `wake` if it sleeps, by what `copy` made of its sleeper.
    /// The [type](Self) has an example.
    ///
    /// # Safety
    /// `this` is the latch of a job that the calling thread ran, and that it has not set. The frame may be gone when this
    /// returns.
    #[inline]
    pub unsafe fn set<W>(this: *const Self, copy: impl FnOnce(&S) -> W, wake: impl FnOnce(W)) {
        // SAFETY: the joiner keeps the frame until the latch is done.
        let word = unsafe { &(*this).0 };
        let release = ordering!("queue-latch-set-relaxed", Release);
        // Ordering: Release hands the result and the frame over. Acquire of a failure pairs with the Release of `announce`.
        let exchanged = word.compare_exchange(ptr::null_mut(), done(), release, Ordering::Acquire);
        let Err(sleeper) = exchanged else { return };
        if weakened!("queue-latch-copy-late") {
            word.store(done(), Ordering::Release);
            // SAFETY: none: this is the fault that the models find.
            return wake(copy(unsafe { &*sleeper }));
        }
        // SAFETY: the joiner keeps its sleeper until the latch is done.
        let copied = copy(unsafe { &*sleeper });
        if weakened!("queue-latch-wake-early") {
            wake(copied);
            word.store(done(), Ordering::Release);
            return;
        }
        // Ordering: Release as above: also the read of the sleeper comes before the joiner drops it.
        word.store(done(), release);
        wake(copied);
    }
}

impl<S> Default for Latch<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> fmt::Debug for Latch<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Latch")
            .field("is_done", &self.is_done())
            .finish()
    }
}
