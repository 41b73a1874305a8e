//! Children that are done at once, pending ones, and wakes in the first poll.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn, ready};
use std::panic::panic_any;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::thread;

use futures_lite::future::{block_on, yield_now};
use terrace_local::{LocalExecutor, StaticLocalExecutor, Task};
use terrace_testing::{Drops, WakerSlot, poll_once, text_of, watchdog};

use crate::each_kind;

#[test]
fn a_child_that_is_done_at_once_sees_no_queue() {
    let _watchdog = watchdog();
    each_kind(|executor| {
        let mut task = executor.spawn_eager(async { 6 * 7 });
        assert!(task.is_finished());
        assert!(!executor.has_queued() && executor.is_empty());
        assert_eq!(task.try_take(), Some(42));
        assert_eq!(task.try_take(), None, "it was taken");
        let mut task = executor.spawn_eager(async { String::from("awaited") });
        assert_eq!(poll_once(&mut task), Poll::Ready(String::from("awaited")));
        let again = text_of(|| block_on(task));
        assert!(again.contains("was taken before"));
        let fallible = executor.spawn_eager(ready(1)).fallible();
        assert_eq!(block_on(fallible), Some(1));
        assert_eq!(block_on(executor.spawn_eager(ready(2)).cancel()), Some(2));
        assert!(!executor.try_tick());
    });
}

#[test]
fn the_static_kind_has_the_method() {
    let _watchdog = watchdog();
    let executor: &'static StaticLocalExecutor = Box::leak(Box::default());
    let mut task = executor.spawn_eager(async { 1 });
    assert_eq!(task.try_take(), Some(1));
    let task = executor.spawn_eager(async {
        yield_now().await;
        2
    });
    assert_eq!(block_on(executor.run(task)), 2);
}

/// The outputs and futures of finished, detached, dropped and forgotten handles go once each.
#[test]
fn each_value_is_dropped_once() {
    let _watchdog = watchdog();
    each_kind(|executor| {
        let drops = Drops::new();
        let spawn = || {
            let (kept, output) = (drops.value(), drops.value());
            executor.spawn_eager(async move {
                let _kept = kept;
                output
            })
        };
        drop(spawn());
        assert_eq!(drops.count(), 2);
        spawn().detach();
        assert_eq!(drops.count(), 4);
        drop(spawn().try_take());
        assert_eq!(drops.count(), 6);
        drop(block_on(spawn()));
        assert_eq!(drops.count(), 8);
        drop(block_on(spawn().cancel()));
        assert_eq!(drops.count(), 10);
        let task = spawn();
        thread::spawn(move || drop(task)).join().expect("drops it");
        assert_eq!(drops.count(), 12);
        let mut task = spawn();
        thread::spawn(move || drop(task.try_take()))
            .join()
            .expect("takes it");
        assert_eq!(drops.count(), 14);
        std::mem::forget(spawn());
        assert_eq!(drops.count(), 15, "the output is leaked with the handle");
    });
}

/// Sizes and alignments of all classes, and beyond: zero bytes, a large future, a large output, an over-aligned one.
#[test]
fn values_of_all_sizes() {
    #[repr(align(64))]
    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Aligned(u8);

    fn check<T: Copy + PartialEq + std::fmt::Debug + 'static>(
        executor: &LocalExecutor<'static>,
        value: T,
    ) {
        for _ in 0..3 {
            let mut first = executor.spawn_eager(async move { value });
            let mut second = executor.spawn_eager(async move {
                yield_now().await;
                value
            });
            assert_eq!(first.try_take(), Some(value));
            assert_eq!(second.try_take(), None);
            executor.run_until_stalled();
            assert_eq!(second.try_take(), Some(value));
        }
    }

    let _watchdog = watchdog();
    each_kind(|executor| {
        check(executor, ());
        check(executor, 1_u128);
        check(executor, Aligned(7));
        check(executor, [1_u8; 60]);
        check(executor, [2_u8; 200]);
        check(executor, [3_u8; 500]);
        check(executor, [4_u8; 1_000]);
        check(executor, [5_u8; 1_900]);
        check(executor, [6_u8; 5_000]);
    });
}

