//! Panics × drops × cancellations: each panic reaches its own handle or none, the process lives, siblings run on.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::rc::Rc;
use std::task::Poll;

use futures_lite::future::{block_on, yield_now};
use terrace_local::{LocalExecutor, Task};
use terrace_testing::{WakerSlot, watchdog};

/// Panics when dropped, unless a panic is under way.
struct Bomb(&'static str, Rc<Cell<u32>>);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.1.set(self.1.get() + 1);
        if !std::thread::panicking() {
            panic_any(self.0);
        }
    }
}

/// A payload whose destructor panics with another such payload, a few times.
struct Chain(u32);

impl Drop for Chain {
    fn drop(&mut self) {
        if self.0 > 0 {
            panic_any(Chain(self.0 - 1));
        }
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Panics {
    Never,
    InPoll,
    InSecondPoll,
    InDestructor,
    InPollAndDestructor,
    WithChain,
    InOutput,
    InDestructorAndOutput,
}

use Panics::*;

const PANICS: [Panics; 8] = [
    Never,
    InPoll,
    InSecondPoll,
    InDestructor,
    InPollAndDestructor,
    WithChain,
    InOutput,
    InDestructorAndOutput,
];

#[derive(Clone, Copy, Debug)]
enum End {
    Awaited,
    Taken,
    DetachedBefore,
    DetachedAfter,
    DroppedBefore,
    DroppedBetween,
    DroppedAfter,
    CancelledBetween,
    ExecutorDroppedBefore,
    ExecutorDroppedBetween,
}

const ENDS: [End; 10] = [
    End::Awaited,
    End::Taken,
    End::DetachedBefore,
    End::DetachedAfter,
    End::DroppedBefore,
    End::DroppedBetween,
    End::DroppedAfter,
    End::CancelledBetween,
    End::ExecutorDroppedBefore,
    End::ExecutorDroppedBetween,
];

/// Takes two polls, panics where `panics` says, and counts the destructors that ran.
fn spawn(
    executor: &LocalExecutor<'_>,
    panics: Panics,
    drops: &Rc<Cell<u32>>,
) -> Task<Option<Bomb>> {
    let bomb = |what| Bomb(what, drops.clone());
    let captured = matches!(
        panics,
        InDestructor | InPollAndDestructor | InDestructorAndOutput
    )
    .then(|| bomb("destructor"));
    let output = matches!(panics, InOutput | InDestructorAndOutput).then(|| bomb("output"));
    let mut output = Some(output);
    let mut first = true;
    executor.spawn(poll_fn(move |context| {
        let _captured = &captured;
        if std::mem::take(&mut first) {
            match panics {
                InPoll | InPollAndDestructor => panic_any("poll"),
                WithChain => panic_any(Chain(3)),
                _ => {}
            }
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if panics == InSecondPoll {
            panic_any("second poll");
        }
        Poll::Ready(output.take().expect("polled once after its wake"))
    }))
}

/// The panic that a handle gets from a task that ran to its end.
fn expected(panics: Panics) -> Option<&'static str> {
    match panics {
        Never | InOutput => None,
        InPoll | InPollAndDestructor => Some("poll"),
        InSecondPoll => Some("second poll"),
        InDestructor | InDestructorAndOutput => Some("destructor"),
        WithChain => Some("chain"),
    }
}

fn name(payload: Box<dyn Any + Send>) -> &'static str {
    match payload.downcast::<&'static str>() {
        Ok(name) => *name,
        Err(payload) => {
            terrace_local::drop_payload(payload);
            "chain"
        }
    }
}

/// Drops a bomb that a handle got: its panic is the handle's owner's to catch.
fn defuse(output: Option<Bomb>) {
    if output.is_some() {
        let thrown = catch_unwind(AssertUnwindSafe(|| drop(output))).expect_err("it panics");
        assert_eq!(name(thrown), "output");
    }
}

fn quiet() {
    std::panic::set_hook(Box::new(|info| {
        // Only the panics that the tests make are expected here.
        if info.payload().is::<&'static str>()
            && info.location().is_some_and(|l| l.file() != file!())
        {
            eprintln!("{info}");
        }
    }));
}

