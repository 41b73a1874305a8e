//! The parts of behaviours: counts of living values, places for wakers, ways to drive.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use terrace_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use terrace_sync::{Arc, Mutex};

use terrace_testing::Yields;
pub use terrace_testing::{OnDrop, WakerSlot as Slot, payload_of};

use crate::kind::{Caps, Kind};

/// Counts futures and outputs that live, by the [`Token`]s in them.
pub struct Tracker {
    live: Arc<AtomicUsize>,
    patience: Duration,
}

impl Tracker {
    /// Nothing lives yet.
    #[must_use]
    pub fn new(patience: Duration) -> Self {
        let live = Arc::default();
        Self { live, patience }
    }

    /// Something that lives until it is dropped.
    pub fn token(&self) -> Token {
        self.live.fetch_add(1, Ordering::AcqRel);
        Token(Arc::clone(&self.live))
    }

    /// How many live.
    #[must_use]
    pub fn live(&self) -> usize {
        self.live.load(Ordering::Acquire)
    }

    /// A counter for a behaviour's own events.
    #[must_use]
    pub fn counter(&self) -> Counter {
        Counter::default()
    }

    /// Waits for threads that are still dropping.
    ///
    /// # Panics
    /// If something still lives after that.
    pub fn all_gone(&self) {
        let mut limit = Limit::new(self.patience);
        while self.live() != 0 {
            assert!(
                limit.idle(),
                "{} futures or outputs are leaked",
                self.live()
            );
        }
    }
}

/// Part of a future or an output; see [`Tracker`].
#[must_use]
pub struct Token(Arc<AtomicUsize>);