/// Outputs without a size: taken once by every way to take one, and by none; on this thread and another one.
#[test]
fn outputs_without_a_size() {
    /// Neither `Copy` nor `Clone`: a copy of one would be a fault.
    #[derive(PartialEq, Debug)]
    struct Token;

    /// Over-aligned, so that its task has a cell of another sort.
    #[repr(align(64))]
    #[derive(PartialEq, Debug)]
    struct Aligned;

    let _watchdog = watchdog();
    each_kind(|executor| {
        let spawn = || executor.spawn_eager(async { Token });
        let mut task = spawn();
        assert!(task.is_finished());
        assert_eq!(task.try_take(), Some(Token));
        assert!(task.is_finished());
        assert_eq!(task.try_take(), None, "it was taken");
        assert!(text_of(|| block_on(task)).contains("was taken before"));
        assert_eq!(block_on(spawn()), Token);
        let mut task = spawn().fallible();
        assert_eq!(block_on(&mut task), Some(Token));
        assert_eq!(task.try_take(), None);
        assert_eq!(block_on(task), None);
        assert_eq!(block_on(spawn().cancel()), Some(Token));
        assert_eq!(block_on(spawn().fallible().cancel()), Some(Token));
        drop(spawn());
        spawn().detach();
        let there = |task: Task<Token>| thread::spawn(|| block_on(task)).join();
        assert_eq!(there(spawn()).expect("takes it"), Token);
        let mut task = executor.spawn_eager(async { Aligned });
        assert_eq!((task.try_take(), task.try_take()), (Some(Aligned), None));
        // The output has a destructor, or there is a panic in its place.
        struct Counted;
        thread_local! {
            static DROPPED: Cell<u32> = const { Cell::new(0) };
        }
        impl Drop for Counted {
            fn drop(&mut self) {
                DROPPED.set(DROPPED.get() + 1);
            }
        }
        DROPPED.set(0);
        drop(executor.spawn_eager(async { Counted }));
        executor.spawn_eager(async { Counted }).detach();
        drop(executor.spawn_eager(async { Counted }).try_take());
        assert_eq!(DROPPED.get(), 3);
        let text = text_of(|| block_on(executor.spawn_eager(async { panic_any("at once") })));
        assert_eq!(text, "at once");
        // A pending one, and one whose waker is left.
        let task = executor.spawn_eager(async {
            yield_now().await;
            Token
        });
        assert_eq!(block_on(executor.run(task)), Token);
        let slot = WakerSlot::default();
        let mut task = executor.spawn_eager({
            let slot = slot.clone();
            poll_fn(move |context| {
                slot.leave(context);
                Poll::Ready(Token)
            })
        });
        assert_eq!(task.try_take(), Some(Token));
        slot.waker().wake();
        assert!(executor.is_empty());
    });
}

/// Memory of one type serves another one of the same class, and its pending tasks.
#[test]
fn memory_goes_from_task_to_task() {
    let _watchdog = watchdog();
    each_kind(|executor| {
        let slot = WakerSlot::default();
        for round in 0..100_u64 {
            let mut text = executor.spawn_eager(async move { round.to_string() });
            let waiting = executor.spawn_eager(slot.clone().forever::<()>());
            let mut number = executor.spawn_eager(async move { round });
            assert_eq!(text.try_take(), Some(round.to_string()));
            assert_eq!(number.try_take(), Some(round));
            // The waker outlives its task.
            let waker = slot.waker();
            drop(waiting);
            executor.run_until_stalled();
            waker.wake_by_ref();
            let mut other = executor.spawn_eager(async move { Box::new(round) });
            waker.wake();
            assert_eq!(other.try_take(), Some(Box::new(round)));
        }
        assert!(executor.is_empty());
    });
}

#[test]
fn a_pending_child_is_as_any_other() {
    let _watchdog = watchdog();
    each_kind(|executor| {
        let polls = Rc::new(Cell::new(0));
        let slot = WakerSlot::default();
        let mut task = executor.spawn_eager({
            let (polls, slot) = (polls.clone(), slot.clone());
            poll_fn(move |context| {
                polls.set(polls.get() + 1);
                if polls.get() == 3 {
                    return Poll::Ready(polls.get());
                }
                slot.leave(context);
                Poll::Pending
            })
        });
        assert_eq!(polls.get(), 1);
        assert!(!executor.has_queued() && !executor.is_empty());
        slot.take().expect("left").wake();
        assert!(executor.try_tick() && !executor.try_tick());
        let waker = slot.take().expect("left");
        thread::spawn(|| waker.wake()).join().expect("wakes");
        assert!(executor.try_tick());
        assert_eq!(task.try_take(), Some(3));
        assert!(executor.is_empty());
    });
}

