//! A notified driver that is dropped, is no longer polled, or was woken in vain does not keep the notification from the
//! others.

mod waiting;

use std::future::{Future, pending};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use futures_lite::future::{block_on, poll_once, zip};
use terrace_local::LocalExecutor;
use terrace_testing::{Wakes, on_own_thread, watchdog};
use waiting::waiting;

/// A driver that the test polls by hand.
struct Hand<'a> {
    driver: Pin<Box<dyn Future<Output = ()> + 'a>>,
    wakes: Arc<Wakes>,
}

impl<'a> Hand<'a> {
    fn new(driver: impl Future<Output = ()> + 'a) -> Self {
        Self {
            driver: Box::pin(driver),
            wakes: Arc::default(),
        }
    }

    fn poll(&mut self) -> Poll<()> {
        let waker = Waker::from(self.wakes.clone());
        self.driver.as_mut().poll(&mut Context::from_waker(&waker))
    }

    fn woken(&self) -> usize {
        self.wakes.count()
    }
}

/// The driver that was woken is dropped without being polled again.
#[test]
fn a_notified_driver_that_is_dropped_passes_on() {
    let _watchdog = watchdog();
    for kind in ["run", "tick"] {
        let executor = LocalExecutor::new();
        let (waker, mut task) = waiting(&executor);
        let mut first = match kind {
            "run" => Hand::new(executor.run(pending())),
            _ => Hand::new(executor.tick()),
        };
        let mut second = Hand::new(executor.run(pending()));
        assert!(second.poll().is_pending());
        assert!(first.poll().is_pending());
        waker.wake();
        assert_eq!((first.woken(), second.woken()), (1, 0), "{kind}");
        drop(first);
        assert_eq!(second.woken(), 1, "{kind}: nobody else was woken");
        assert!(second.poll().is_pending());
        assert_eq!(task.try_take(), Some(()));
    }
}

/// The driver that was woken is kept and never polled again. The next push wakes another one, which runs the tasks of
/// both pushes.
#[test]
fn a_notified_driver_that_is_not_polled_delays_until_the_next_push() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let (first_waker, mut first_task) = waiting(&executor);
    let (second_waker, mut second_task) = waiting(&executor);
    let mut stuck = Hand::new(executor.run(pending()));
    let mut second = Hand::new(executor.run(pending()));
    assert!(second.poll().is_pending());
    assert!(stuck.poll().is_pending());
    first_waker.wake();
    assert_eq!((stuck.woken(), second.woken()), (1, 0));
    second_waker.wake();
    assert_eq!((stuck.woken(), second.woken()), (1, 1));
    assert!(second.poll().is_pending());
    assert_eq!(first_task.try_take(), Some(()));
    assert_eq!(second_task.try_take(), Some(()));
}

/// A driver that was polled for nothing is asleep again, and is woken by the push that follows.
#[test]
fn spurious_polls_do_no_harm() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let mut driver = Hand::new(executor.run(pending()));
    for round in 0..100 {
        assert!(driver.poll().is_pending());
        assert!(driver.poll().is_pending());
        let mut task = executor.spawn(async {});
        assert_eq!(driver.woken(), round + 1);
        assert!(driver.poll().is_pending());
        assert_eq!(task.try_take(), Some(()));
    }
}

/// The last waker of a driver is used, not an earlier one.
#[test]
fn a_driver_follows_its_latest_waker() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let mut driver = Hand::new(executor.run(pending()));
    assert!(driver.poll().is_pending());
    let old = std::mem::take(&mut driver.wakes);
    assert!(driver.poll().is_pending());
    executor.spawn(async {}).detach();
    assert_eq!((old.count(), driver.woken()), (0, 1));
}

/// The future of `run` panics in the poll that its wake led to: the other driver gets the work.
#[test]
fn a_driver_that_panics_passes_on() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let (waker, mut task) = waiting(&executor);
    let mut polls = 0;
    let mut first = Hand::new(executor.run(std::future::poll_fn(move |_| {
        polls += 1;
        assert!(polls < 2, "the second poll panics");
        Poll::Pending
    })));
    let mut second = Hand::new(executor.run(pending()));
    assert!(second.poll().is_pending());
    assert!(first.poll().is_pending());
    waker.wake();
    let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| first.poll()));
    assert!(unwound.is_err());
    drop(first);
    assert_eq!(second.woken(), 1);
    assert!(second.poll().is_pending());
    assert_eq!(task.try_take(), Some(()));
}

/// The panic of a driver's waker does not reach the thread that wakes a task.
#[test]
fn a_panicking_driver_waker_is_contained() {
    let _watchdog = watchdog();
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("in the driver's waker");
        }
    }
    let executor = LocalExecutor::new();
    let mut run = pin!(executor.run(pending::<()>()));
    let waker = Waker::from(Arc::new(Panics));
    assert!(
        run.as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    let mut task = executor.spawn(async { 3 });
    assert!(executor.try_tick());
    assert_eq!(task.try_take(), Some(3));
}

/// A future that queues a task in each of its polls, and waits for something else, lets its thread sleep.
#[test]
fn a_future_that_spawns_in_each_poll_is_not_polled_without_end() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let mut polls = 0;
    let mut run = Hand::new(executor.run(std::future::poll_fn(|_| {
        polls += 1;
        executor.spawn(async {}).detach();
        Poll::Pending
    })));
    assert!(run.poll().is_pending());
    assert_eq!(run.woken(), 0);
    drop(run);
    assert!(executor.is_empty());
    assert!(polls < 100, "{polls} polls");
}

/// A sleeping `run` cannot be polled while its thread blocks in another one: the inner one gets the wake.
#[test]
fn a_wake_reaches_the_innermost_run_of_a_thread() {
    on_own_thread(|| {
        let executor = LocalExecutor::new();
        let (waker, task) = waiting(&executor);
        let mut outer = Hand::new(executor.run(pending()));
        assert!(outer.poll().is_pending());
        let wakes = thread::spawn(|| waker.wake());
        block_on(executor.run(task));
        wakes.join().expect("a wake does not panic");
    });
}

/// Two waits on one thread, whose tasks another thread wakes in either order, while drivers come and go. Each wait ends
/// although the wake of its task may have woken the other one's driver.
#[test]
fn two_waits_on_one_thread() {
    on_own_thread(|| {
        let executor = LocalExecutor::new();
        for round in 0..800 {
            let (first_waker, first) = waiting(&executor);
            let (second_waker, second) = waiting(&executor);
            let mut wakers = [first_waker, second_waker];
            if round % 8 < 4 {
                wakers.reverse();
            }
            let thread = thread::spawn(move || wakers.into_iter().for_each(Waker::wake));
            let first = executor.run(first);
            let second = executor.run(second);
            if round % 2 == 0 {
                block_on(zip(first, second));
            } else {
                let mut second = Box::pin(second);
                if block_on(poll_once(&mut second)).is_none() && round % 4 == 1 {
                    drop(second);
                    block_on(first);
                } else {
                    block_on(first);
                }
            }
            thread.join().expect("wakes do not panic");
            while executor.try_tick() {}
            assert!(executor.is_empty());
        }
    });
}