#[test]
fn every_panic_with_every_end() {
    let _watchdog = watchdog();
    quiet();
    for panics in PANICS {
        for end in ENDS {
            let drops = Rc::new(Cell::new(0));
            let executor = LocalExecutor::new();
            let sibling = executor.spawn(async {
                yield_now().await;
                5
            });
            let mut task = spawn(&executor, panics, &drops);
            let run_all = || while executor.try_tick() {};
            let between = || {
                executor.try_tick();
                executor.try_tick();
            };
            let context = format!("{panics:?}, {end:?}");
            match end {
                End::Awaited => {
                    let thrown = catch_unwind(AssertUnwindSafe(|| block_on(executor.run(task))));
                    match thrown {
                        Ok(output) => {
                            assert_eq!(expected(panics), None, "{context}");
                            defuse(output);
                        }
                        Err(payload) => {
                            assert_eq!(expected(panics), Some(name(payload)), "{context}")
                        }
                    }
                }
                End::Taken => {
                    run_all();
                    assert!(task.is_finished());
                    match catch_unwind(AssertUnwindSafe(|| task.try_take())) {
                        Ok(output) => defuse(output.expect("it has ended")),
                        Err(payload) => {
                            assert_eq!(expected(panics), Some(name(payload)), "{context}")
                        }
                    }
                }
                End::DetachedBefore => {
                    task.detach();
                    run_all();
                }
                End::DetachedAfter => {
                    run_all();
                    task.detach();
                }
                End::DroppedBefore => drop(task),
                End::DroppedBetween => {
                    between();
                    drop(task);
                }
                End::DroppedAfter => {
                    run_all();
                    drop(task);
                }
                End::CancelledBetween => {
                    between();
                    let cancelled =
                        catch_unwind(AssertUnwindSafe(|| block_on(executor.run(task.cancel()))));
                    // A panic that came before the cancellation is delivered.
                    let early = matches!(panics, InPoll | InPollAndDestructor | WithChain);
                    assert_eq!(cancelled.is_err(), early, "{context}");
                    if let Err(payload) = cancelled {
                        terrace_local::drop_payload(payload);
                    }
                }
                End::ExecutorDroppedBefore | End::ExecutorDroppedBetween => {
                    if matches!(end, End::ExecutorDroppedBetween) {
                        between();
                    }
                    drop(executor);
                    drop(task);
                    drop(sibling);
                    assert_drops(panics, &drops, &context);
                    continue;
                }
            }
            assert_eq!(block_on(executor.run(sibling)), 5, "{context}");
            assert!(executor.is_empty(), "{context}");
            assert_drops(panics, &drops, &context);
        }
    }
}

/// Everything was dropped, and once.
fn assert_drops(panics: Panics, drops: &Cell<u32>, context: &str) {
    let bombs = match panics {
        InDestructor | InPollAndDestructor | InOutput => 1,
        InDestructorAndOutput => 2,
        Never | InPoll | InSecondPoll | WithChain => 0,
    };
    assert_eq!(drops.get(), bombs, "{context}");
}

/// A destructor that wakes and spawns siblings, while the executor is being dropped or not.
#[test]
fn destructors_may_use_the_executor() {
    let _watchdog = watchdog();
    struct Spawns(&'static terrace_local::StaticLocalExecutor, Rc<Cell<u32>>);
    impl Drop for Spawns {
        fn drop(&mut self) {
            let ran = self.1.clone();
            self.0.spawn(async move { ran.set(ran.get() + 1) }).detach();
            self.0.try_tick();
        }
    }
    let executor: &'static terrace_local::StaticLocalExecutor = Box::leak(Box::default());
    let ran = Rc::new(Cell::new(0));
    let in_future = Spawns(executor, ran.clone());
    let in_output = Spawns(executor, ran.clone());
    executor
        .spawn(async move {
            yield_now().await;
            drop(in_future);
            in_output
        })
        .detach();
    drop(executor.spawn(std::future::ready(Spawns(executor, ran.clone()))));
    while executor.try_tick() {}
    assert_eq!(ran.get(), 3);
}

/// Futures whose destructors wake each other while their executor is dropped.
#[test]
fn destructors_may_wake_siblings_during_the_drop() {
    let _watchdog = watchdog();
    struct Wakes(Rc<RefCell<Vec<std::task::Waker>>>, Rc<Cell<u32>>);
    impl Drop for Wakes {
        fn drop(&mut self) {
            let wakers = self.0.borrow().clone();
            for waker in wakers {
                waker.wake();
            }
            self.1.set(self.1.get() + 1);
        }
    }
    let wakers = Rc::<RefCell<Vec<_>>>::default();
    let dropped = Rc::new(Cell::new(0));
    let executor = LocalExecutor::new();
    let slots: Vec<_> = (0..10).map(|_| WakerSlot::default()).collect();
    for slot in &slots {
        let (slot, wakes) = (slot.clone(), Wakes(wakers.clone(), dropped.clone()));
        executor
            .spawn(async move {
                slot.forever::<()>().await;
                drop(wakes);
            })
            .detach();
    }
    while executor.try_tick() {}
    wakers
        .borrow_mut()
        .extend(slots.iter().map(WakerSlot::waker));
    drop(executor);
    assert_eq!(dropped.get(), 10);
}

/// A task that is cancelled between its wake and its poll is not polled again.
#[test]
fn cancelled_between_wake_and_poll() {
    let _watchdog = watchdog();
    let polls = Cell::new(0);
    let executor = LocalExecutor::new();
    let slot = WakerSlot::default();
    let task = executor.spawn({
        let (slot, polls) = (slot.clone(), &polls);
        async move {
            polls.set(1);
            slot.pause().await;
            polls.set(2);
        }
    });
    assert!(executor.try_tick());
    slot.waker().wake();
    drop(task);
    assert!(executor.try_tick());
    assert!(!executor.try_tick());
    assert_eq!(polls.get(), 1);
}
