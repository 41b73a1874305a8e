//! The ways of references to a task: another thread drops each of them than the one that counted it.

use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};
use std::thread;

use futures_lite::future::{block_on, yield_now};
use terrace_local::{LocalExecutor, StaticLocalExecutor, Task};
use terrace_testing::{WakerSlot, Wakes, on_own_thread, poll_once, watchdog};

fn leaked() -> &'static StaticLocalExecutor {
    Box::leak(Box::default())
}

/// Sets its flag when it is dropped, and is `!Send`.
struct Flag(Rc<Cell<bool>>);

impl Drop for Flag {
    fn drop(&mut self) {
        self.0.set(true);
    }
}

/// A pending task of an executor that is never dropped. The returned waker is its only reference.
fn forgotten(executor: &'static StaticLocalExecutor) -> (Waker, Rc<Cell<bool>>) {
    let (slot, dropped) = (WakerSlot::default(), Rc::<Cell<bool>>::default());
    let flag = Flag(dropped.clone());
    let parked = slot.clone().forever::<()>();
    executor
        .spawn(async move {
            let _flag = flag;
            parked.await;
        })
        .detach();
    assert!(executor.try_tick());
    (slot.waker(), dropped)
}

/// A detached task whose last waker goes can never run again. The owner drops its future, on whichever thread the waker
/// was dropped.
#[test]
fn a_future_that_no_waker_can_wake_is_dropped() {
    let _watchdog = watchdog();
    let executor = leaked();
    let ways: [fn(Waker); 4] = [
        drop,
        |waker| thread::spawn(move || drop(waker)).join().expect("dropped"),
        // Another thread clones the waker, and drops both.
        |waker| {
            thread::spawn(move || drop(waker.clone()))
                .join()
                .expect("dropped");
        },
        // Another thread clones the waker, and the owner drops the clone.
        |waker| drop(thread::spawn(move || waker.clone()).join().expect("cloned")),
    ];
    for (number, forget) in ways.into_iter().enumerate() {
        let (waker, dropped) = forgotten(executor);
        assert!(!dropped.get());
        forget(waker);
        executor.run_until_stalled();
        assert!(dropped.get(), "way {number}");
        assert!(executor.is_empty());
    }
}

/// A task that is pending without a waker is dropped at once.
#[test]
fn a_future_that_kept_no_waker_is_dropped() {
    let _watchdog = watchdog();
    let executor = leaked();
    executor.spawn(pending::<()>()).detach();
    assert!(executor.try_tick());
    assert!(executor.is_empty() && !executor.try_tick());
}

/// The owner clones wakers of one task, and another thread wakes them, over and over.
#[test]
fn a_long_life_between_two_threads() {
    const WAKES: u32 = 20_000;
    on_own_thread(|| {
        let (wakers, woken) = std::sync::mpsc::channel::<Waker>();
        let other = thread::spawn(move || woken.into_iter().for_each(Waker::wake));
        let executor = LocalExecutor::new();
        let mut left = WAKES;
        let task = executor.spawn(poll_fn(move |context| {
            if left == 0 {
                return Poll::Ready(WAKES);
            }
            left -= 1;
            wakers
                .send(context.waker().clone())
                .expect("the other thread lives");
            Poll::Pending
        }));
        assert_eq!(block_on(executor.run(task)), WAKES);
        other.join().expect("woken");
    });
}

/// The owner and another thread poll a handle in turns. The task wakes the waker of the last poll, and keeps no other.
#[test]
fn a_handle_travels() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let slot = WakerSlot::default();
    let mut task = executor.spawn({
        let slot = slot.clone();
        async move {
            slot.pause().await;
            42
        }
    });
    assert!(executor.try_tick());
    let counts: Vec<_> = (0..4).map(|_| Wakes::new()).collect();
    for (number, count) in counts.iter().enumerate() {
        let waker = Waker::from(Arc::clone(count));
        let poll = move || {
            for _ in 0..2 {
                let context = &mut Context::from_waker(&waker);
                assert_eq!(Pin::new(&mut task).poll(context), Poll::Pending);
            }
            task
        };
        task = if number % 2 == 0 {
            poll()
        } else {
            thread::spawn(poll).join().expect("polled")
        };
    }
    slot.waker().wake();
    assert!(executor.try_tick());
    let wakes: Vec<_> = counts.iter().map(|count| count.count()).collect();
    assert_eq!(wakes, [0, 0, 0, 1]);
    assert!(counts.iter().all(|count| Arc::strong_count(count) == 1));
    let output = thread::spawn(move || poll_once(&mut task)).join();
    assert_eq!(output.expect("polled"), Poll::Ready(42));
}

/// Panics when it wakes.
struct Trap(AtomicBool);

impl Wake for Trap {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
        panic_any("a waker panics");
    }
}

/// A panic in an awaiter's waker goes no further.
#[test]
fn a_panic_of_an_awaiter_is_contained() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let mut task = executor.spawn(async { 42 });
    let trap = Arc::new(Trap(AtomicBool::new(false)));
    let waker = Waker::from(Arc::clone(&trap));
    let context = &mut Context::from_waker(&waker);
    assert_eq!(Pin::new(&mut task).poll(context), Poll::Pending);
    assert!(executor.try_tick());
    assert!(trap.0.load(Ordering::Relaxed), "it was woken");
    assert_eq!(poll_once(&mut task), Poll::Ready(42));
    assert_eq!(block_on(executor.run(executor.spawn(yield_now()))), ());
}

