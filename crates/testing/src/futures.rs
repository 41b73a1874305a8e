//! Small futures, and polling by hand.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use terrace_sync::atomic::{AtomicUsize, Ordering};
use terrace_sync::{Arc, Mutex};

/// Wakes itself and returns `Pending` as often as it says, then is ready.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Yields(pub u32);

impl Future for Yields {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.0 == 0 {
            return Poll::Ready(());
        }
        self.0 -= 1;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Counts the polls of a future.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Polled<F> {
    future: F,
    polls: Arc<AtomicUsize>,
}

impl<F> Polled<F> {
    /// Adds to `polls` at each poll of `future`.
    pub fn new(polls: &Arc<AtomicUsize>, future: F) -> Self {
        Self {
            future,
            polls: Arc::clone(polls),
        }
    }
}

impl<F: Future + Unpin> Future for Polled<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // Ordering: Relaxed, a sum. The end of the task orders it before the look at it.
        self.polls.fetch_add(1, Ordering::Relaxed);
        Pin::new(&mut self.future).poll(context)
    }
}

/// Polls a future, or a reference to one, once, with a waker that does nothing.
pub fn poll_once<F: Future + Unpin>(mut future: F) -> Poll<F::Output> {
    Pin::new(&mut future).poll(&mut Context::from_waker(Waker::noop()))
}

#[derive(Default)]
struct State {
    is_set: bool,
    waker: Option<Waker>,
}

/// Completes the future that [`signal`] made with it.
#[derive(Clone)]
pub struct Signal(Arc<Mutex<State>>);

impl Signal {
    /// Sets the signal, and wakes the future if it waits.
    pub fn set(&self) {
        let waker = {
            let mut state = self.0.lock();
            state.is_set = true;
            state.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }
}

/// A future, and the signal that completes it.
pub fn signal() -> (impl Future<Output = ()> + Send + use<>, Signal) {
    let signal = Signal(Arc::new(Mutex::new(State::default())));
    let state = signal.clone();
    let future = poll_fn(move |context| {
        let mut state = state.0.lock();
        if state.is_set {
            return Poll::Ready(());
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    });
    (future, signal)
}

/// A future that another thread completes after the thread that awaits it has most likely gone to sleep.
pub fn completed_elsewhere() -> impl Future<Output = ()> + Send + use<> {
    /// Too short a time only makes a test easier.
    const ASLEEP: Duration = Duration::from_millis(20);
    let (future, signal) = signal();
    std::thread::spawn(move || {
        std::thread::sleep(ASLEEP);
        signal.set();
    });
    future
}

/// A place for the waker of a task that waits.
#[derive(Clone, Default)]
pub struct WakerSlot(Arc<Mutex<Option<Waker>>>);

impl WakerSlot {
    /// Leaves the waker of the task in the slot at each poll, and never completes.
    pub async fn forever<T>(self) -> T {
        poll_fn(|context| {
            self.leave(context);
            Poll::Pending
        })
        .await
    }

    /// Leaves the waker of the task in the slot, and completes when it is polled again.
    pub async fn pause(&self) {
        let mut paused = false;
        poll_fn(|context| {
            if std::mem::replace(&mut paused, true) {
                return Poll::Ready(());
            }
            self.leave(context);
            Poll::Pending
        })
        .await;
    }

    /// Leaves the waker in the slot.
    pub fn leave(&self, context: &Context<'_>) {
        let waker = context.waker().clone();
        // The old one is dropped after the lock is released: that may be the end of a task.
        let _old = self.0.lock().replace(waker);
    }

    /// Takes the waker out, if there is one.
    #[must_use]
    pub fn take(&self) -> Option<Waker> {
        self.0.lock().take()
    }

    /// Takes the waker out.
    ///
    /// # Panics
    /// If no task has left one.
    #[must_use]
    #[track_caller]
    pub fn waker(&self) -> Waker {
        self.take().expect("a task has left its waker")
    }
}
