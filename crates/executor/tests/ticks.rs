//! `tick` futures of a `ThreadExecutor`: several on one thread, side by side and nested, with wakers that use the executor.

use std::cell::RefCell;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};

use terrace_executor::ThreadExecutor;
use terrace_testing::{Wakes, on_own_thread, poll_once, watchdog};

/// Each of two ticks runs one of two tasks, whichever wake came first.
#[test]
fn two_ticks_run_two_tasks() {
    let _watchdog = watchdog();
    let executor = ThreadExecutor::new();
    let ticker = executor.ticker().expect("made on this thread");
    let wakes = [(); 2].map(|()| Wakes::new());
    let mut ticks = [Box::pin(ticker.tick()), Box::pin(ticker.tick())];
    for (tick, wakes) in ticks.iter_mut().zip(&wakes) {
        assert!(wakes.poll(tick.as_mut()).is_pending());
    }
    let tasks = [executor.spawn(async {}), executor.spawn(async {})];
    for (tick, wakes) in ticks.iter_mut().zip(&wakes) {
        assert_eq!(wakes.count(), 1);
        assert!(poll_once(tick.as_mut()).is_ready());
    }
    assert!(tasks.iter().all(terrace_executor::Task::is_finished));
}

/// The thread is inside of a future beside the older tick, and waits for the younger one.
#[test]
fn a_wake_reaches_the_innermost_tick() {
    let _watchdog = watchdog();
    let executor = ThreadExecutor::new();
    let ticker = executor.ticker().expect("made on this thread");
    let mut outer = pin!(ticker.tick());
    assert!(poll_once(outer.as_mut()).is_pending());
    let mut inner = pin!(ticker.tick());
    let wakes = Wakes::new();
    assert!(wakes.poll(inner.as_mut()).is_pending());
    for round in 1..=3 {
        let task = executor.spawn(async {});
        assert_eq!(wakes.count(), round);
        // Another tick takes the task: the inner one looks in vain, and sleeps again.
        assert!(ticker.try_tick() && task.is_finished());
        assert!(wakes.poll(inner.as_mut()).is_pending());
    }
    let task = executor.spawn(async {});
    assert!(poll_once(inner.as_mut()).is_ready());
    assert!(task.is_finished());
}

/// Spawns onto the executor that wakes it.
struct Spawns {
    executor: Arc<ThreadExecutor<'static>>,
    calls: AtomicUsize,
}

impl Wake for Spawns {
    fn wake(self: Arc<Self>) {
        if self.calls.fetch_add(1, Ordering::Relaxed) == 0 {
            self.executor.spawn(async {}).detach();
        }
    }
}

type Tick = Pin<Box<dyn Future<Output = ()>>>;

thread_local! {
    /// Ticks that are polled in the middle of their wakes.
    static TICKS: RefCell<Vec<Option<Tick>>> = const { RefCell::new(Vec::new()) };
}

/// The waker of a tick in `TICKS`. It polls the tick at once.
struct Polls(usize);

impl Polls {
    fn poll(index: usize) {
        // Its waker is another one at each poll.
        let waker = Waker::from(Arc::new(Self(index)));
        let mut tick = TICKS.with_borrow_mut(|ticks| ticks[index].take());
        tick.take_if(|tick| {
            let polled = tick.as_mut().poll(&mut Context::from_waker(&waker));
            polled.is_ready()
        });
        TICKS.with_borrow_mut(|ticks| ticks[index] = tick);
    }
}

impl Wake for Polls {
    fn wake(self: Arc<Self>) {
        Self::poll(self.0);
    }
}

/// A spawn wakes each tick once, also one that falls asleep again with another waker in the middle of that.
#[test]
fn a_spawn_ends_where_ticks_are_polled_inside_of_it() {
    on_own_thread(|| {
        let executor: &'static ThreadExecutor<'static> = Box::leak(Box::default());
        let ticker = executor.ticker().expect("made on this thread");
        for index in 0..3 {
            let ticker = executor.ticker().expect("made on this thread");
            let tick: Tick = Box::pin(async move { ticker.tick().await });
            TICKS.with_borrow_mut(|ticks| ticks.push(Some(tick)));
            Polls::poll(index);
        }
        for _ in 0..3 {
            executor.spawn(async {}).detach();
        }
        assert!(!ticker.try_tick());
        assert!(TICKS.take().iter().all(Option::is_none));
    });
}

#[test]
fn a_waker_may_spawn_onto_the_executor() {
    let _watchdog = watchdog();
    let executor = Arc::new(ThreadExecutor::new());
    let spawns = Arc::new(Spawns {
        executor: Arc::clone(&executor),
        calls: AtomicUsize::new(0),
    });
    let ticker = executor.ticker().expect("made on this thread");
    let mut tick = pin!(ticker.tick());
    let waker = Waker::from(Arc::clone(&spawns));
    assert!(
        tick.as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    executor.spawn(async {}).detach();
    assert_eq!(spawns.calls.load(Ordering::Relaxed), 1);
    assert!(ticker.try_tick() && ticker.try_tick() && !ticker.try_tick());
}