impl Drop for Token {
    fn drop(&mut self) {
        // A second drop of the same token would be a use after free; the sanitizer sees that, this cannot.
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A number that tasks add to.
#[derive(Clone, Default, Debug)]
pub struct Counter(Arc<AtomicUsize>);

impl Counter {
    /// Adds one.
    pub fn add(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }

    /// The sum.
    #[must_use]
    pub fn get(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }
}

/// A bound on waiting: a time where there are clocks and threads; where there is neither, nothing comes by waiting.
pub struct Limit {
    #[cfg(not(target_arch = "wasm32"))]
    end: std::time::Instant,
    rounds: u32,
}

impl Limit {
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn new(patience: Duration) -> Self {
        let end = std::time::Instant::now() + patience;
        Self { end, rounds: 0 }
    }

    #[cfg(target_arch = "wasm32")]
    pub(crate) fn new(_patience: Duration) -> Self {
        Self { rounds: 0 }
    }

    /// Something was done; false if that went on for too long.
    #[must_use]
    pub fn busy(&mut self) -> bool {
        /// Far more polls than any behaviour makes.
        const MAX_ROUNDS: u32 = 50_000_000;
        self.rounds += 1;
        self.rounds < MAX_ROUNDS && (self.rounds % 1024 != 0 || self.in_time())
    }

    /// Gives others time; false if that was the last.
    #[must_use]
    #[cfg(not(target_arch = "wasm32"))]
    pub fn idle(&mut self) -> bool {
        /// Yields before sleeps.
        const YIELDS: u32 = 64;
        self.rounds += 1;
        if self.rounds < YIELDS {
            std::thread::yield_now();
        } else {
            std::thread::sleep(Duration::from_micros(100));
        }
        self.in_time()
    }

    /// False: no other thread can change anything.
    #[must_use]
    #[cfg(target_arch = "wasm32")]
    pub fn idle(&mut self) -> bool {
        false
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn in_time(&self) -> bool {
        std::time::Instant::now() < self.end
    }

    #[cfg(target_arch = "wasm32")]
    fn in_time(&self) -> bool {
        true
    }
}

/// Drives the executor until the condition holds.
///
/// # Panics
/// If that does not happen.
#[track_caller]
pub fn until<K: Kind>(kind: &K, mut condition: impl FnMut() -> bool) {
    let mut limit = Limit::new(kind.patience());
    let came = kind.drive(&mut condition, &mut limit);
    assert!(came, "what must come does not");
}

/// Drives the executor until the future is done, which is polled when it was woken and at no other time.
///
/// # Panics
/// If that does not happen, or if the future panics.
#[track_caller]
pub fn wait<K: Kind, T>(kind: &K, future: impl Future<Output = T>) -> T {
    let flag = Arc::new(Flag(AtomicBool::new(true)));
    let waker = Waker::from(Arc::clone(&flag));
    let mut future = pin!(future);
    let mut output = None;
    until(kind, || {
        if flag.0.swap(false, Ordering::AcqRel) {
            let mut context = Context::from_waker(&waker);
            if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
                output = Some(value);
            }
        }
        output.is_some()
    });
    output.expect("the condition held")
}

/// Polls the future whenever it was woken, until it is done; gives others time in between.
pub(crate) fn wait_here<T>(future: impl Future<Output = T>) -> T {
    let flag = Arc::new(Flag(AtomicBool::new(true)));
    let waker = Waker::from(Arc::clone(&flag));
    let mut future = pin!(future);
    loop {
        if !flag.0.swap(false, Ordering::AcqRel) {
            terrace_sync::thread::yield_now();
            continue;
        }
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
    }
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

/// Lets the executor run ready tasks. Exact if the test polls tasks by hand. With threads of its own, the executor only
/// gets time to run them. There, assertions that something did *not* happen are weaker, but never wrong.
pub fn settle<K: Kind>(kind: &K) {
    /// Enough for every thread of a small pool to take part.
    const PROBES: usize = 8;
    if kind.caps().has(Caps::MANUAL) {
        while kind.tick() {}
        return;
    }
    for _ in 0..PROBES {
        wait(kind, kind.spawn(async {}));
    }
}

/// Wakes by a clone, as callers do that own their wakers.
pub fn wake_owned(waker: &Waker) {
    let clone = waker.clone();
    clone.wake();
}

/// Drives the executor until a task has left its waker in the slot, and takes it.
///
/// # Panics
/// If the executor runs out of tasks before.
#[track_caller]
pub fn arrived<K: Kind>(kind: &K, slot: &Slot) -> Waker {
    let mut waker = None;
    until(kind, || {
        waker = slot.take();
        waker.is_some()
    });
    waker.expect("the condition held")
}

/// Wakes itself and returns `Pending`, so many times.
///
/// # Panics
/// If that is more than a `u32` counts.
pub fn yields(times: usize) -> Yields {
    Yields(u32::try_from(times).expect("a task yields seldom"))
}

/// A waker that calls a function.
pub struct OnWake<F>(pub F);

impl<F: Fn() + Send + Sync + 'static> OnWake<F> {
    /// The waker.
    pub fn waker(f: F) -> Waker {
        Waker::from(Arc::new(Self(f)))
    }
}

impl<F: Fn() + Send + Sync + 'static> Wake for OnWake<F> {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}

/// A queue between tasks: the least that makes them wait for each other.
pub struct Channel<T>(Mutex<ChannelState<T>>);

struct ChannelState<T> {
    items: std::collections::VecDeque<T>,
    receiver: Option<Waker>,
}

impl<T> Channel<T> {
    /// An empty one.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(ChannelState {
            items: std::collections::VecDeque::new(),
            receiver: None,
        })))
    }

    /// Sends an item.
    pub fn send(&self, item: T) {
        let waker = {
            let mut state = self.0.lock();
            state.items.push_back(item);
            state.receiver.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Waits for an item.
    pub async fn receive(&self) -> T {
        poll_fn(|context| {
            let mut state = self.0.lock();
            match state.items.pop_front() {
                Some(item) => Poll::Ready(item),
                None => {
                    let old = state.receiver.replace(context.waker().clone());
                    drop(state);
                    drop(old);
                    Poll::Pending
                }
            }
        })
        .await
    }
}

/// The text that a call panics with.
///
/// # Panics
/// If it does not panic, or with something else than a string literal.
pub fn text_of<T>(f: impl FnOnce() -> T) -> &'static str {
    payload_of(f)
        .downcast_ref::<&str>()
        .copied()
        .expect("a panic with a literal")
}
