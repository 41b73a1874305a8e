//! [`abortable`]: a future that any thread may end, on any executor.
//!
//! | `AbortHandle::abort`                  | a poll of the future                                       |
//! |---------------------------------------|------------------------------------------------------------|
//! | 1. under the lock: sets `aborted`, takes the waker | 1. if `aborted`: ends                         |
//! | 2. wakes that waker                   | 2. polls the inner future                                  |
//! |                                       | 3. under the lock: ends if `aborted`, else leaves its waker |
//!
//! The lock orders 3 and 1: either the poll sees `aborted`, or the abort finds the waker. No user code runs under it.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use pin_project_lite::pin_project;
use terrace_sync::{Arc, Mutex, weakened};

/// What the future shares with its handles.
#[derive(Default)]
struct State {
    aborted: bool,
    /// Of the last poll that was pending, until the future is dropped.
    waker: Option<Waker>,
}

/// A future that an [`AbortHandle`] may end, and its first handle.
///
/// The future's output is `None` if it was aborted before it was done. Its inner future is dropped by then, by the task that polls
/// it, on that task's thread. So an abort reaches a task on any executor, from any thread, while another owner has the task's handle.
///
/// One allocation; a poll that is pending takes an uncontended lock twice. An interrupt must not abort: it might wait for that lock.
/// A task without a handle of this kind pays nothing.
///
/// # Examples
///
/// ```
/// use terrace_local::{LocalExecutor, abortable};
///
/// let executor = LocalExecutor::new();
/// let (future, handle) = abortable(std::future::pending::<()>());
/// let task = executor.spawn(future);
/// executor.try_tick();
/// std::thread::spawn(move || handle.abort()).join().unwrap();
/// assert_eq!(futures_lite::future::block_on(executor.run(task)), None);
/// ```
pub fn abortable<F: Future>(future: F) -> (Abortable<F>, AbortHandle) {
    let shared = Arc::<Mutex<State>>::default();
    let handle = AbortHandle {
        shared: Arc::clone(&shared),
    };
    let future = Abortable {
        future: Some(future),
        shared,
    };
    (future, handle)
}

pin_project! {
    /// A future that an [`AbortHandle`] may end: see [`abortable`], which makes it.
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Abortable<F> {
        // There until it is done or aborted.
        #[pin]
        future: Option<F>,
        shared: Arc<Mutex<State>>,
    }

    impl<F> PinnedDrop for Abortable<F> {
        fn drop(this: Pin<&mut Self>) {
            // Dropped outside of the lock: wakers are users' code.
            let waker = this.shared.lock().waker.take();
            drop(waker);
        }
    }
}

impl<F: Future> Future for Abortable<F> {
    type Output = Option<F::Output>;

    /// # Panics
    /// If it is polled after its end.
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<F::Output>> {
        let mut this = self.project();
        let Some(future) = this.future.as_mut().as_pin_mut() else {
            panic!("an abortable future is not polled after its end");
        };
        if !this.shared.lock().aborted {
            if let Poll::Ready(output) = future.poll(context) {
                this.future.set(None);
                return Poll::Ready(Some(output));
            }
            // Cloned outside of the lock, and dropped behind it: wakers are users' code.
            let mut waker = Some(context.waker().clone());
            let mut state = this.shared.lock();
            if !state.aborted || weakened!("abort-unseen") {
                // Leaves the waker for an abort.
                core::mem::swap(&mut state.waker, &mut waker);
                return Poll::Pending;
            }
        }
        this.future.set(None);
        Poll::Ready(None)
    }
}

impl<F> fmt::Debug for Abortable<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Abortable")
            .field("ended", &self.future.is_none())
            .field("aborted", &self.shared.lock().aborted)
            .finish()
    }
}

/// Aborts the future that it was made with. `Send`, `Sync` and `Clone`; it keeps no executor alive, and no
/// task whose future has been dropped.
///
/// # Examples
///
/// ```
/// use terrace_local::abortable;
///
/// let (future, handle) = abortable(async { 42 });
/// assert!(!handle.is_aborted());
/// // Done before it was aborted.
/// assert_eq!(futures_lite::future::block_on(future), Some(42));
/// handle.abort();
/// assert!(handle.is_aborted());
/// ```
#[derive(Clone)]
pub struct AbortHandle {
    shared: Arc<Mutex<State>>,
}

impl AbortHandle {
    /// The future's next poll ends it, or a poll under way where that is pending. A future that is done, or is done by a poll under way,
    /// keeps its output. A second call does nothing.
    ///
    /// # Panics
    /// If the waker of the future's task does.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_local::abortable;
    ///
    /// let (future, handle) = abortable(async { 42 });
    /// handle.abort();
    /// assert_eq!(futures_lite::future::block_on(future), None);
    /// ```
    pub fn abort(&self) {
        let mut state = self.shared.lock();
        state.aborted = true;
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Whether [`abort`](Self::abort) was called.
    #[must_use = "the call only answers a question"]
    pub fn is_aborted(&self) -> bool {
        self.shared.lock().aborted
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortHandle")
            .field("aborted", &self.is_aborted())
            .finish()
    }
}
