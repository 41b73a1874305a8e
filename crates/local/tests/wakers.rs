//! Users' wakers that panic when they are cloned, woken or dropped: wakers of drivers, and of futures that await a
//! task.

use std::cell::RefCell;
use std::future::{Future, pending};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

use futures_lite::future::yield_now;
use terrace_local::{LocalExecutor, Task};
use terrace_testing::{WakerSlot, on_own_thread, watchdog};

/// The uses of a waker and its clones so far, and which use panics.
#[derive(Default)]
struct Trap {
    clones: AtomicUsize,
    wakes: AtomicUsize,
    drops: AtomicUsize,
    panics: Panics,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Panics {
    #[default]
    Never,
    Cloned,
    Woken,
    Dropped,
}

impl Trap {
    fn new(panics: Panics) -> Arc<Self> {
        Arc::new(Self {
            panics,
            ..Self::default()
        })
    }

    fn waker(self: &Arc<Self>) -> Waker {
        let data = Arc::into_raw(Arc::clone(self)).cast();
        // SAFETY: the functions below are what the contract of `RawWaker` wants; some unwind.
        unsafe { Waker::from_raw(RawWaker::new(data, &VTABLE)) }
    }

    fn wakes(&self) -> usize {
        self.wakes.load(Ordering::Relaxed)
    }

    fn note(&self, count: &AtomicUsize, panics: Panics) {
        count.fetch_add(1, Ordering::Relaxed);
        assert!(self.panics != panics, "the waker's panic");
    }
}

static VTABLE: RawWakerVTable = RawWakerVTable::new(
    |data| {
        // SAFETY: `Trap::waker` made the pointer by `Arc::into_raw`. The waker keeps its counted
        // reference, which this does not give back.
        let trap = std::mem::ManuallyDrop::new(unsafe { Arc::from_raw(data.cast::<Trap>()) });
        trap.note(&trap.clones, Panics::Cloned);
        RawWaker::new(Arc::into_raw(Arc::clone(&trap)).cast(), &VTABLE)
    },
    |data| {
        // SAFETY: `Trap::waker` or a clone made the pointer by `Arc::into_raw`. A wake by value
        // uses that reference up.
        let trap = unsafe { Arc::from_raw(data.cast::<Trap>()) };
        trap.note(&trap.wakes, Panics::Woken);
    },
    |data| {
        // SAFETY: `Trap::waker` or a clone made the pointer by `Arc::into_raw`. The waker keeps
        // that reference.
        let trap = std::mem::ManuallyDrop::new(unsafe { Arc::from_raw(data.cast::<Trap>()) });
        trap.note(&trap.wakes, Panics::Woken);
    },
    |data| {
        // SAFETY: `Trap::waker` or a clone made the pointer by `Arc::into_raw`. The drop of the
        // waker gives that reference back.
        let trap = unsafe { Arc::from_raw(data.cast::<Trap>()) };
        trap.note(&trap.drops, Panics::Dropped);
    },
);

/// A waker that the test does not drop.
fn kept(trap: &Arc<Trap>) -> std::mem::ManuallyDrop<Waker> {
    std::mem::ManuallyDrop::new(trap.waker())
}

fn poll<F: Future + ?Sized>(future: Pin<&mut F>, trap: &Arc<Trap>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(&kept(trap)))
}

/// Polls; true if that unwound.
fn unwinds<F: Future + ?Sized>(future: Pin<&mut F>, trap: &Arc<Trap>) -> bool {
    catch_unwind(AssertUnwindSafe(|| poll(future, trap).is_ready())).is_err()
}

#[test]
fn a_driver_replaces_a_waker_that_panics_when_dropped() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let (old, new) = (Trap::new(Panics::Dropped), Trap::new(Panics::Never));
    let mut run = pin!(executor.run(pending::<()>()));
    assert!(poll(run.as_mut(), &old).is_pending());
    assert!(!unwinds(run.as_mut(), &new));
    assert_eq!(old.drops.load(Ordering::Relaxed), 1);
    executor.spawn(async {}).detach();
    assert_eq!((old.wakes(), new.wakes()), (0, 1));
}

/// A driver with such a waker is dropped, also by unwinding.
#[test]
fn a_driver_goes_with_a_waker_that_panics_when_dropped() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let trap = Trap::new(Panics::Dropped);
    for unwinds in [false, true] {
        let caught = catch_unwind(AssertUnwindSafe(|| {
            let mut run = Box::pin(executor.run(pending::<()>()));
            assert!(poll(run.as_mut(), &trap).is_pending());
            assert!(!unwinds, "as it was told");
        }));
        assert_eq!(caught.is_err(), unwinds);
    }
    assert_eq!(trap.drops.load(Ordering::Relaxed), 2);
    assert!(!executor.try_tick());
}

/// Several wakers that panic when dropped are dropped together: none is leaked.
#[test]
fn all_wakers_of_an_executor_are_dropped() {
    let _watchdog = watchdog();
    let trap = Trap::new(Panics::Dropped);
    let executor = LocalExecutor::new();
    for _ in 0..3 {
        let mut run = Box::pin(executor.run(pending::<()>()));
        assert!(poll(run.as_mut(), &trap).is_pending());
        std::mem::forget(run);
    }
    drop(executor);
    assert_eq!(trap.drops.load(Ordering::Relaxed), 3);
}