/// A task that another thread wakes in its last poll leaves an item behind, which does not count as a task.
#[test]
fn what_arrives_after_the_end_is_not_a_task() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let task = executor.spawn(poll_fn(|context| {
        let waker = context.waker().clone();
        thread::spawn(move || waker.wake()).join().expect("woken");
        Poll::Ready(42)
    }));
    assert!(executor.try_tick());
    assert!(executor.is_empty() && !executor.try_tick());
    // This drains the executor as many programs do: it must not wait for a task that will not come.
    with_deadline(&executor);
    assert_eq!(block_on(task), 42);
}

fn with_deadline(executor: &LocalExecutor<'_>) {
    let drained = async {
        while !executor.is_empty() {
            executor.tick().await;
        }
    };
    assert_eq!(poll_once(&mut Box::pin(drained)), Poll::Ready(()));
}

/// A task lends its waker to another thread, which wakes it while the task polls its own handle.
#[test]
fn a_waker_that_is_lent_in_a_poll() {
    let _watchdog = watchdog();
    let executor = leaked();
    for _ in 0..200 {
        let own = Rc::new(RefCell::new(None::<Task<()>>));
        let mut polls = 0;
        let task = executor.spawn(poll_fn({
            let own = Rc::clone(&own);
            move |context| {
                polls += 1;
                if polls > 1 {
                    return Poll::Ready(());
                }
                let waker = context.waker();
                thread::scope(|scope| {
                    scope.spawn(|| waker.wake_by_ref());
                    let mut own = own.borrow_mut();
                    let handle = own.as_mut().expect("spawned");
                    assert_eq!(poll_once(handle), Poll::Pending);
                });
                Poll::Pending
            }
        }));
        *own.borrow_mut() = Some(task);
        assert_eq!(executor.run_until_stalled(), 2, "it was woken");
        assert_eq!(own.borrow_mut().as_mut().and_then(Task::try_take), Some(()));
    }
}

/// A waker that runs the executor, and so ends the task, whenever it is cloned, dropped or woken. For this thread.
fn meddler(executor: &'static StaticLocalExecutor) -> Waker {
    const VTABLE: RawWakerVTable = RawWakerVTable::new(
        |data| {
            meddle(data);
            RawWaker::new(data, &VTABLE)
        },
        meddle,
        meddle,
        meddle,
    );
    let data = std::ptr::from_ref(executor).cast();
    // SAFETY: the executor is leaked, so the data live as long as the program. The tests keep the
    // waker on this thread.
    unsafe { Waker::new(data, &VTABLE) }
}

fn meddle(data: *const ()) {
    // SAFETY: a static executor of this thread, see `meddler`.
    let executor = unsafe { &*data.cast::<StaticLocalExecutor>() };
    executor.run_until_stalled();
}

/// Wakers whose code ends the very task whose handle is being polled with them.
#[test]
fn wakers_that_run_the_executor() {
    let _watchdog = watchdog();
    let executor = leaked();
    // Ended by the clone.
    let mut task = executor.spawn(async { 1 });
    let waker = meddler(executor);
    let context = &mut Context::from_waker(&waker);
    assert_eq!(Pin::new(&mut task).poll(context), Poll::Ready(1));
    // Ended by the clone, with another awaiter in place.
    let mut task = executor.spawn(async { 2 });
    assert_eq!(poll_once(&mut task), Poll::Pending);
    assert_eq!(Pin::new(&mut task).poll(context), Poll::Ready(2));
    // Ended by the drop of the waker that is replaced.
    let mut task = executor.spawn(async {
        yield_now().await;
        3
    });
    assert!(executor.try_tick());
    executor.spawn(pending::<()>()).detach();
    assert_eq!(poll_once(&mut task), Poll::Pending);
    assert_eq!(executor.run_until_stalled(), 2);
    assert_eq!(poll_once(&mut task), Poll::Ready(3));
}

/// A waker whose clone panics leaves the handle as good as before.
#[test]
fn a_waker_that_panics_when_cloned() {
    let _watchdog = watchdog();
    const VTABLE: RawWakerVTable = RawWakerVTable::new(|_| panic_any("a clone"), noop, noop, noop);
    fn noop(_: *const ()) {}
    // SAFETY: it has no data.
    let waker = unsafe { Waker::new(std::ptr::null(), &VTABLE) };
    let executor = LocalExecutor::new();
    for polled_before in [false, true] {
        let mut task = executor.spawn(async { 42 });
        if polled_before {
            assert_eq!(poll_once(&mut task), Poll::Pending);
        }
        let poll = AssertUnwindSafe(|| {
            let context = &mut Context::from_waker(&waker);
            Pin::new(&mut task).poll(context)
        });
        assert!(catch_unwind(poll).is_err());
        let count = Wakes::new();
        let counting = Waker::from(Arc::clone(&count));
        let context = &mut Context::from_waker(&counting);
        assert_eq!(Pin::new(&mut task).poll(context), Poll::Pending);
        assert!(executor.try_tick());
        assert_eq!(count.count(), 1);
        assert_eq!(poll_once(&mut task), Poll::Ready(42));
    }
}

/// As small, and as flexible in its lifetime, as one pointer.
#[test]
fn a_handle_is_one_word() {
    let _watchdog = watchdog();
    fn shorter<'a>(task: Task<&'static str>, _: &'a str) -> Task<&'a str> {
        task
    }
    assert_eq!(size_of::<Task<[u64; 4]>>(), size_of::<usize>());
    assert_eq!(size_of::<Option<Task<u8>>>(), size_of::<usize>());
    let executor = LocalExecutor::new();
    let short = String::from("short");
    let task = shorter(executor.spawn(async { "long" }), &short);
    assert_eq!(block_on(executor.run(task)), "long");
}