/// It wakes itself in its first poll: it is queued once, behind what was queued before.
#[test]
fn a_child_that_yields_goes_to_the_back() {
    let _watchdog = watchdog();
    each_kind(|executor| {
        let order = Rc::new(RefCell::new(Vec::new()));
        let note = |name: &'static str| {
            let order = order.clone();
            move || order.borrow_mut().push(name)
        };
        let queued = note("queued");
        executor.spawn(async move { queued() }).detach();
        let (first, second) = (note("first"), note("second"));
        executor
            .spawn_eager(async move {
                first();
                yield_now().await;
                second();
            })
            .detach();
        assert_eq!(executor.run_until_stalled(), 2);
        assert_eq!(*order.borrow(), ["first", "queued", "second"]);
    });
}

/// In its first poll the child lends its waker to another thread, which wakes it, or keeps a clone. Then it is done or not.
#[test]
fn other_threads_wake_during_the_first_poll() {
    let _watchdog = watchdog();
    each_kind(|executor| {
        for keeps in [false, true] {
            for done in [false, true] {
                let kept = RefCell::new(None);
                let polls = Rc::new(Cell::new(0));
                let mut task = {
                    let (kept, polls) = (&kept, polls.clone());
                    let lend = move |context: &mut Context<'_>| {
                        polls.set(polls.get() + 1);
                        if polls.get() == 2 {
                            return Poll::Ready(());
                        }
                        let waker = context.waker();
                        let clone = thread::scope(|scope| {
                            let lent = scope.spawn(|| {
                                waker.wake_by_ref();
                                keeps.then(|| waker.clone())
                            });
                            lent.join().expect("wakes")
                        });
                        kept.replace(clone);
                        if done { Poll::Ready(()) } else { Poll::Pending }
                    };
                    // SAFETY: the task ends in this iteration, before what it borrows.
                    unsafe { scoped(executor, poll_fn(lend)) }
                };
                assert_eq!(task.is_finished(), done);
                executor.run_until_stalled();
                assert_eq!(polls.get(), if done { 1 } else { 2 });
                assert_eq!(task.try_take(), Some(()));
                drop(task);
                let waker = kept.take();
                assert_eq!(waker.is_some(), keeps);
                if let Some(waker) = waker {
                    waker.wake_by_ref();
                    thread::spawn(move || drop(waker)).join().expect("drops it");
                }
                assert!(executor.is_empty());
            }
        }
    });
}

/// # Safety
/// The task ends before what the future borrows.
unsafe fn scoped<'a, T: 'static>(
    executor: &LocalExecutor<'static>,
    future: impl Future<Output = T> + 'a,
) -> Task<T> {
    let future: Pin<Box<dyn Future<Output = T> + 'a>> = Box::pin(future);
    // SAFETY: the caller's promise.
    let future: Pin<Box<dyn Future<Output = T>>> = unsafe { std::mem::transmute(future) };
    executor.spawn_eager(future)
}

/// An awaiter that was left before the end is woken; an eager child never has one.
#[test]
fn the_handle_of_a_pending_child_is_awaited() {
    let _watchdog = watchdog();
    each_kind(|executor| {
        let slot = WakerSlot::default();
        let mut task = executor.spawn_eager({
            let slot = slot.clone();
            async move { slot.pause().await }
        });
        let wakes = terrace_testing::Wakes::new();
        let waker = wakes.waker();
        assert!(
            Pin::new(&mut task)
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
        slot.take().expect("left").wake();
        executor.run_until_stalled();
        assert_eq!(wakes.count(), 1);
        assert_eq!(
            Pin::new(&mut task).poll(&mut Context::from_waker(Waker::noop())),
            Poll::Ready(())
        );
    });
}
