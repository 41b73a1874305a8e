//! Spawns, ticks and drops out of polls, wakers and destructors.

use std::cell::RefCell;
use std::future::{Future, pending};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

use terrace_local::LocalExecutor;
use terrace_testing::{Homebody, OnDrop, WakerSlot, poll_once, watchdog};

/// The executors of these tests, and futures that borrow nothing of them.
type Shared = Rc<LocalExecutor<'static>>;

#[test]
fn a_task_spawns_and_ticks_its_executor() {
    let _watchdog = watchdog();
    let executor: Shared = Rc::default();
    let weak = Rc::downgrade(&executor);
    let mut task = executor.spawn(async move {
        let executor = weak.upgrade().expect("it runs");
        let mut inner = executor.spawn(async { 1 });
        assert_eq!(executor.run_until_stalled(), 1);
        inner.try_take()
    });
    assert_eq!(executor.run_until_stalled(), 1);
    assert_eq!(task.try_take(), Some(Some(1)));
}

/// A destructor that runs in the executor's drop spawns, ticks and wakes a sibling.
#[test]
fn destructors_use_the_executor_while_it_ends() {
    let _watchdog = watchdog();
    let executor: &'static LocalExecutor<'static> = Box::leak(Box::default());
    let (slot, sibling) = (WakerSlot::default(), WakerSlot::default());
    executor.spawn(sibling.clone().forever::<()>()).detach();
    let ran = Rc::new(RefCell::new(Vec::new()));
    let log = ran.clone();
    let on_drop = OnDrop(move || {
        let spawned = log.clone();
        let mut task = executor
            .spawn(async move { spawned.borrow_mut().push("ran") })
            .fallible();
        executor.try_tick();
        sibling.waker().wake();
        assert!(task.is_finished(), "dropped at once");
        assert_eq!(poll_once(&mut task), std::task::Poll::Ready(None));
        log.borrow_mut().push("dropped");
    });
    let parked = slot.clone();
    executor
        .spawn(async move {
            let _on_drop = on_drop;
            parked.forever::<()>().await;
        })
        .detach();
    executor.run_until_stalled();
    assert!(executor.core().close());
    assert_eq!(*ran.borrow(), ["dropped"]);
    assert!(executor.is_empty());
}

/// A task drops the last handle of its own executor. The drop can free nothing that the task's poll uses, so it leaks
/// the whole executor.
#[test]
fn an_executor_dropped_by_its_own_task_stays() {
    let _watchdog = watchdog();
    let executor: Rc<RefCell<Option<Shared>>> = Rc::default();
    *executor.borrow_mut() = Some(Rc::default());
    let held = executor.clone();
    let local = executor.borrow().clone().expect("just made");
    let slot = WakerSlot::default();
    let waiting = local.spawn(slot.clone().forever::<()>());
    let mut task = local.spawn(async move {
        drop(held.borrow_mut().take());
        1
    });
    let core = local.core().clone();
    assert!(core.try_tick());
    drop(local);
    assert!(core.try_tick());
    assert_eq!(task.try_take(), Some(1));
    assert!(!waiting.is_finished());
    slot.waker().wake();
    assert!(core.try_tick());
}

thread_local! {
    static TO_DROP: RefCell<Vec<Box<dyn std::any::Any>>> = const { RefCell::new(Vec::new()) };
}

/// The waker of a driver.
struct Dropper;

impl Wake for Dropper {
    fn wake(self: Arc<Self>) {
        let all = TO_DROP.with(RefCell::take);
        drop(all);
    }
}

/// A driver, with the executor that it borrows.
struct Driven {
    run: Option<Pin<Box<dyn Future<Output = ()>>>>,
    executor: Option<Shared>,
}

impl Drop for Driven {
    fn drop(&mut self) {
        drop(self.run.take());
        drop(self.executor.take());
    }
}

/// A push on the owner's thread wakes a driver whose waker drops that driver and the executor's last handle. The rest
/// of the push must find its core in place.
#[test]
fn a_drivers_waker_drops_driver_and_executor() {
    let _watchdog = watchdog();
    let executor: Shared = Rc::default();
    let slot = WakerSlot::default();
    let task = executor.spawn(slot.clone().forever::<()>());
    assert!(executor.try_tick());
    let driven = executor.clone();
    let mut run: Pin<Box<dyn Future<Output = ()>>> = Box::pin(async move {
        driven.run(pending::<()>()).await;
    });
    let waker = Waker::from(Arc::new(Dropper));
    assert!(
        run.as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    TO_DROP.with(|to_drop| {
        to_drop.borrow_mut().push(Box::new(Driven {
            run: Some(run),
            executor: Some(executor),
        }));
    });
    slot.waker().wake();
    assert!(
        !task.is_finished(),
        "leaked: the drop came in the middle of a push"
    );
}

/// The hook that tells what a tick has left drops the executor's last handle. The rest of the tick must find its core in place.
#[test]
fn a_hook_behind_a_tick_drops_the_executor() {
    let _watchdog = watchdog();
    let executor: Shared = Rc::default();
    executor.set_on_ready(|| drop(TO_DROP.with(RefCell::take)));
    let (first, second) = (executor.spawn(async {}), executor.spawn(async {}));
    let core = executor.core().clone();
    TO_DROP.with(|to_drop| to_drop.borrow_mut().push(Box::new(executor)));
    assert!(core.try_tick());
    assert!(first.is_finished());
    assert!(
        !second.is_finished(),
        "leaked: the drop came in the middle of a tick"
    );
}

/// The owner's thread ends with an executor among its thread-locals; handles and wakers live on.
#[test]
fn an_executor_ends_with_its_thread() {
    let _watchdog = watchdog();
    thread_local! {
        static EXECUTOR: LocalExecutor<'static> = const { LocalExecutor::new() };
    }
    let (waker, task) = std::thread::spawn(|| {
        let slot = WakerSlot::default();
        let task = EXECUTOR.with(|executor| {
            let home = Homebody::new();
            let parked = slot.clone();
            let task = executor.spawn(async move {
                parked.forever::<()>().await;
                drop(home);
            });
            executor.run_until_stalled();
            task
        });
        (slot.waker(), task)
    })
    .join()
    .expect("ended");
    assert!(task.is_finished());
    waker.wake();
}