#[test]
fn a_driver_whose_waker_panics_when_cloned_gives_up_its_place() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let (first, bad, good) = (
        Trap::new(Panics::Never),
        Trap::new(Panics::Cloned),
        Trap::new(Panics::Never),
    );
    let mut run = Box::pin(executor.run(pending::<()>()));
    assert!(poll(run.as_mut(), &first).is_pending());
    assert!(unwinds(run.as_mut(), &bad));
    // Not dropped, and not asleep either.
    let mut other = pin!(executor.run(pending::<()>()));
    assert!(poll(other.as_mut(), &good).is_pending());
    executor.spawn(async {}).detach();
    assert_eq!((first.wakes(), bad.wakes(), good.wakes()), (0, 0, 1));
}

/// A waker that panics when woken may have woken no driver. The push wakes the next driver, which runs the queued task.
#[test]
fn the_wake_of_a_driver_that_panics_goes_to_the_next() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let (bad, good) = (Trap::new(Panics::Woken), Trap::new(Panics::Never));
    let mut first = pin!(executor.run(pending::<()>()));
    let mut second = pin!(executor.run(pending::<()>()));
    assert!(poll(second.as_mut(), &good).is_pending());
    assert!(poll(first.as_mut(), &bad).is_pending());
    let task = executor.spawn(async {});
    assert_eq!((bad.wakes(), good.wakes()), (1, 1));
    assert!(poll(second.as_mut(), &good).is_pending());
    assert!(task.is_finished());
}

/// An executor with a task of two polls.
fn awaited() -> (LocalExecutor<'static>, Task<Rc<u32>>) {
    let executor = LocalExecutor::new();
    let task = executor.spawn(async {
        yield_now().await;
        Rc::new(7)
    });
    (executor, task)
}

#[test]
fn an_awaiter_that_panics_when_dropped_is_replaced() {
    let _watchdog = watchdog();
    let (executor, mut task) = awaited();
    let (old, new) = (Trap::new(Panics::Dropped), Trap::new(Panics::Never));
    let mut task = Pin::new(&mut task);
    assert!(poll(task.as_mut(), &old).is_pending());
    assert!(!unwinds(task.as_mut(), &new));
    assert_eq!(old.drops.load(Ordering::Relaxed), 1);
    while executor.try_tick() {}
    assert_eq!((old.wakes(), new.wakes()), (0, 1));
    assert_eq!(poll(task, &new), Poll::Ready(Rc::new(7)));
}

/// A waker whose clone runs the task to its end, and which panics when it is dropped: the output is not lost.
#[test]
fn an_awaiter_that_no_task_needs_panics_when_dropped() {
    let _watchdog = watchdog();
    thread_local! {
        static EXECUTOR: RefCell<Option<Rc<LocalExecutor<'static>>>> = const { RefCell::new(None) };
    }
    static DROPS: AtomicUsize = AtomicUsize::new(0);
    static RUNS: RawWakerVTable = RawWakerVTable::new(
        |data| {
            let executor = EXECUTOR.with_borrow(Clone::clone).expect("it is set");
            executor.run_until_stalled();
            RawWaker::new(data, &RUNS)
        },
        |_| (),
        |_| (),
        |_| {
            DROPS.fetch_add(1, Ordering::Relaxed);
            panic!("the waker's panic");
        },
    );
    let (executor, mut task) = awaited();
    EXECUTOR.set(Some(Rc::new(executor)));
    // SAFETY: the functions use no data; some unwind.
    let waker = unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), &RUNS)) };
    let waker = std::mem::ManuallyDrop::new(waker);
    let ended = Pin::new(&mut task).poll(&mut Context::from_waker(&waker));
    assert_eq!(ended, Poll::Ready(Rc::new(7)));
    assert_eq!(DROPS.load(Ordering::Relaxed), 1, "the clone");
    EXECUTOR.take();
}

/// An awaiter panics when the task's end wakes or drops it: neither the task's thread nor its siblings notice.
#[test]
fn an_awaiter_panics_at_the_end_of_the_task() {
    let _watchdog = watchdog();
    for panics in [Panics::Woken, Panics::Dropped] {
        let (executor, mut task) = awaited();
        let sibling = executor.spawn(async { 8 });
        let trap = Trap::new(panics);
        assert!(poll(Pin::new(&mut task), &trap).is_pending());
        executor.run_until_stalled();
        assert!(task.is_finished() && sibling.is_finished());
        assert_eq!(trap.wakes(), 1);
        assert_eq!(poll(Pin::new(&mut task), &trap), Poll::Ready(Rc::new(7)));
    }
}

/// A handle on another thread replaces an awaiter that panics when dropped, and one whose clone
/// panics.
#[test]
fn remote_awaiters() {
    on_own_thread(|| {
        let executor = LocalExecutor::new();
        let slot = WakerSlot::default();
        let parked = slot.clone();
        let mut task = executor.spawn(async move {
            parked.pause().await;
            7
        });
        executor.run_until_stalled();
        let (old, bad, new) = (
            Trap::new(Panics::Dropped),
            Trap::new(Panics::Cloned),
            Trap::new(Panics::Never),
        );
        let (task, new) = std::thread::scope(|scope| {
            let elsewhere = || {
                let mut pinned = Pin::new(&mut task);
                assert!(poll(pinned.as_mut(), &old).is_pending());
                assert!(unwinds(pinned.as_mut(), &bad));
                assert!(!unwinds(pinned.as_mut(), &new));
                (task, new)
            };
            scope.spawn(elsewhere).join().expect("nothing unwinds")
        });
        assert_eq!(old.drops.load(Ordering::Relaxed), 1);
        slot.waker().wake();
        executor.run_until_stalled();
        assert_eq!((old.wakes(), bad.wakes(), new.wakes()), (0, 0, 1));
        let mut task = task;
        assert_eq!(poll(Pin::new(&mut task), &new), Poll::Ready(7));
    });
}
