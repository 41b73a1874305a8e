//! The behaviours, one function each.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::future::{Future, pending, poll_fn};
use core::sync::atomic::Ordering;
use core::task::Poll;

use terrace_local::{LocalExecutor, StaticLocalExecutor};

use crate::Board;
use crate::block_on::{SLEPT, block_on};
use crate::heap::{CALLS, FROM_INTERRUPTS};
use crate::timer::{Delay, SLOTS, ticks};

/// Runs all behaviours. Prints a line for each, and one that says how the machine slept.
///
/// # Panics
/// If one is not as it should be.
pub fn run<B: Board>() {
    let all: [(&str, fn()); 9] = [
        ("tasks run in the order of their spawns", spawn_order),
        ("wakes keep their order", wake_order),
        (
            "an interrupt wakes a task while the machine sleeps",
            interrupt_wakes::<B>,
        ),
        (
            "interrupts wake many tasks, many times",
            interrupts_wake_many::<B>,
        ),
        (
            "an interrupt wakes a task of the static kind",
            interrupt_wakes_static::<B>,
        ),
        ("a cancelled task is dropped unpolled", cancel),
        ("an executor drops its pending tasks", drop_with_pending),
        ("ticking ends when all tasks are stalled", until_stalled),
        ("a thousand tasks end", many_tasks),
    ];
    for (name, behaviour) in all {
        behaviour();
        B::print(format_args!("ok: {name}"));
    }
    assert!(SLEPT.load(Ordering::Relaxed) > 0, "the machine never slept");
    assert!(CALLS.load(Ordering::Relaxed) > 0, "the allocator is in use");
    let from_interrupts = FROM_INTERRUPTS.load(Ordering::Relaxed);
    assert_eq!(from_interrupts, 0, "an interrupt used the allocator");
    B::print(format_args!(
        "ok: the machine slept, and no interrupt used the allocator"
    ));
    B::print(format_args!("passed: {} behaviours", all.len()));
}

/// Pending once, after it has woken itself.
fn yield_now() -> impl Future<Output = ()> {
    let mut yielded = false;
    poll_fn(move |context| {
        if core::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
}

fn spawn_order() {
    let executor = LocalExecutor::new();
    let order = Rc::new(RefCell::new(Vec::new()));
    for number in 0..10 {
        let order = order.clone();
        executor
            .spawn(async move { order.borrow_mut().push(number) })
            .detach();
    }
    while executor.try_tick() {}
    assert!(order.borrow().iter().copied().eq(0..10));
    assert!(executor.is_empty());
}

fn wake_order() {
    let executor = LocalExecutor::new();
    let order = Rc::new(RefCell::new(Vec::new()));
    for number in 0..3 {
        let order = order.clone();
        let task = async move {
            for round in 0..3 {
                order.borrow_mut().push((round, number));
                yield_now().await;
            }
        };
        executor.spawn(task).detach();
    }
    while executor.try_tick() {}
    let expected = (0..3).flat_map(|round| (0..3).map(move |number| (round, number)));
    assert!(order.borrow().iter().copied().eq(expected));
}

fn interrupt_wakes<B: Board>() {
    let executor = LocalExecutor::new();
    let slept = SLEPT.load(Ordering::Relaxed);
    let start = ticks();
    let task = executor.spawn(async {
        Delay::new(0, 3).await;
        ticks()
    });
    let end = block_on::<B, _>(executor.run(task));
    assert!(end >= start + 3, "it ended before its time");
    assert!(
        SLEPT.load(Ordering::Relaxed) > slept,
        "the machine did not sleep"
    );
}

fn interrupts_wake_many<B: Board>() {
    const ROUNDS: u32 = 50;
    let executor = LocalExecutor::new();
    let tasks: Vec<_> = (0..SLOTS)
        .map(|slot| {
            executor.spawn(async move {
                for _ in 0..ROUNDS {
                    Delay::new(slot, 1).await;
                }
                slot
            })
        })
        .collect();
    let slots = block_on::<B, _>(executor.run(async {
        let mut slots = Vec::new();
        for task in tasks {
            slots.push(task.await);
        }
        slots
    }));
    assert!(slots.into_iter().eq(0..SLOTS));
    assert!(executor.is_empty());
}

fn interrupt_wakes_static<B: Board>() {
    let executor: &'static StaticLocalExecutor = Box::leak(Box::default());
    let task = executor.spawn(async {
        for _ in 0..10 {
            Delay::new(0, 1).await;
        }
        6 * 7
    });
    assert_eq!(block_on::<B, _>(executor.run(task)), 42);
}

/// Counts its drop.
struct Dropped(Rc<Cell<u32>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

fn cancel() {
    let executor = LocalExecutor::new();
    let drops = Rc::new(Cell::new(0));
    let guard = Dropped(drops.clone());
    let task = executor.spawn(async move {
        let _guard = guard;
        unreachable!("a cancelled task is not polled");
    });
    drop(task);
    while executor.try_tick() {}
    assert_eq!(drops.get(), 1);
    assert!(executor.is_empty());
}

fn drop_with_pending() {
    let drops = Rc::new(Cell::new(0));
    let executor = LocalExecutor::new();
    for _ in 0..5 {
        let guard = Dropped(drops.clone());
        let task = async move {
            let _guard = guard;
            pending::<()>().await;
        };
        executor.spawn(task).detach();
    }
    // Some pending, some not polled yet.
    assert!(executor.try_tick());
    assert!(executor.try_tick());
    assert_eq!(drops.get(), 0);
    drop(executor);
    assert_eq!(drops.get(), 5);
}

fn until_stalled() {
    let executor = LocalExecutor::new();
    let mut stalled = executor.spawn(pending::<()>());
    let mut done = executor.spawn(async {
        yield_now().await;
        yield_now().await;
    });
    assert_eq!(executor.run_until_stalled(), 4);
    assert_eq!(done.try_take(), Some(()));
    assert_eq!(stalled.try_take(), None);
}

fn many_tasks() {
    let executor = LocalExecutor::new();
    let tasks: Vec<_> = (0..1000u32)
        .map(|number| {
            executor.spawn(async move {
                yield_now().await;
                number
            })
        })
        .collect();
    while executor.try_tick() {}
    let sum: u32 = tasks
        .into_iter()
        .map(|mut task| task.try_take().expect("it is done"))
        .sum();
    assert_eq!(sum, 1000 * 999 / 2);
}
