//! Groups of tasks: results, failures, cancellation, and every way to let go of one.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::future::{Future, pending, poll_fn, ready};
use std::panic::panic_any;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::thread;

use futures_lite::future::{block_on, yield_now};
use terrace_local::{LocalExecutor, TaskGroup};
use terrace_testing::{Drops, WakerSlot, Wakes, text_of, watchdog};

type Group<'a, T, E = Infallible> = TaskGroup<&'a LocalExecutor<'static>, T, E>;

/// Runs `body` on an executor of each kind.
fn on_each_kind<F: Future>(body: impl Fn(&'static LocalExecutor<'static>) -> F) {
    let droppable: &'static LocalExecutor<'static> = Box::leak(Box::new(LocalExecutor::new()));
    block_on(droppable.run(body(droppable)));
    let leaked = LocalExecutor::new().leak();
    block_on(leaked.run(body(leaked)));
}

/// Polls a future once; a waker counts what it is woken for.
fn poll_with<F: Future>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}

#[test]
fn a_group_whose_children_are_done_does_not_suspend() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let mut group = Group::<u32>::new(&executor);
    for n in 0..40 {
        assert_eq!(group.spawn_eager(async move { Ok(n) }), n as usize);
    }
    let joined = poll_with(pin!(group.join_all()), Waker::noop());
    assert_eq!(joined, Poll::Ready(Ok((0..40).collect())));
    assert!(group.is_empty() && executor.is_empty());
    // A group that ended is as good as new, and so is an empty one.
    assert_eq!(group.spawn_eager(ready(Ok(7))), 0);
    assert_eq!(block_on(group.join_all()), Ok(vec![7]));
    assert_eq!(block_on(group.join_all()), Ok(vec![]));
    assert_eq!(block_on(group.next()), None);
}

/// Children that end in any order, most of them later: the values come in the order of the spawns.
#[test]
fn a_group_whose_queued_children_are_done_does_not_suspend() {
    for pending in [0, 1] {
        let executor = LocalExecutor::new();
        let mut group = Group::<u32>::new(&executor);
        for n in 0..5 {
            group.spawn(async move { Ok(n) });
        }
        for _ in pending..5 {
            assert!(executor.try_tick());
        }
        let mut all = pin!(group.join_all());
        let waker = Waker::noop();
        if pending > 0 {
            // One has not had its turn: the group lets it.
            assert!(poll_with(all.as_mut(), waker).is_pending());
            assert!(executor.try_tick());
        }
        let Poll::Ready(values) = poll_with(all.as_mut(), waker) else {
            panic!("all children are done");
        };
        assert_eq!(values, Ok(vec![0, 1, 2, 3, 4]));
    }
}

#[test]
fn values_come_in_order() {
    let _watchdog = watchdog();
    on_each_kind(async |executor| {
        for children in [1, 6, 15, 16, 17, 100] {
            let mut group = Group::<usize>::new(executor);
            for n in 0..children {
                let child = async move {
                    for _ in 0..n * 7 % 5 {
                        yield_now().await;
                    }
                    Ok(n)
                };
                match n % 3 {
                    0 => group.spawn(child),
                    1 => group.spawn_eager(child),
                    _ => group.spawn_shielded(child),
                };
            }
            let Ok(values) = group.join_all().await;
            assert_eq!(values, (0..children).collect::<Vec<_>>());
        }
    });
}

/// `next` has each value once, as the children end.
#[test]
fn values_come_as_children_end() {
    let _watchdog = watchdog();
    on_each_kind(async |executor| {
        let slots: Vec<_> = (0..40).map(|_| WakerSlot::default()).collect();
        let mut group = Group::<usize>::new(executor);
        for (n, slot) in slots.iter().enumerate() {
            let slot = slot.clone();
            group.spawn_eager(async move {
                slot.pause().await;
                Ok(100 + n)
            });
        }
        group.spawn_eager(ready(Ok(140)));
        assert_eq!(group.next().await, Some(Ok((40, 140))));
        for (n, slot) in slots.iter().enumerate().rev() {
            assert!(poll_with(pin!(group.next()), Waker::noop()).is_pending());
            slot.waker().wake();
            assert_eq!(group.next().await, Some(Ok((n, 100 + n))));
        }
        assert_eq!(group.next().await, None);
        assert!(group.is_empty());
    });
}

/// A task adds children to its group without end, and takes their values: the group keeps the running children alone.
#[test]
fn a_long_lived_group_stays_small() {
    let _watchdog = watchdog();
    on_each_kind(async |executor| {
        let mut group = Group::<usize>::new(executor);
        let drops = Drops::new();
        for round in 0..1_000 {
            let kept = drops.value();
            let expected = group.spawn(async move {
                let _kept = kept;
                yield_now().await;
                Ok(round)
            });
            if round % 2 == 0 {
                group.spawn_eager(ready(Ok(round)));
            }
            let mut left = 1 + usize::from(round % 2 == 0);
            let mut numbers = Vec::new();
            while left > 0 {
                let (number, value) = group.next().await.expect("a value").expect("no failure");
                assert_eq!(value, round);
                numbers.push(number);
                left -= 1;
            }
            assert!(numbers.contains(&expected));
        }
        assert_eq!(drops.count(), 1_000);
        assert_eq!(group.next().await, None);
    });
}

/// The first error cancels the others, and comes when their futures have been dropped.
#[test]
fn the_first_error_cancels_the_rest() {
    let _watchdog = watchdog();
    on_each_kind(async |executor| {
        for eager in [false, true] {
            for joins in [false, true] {
                let drops = Drops::new();
                let mut group = Group::<usize, &str>::new(executor);
                let waiting = |group: &mut Group<'_, usize, &'static str>| {
                    let kept = drops.value();
                    group.spawn_eager(async move {
                        let _kept = kept;
                        pending().await
                    })
                };
                waiting(&mut group);
                group.spawn_eager(ready(Ok(1)));
                if eager {
                    group.spawn_eager(ready(Err("first")));
                    // The group fails: a further child is dropped unpolled.
                    let kept = drops.value();
                    group.spawn(async move {
                        let _kept = kept;
                        unreachable!("never polled")
                    });
                    assert_eq!(drops.count(), 1);
                    group.spawn_eager(async { unreachable!("never polled") });
                } else {
                    group.spawn(async {
                        yield_now().await;
                        Err("first")
                    });
                    waiting(&mut group);
                    group.spawn(async {
                        yield_now().await;
                        Err("second")
                    });
                }
                let failure = if joins {
                    group.join_all().await.expect_err("it failed")
                } else if eager {
                    let failed = group.next().await.expect("a failure");
                    failed.expect_err("it failed")
                } else {
                    assert_eq!(group.next().await, Some(Ok((1, 1))));
                    let failed = group.next().await.expect("a failure");
                    failed.expect_err("it failed")
                };
                assert_eq!(failure, "first");
                assert_eq!(drops.count(), 2);
                assert!(group.is_empty());
                assert_eq!(group.next().await, None);
                group.spawn_eager(ready(Ok(5)));
                assert_eq!(group.join_all().await, Ok(vec![5]));
            }
        }
    });
}

/// The same for a panic, which reaches the caller once all have ended.
#[test]
fn the_first_panic_cancels_the_rest() {
    let _watchdog = watchdog();
    for eager in [false, true] {
        let executor = LocalExecutor::new();
        let drops = Drops::new();
        let mut group = Group::<(), &str>::new(&executor);
        let kept = drops.value();
        group.spawn_eager(async move {
            let _kept = kept;
            pending().await
        });
        if eager {
            group.spawn_eager(async { panic_any("panic") });
        } else {
            group.spawn(async { panic_any("panic") });
            group.spawn(async { Err("an error, later") });
        }
        assert_eq!(drops.count(), 0);
        let text = text_of(|| block_on(executor.run(group.join_all())));
        assert_eq!(text, "panic");
        assert_eq!(drops.count(), 1);
        assert!(group.is_empty());
        assert_eq!(block_on(group.join_all()), Ok(vec![]));
    }
}

#[test]
fn cancel_waits_for_the_end() {
    let _watchdog = watchdog();
    on_each_kind(async |executor| {
        let drops = Drops::new();
        let mut group = Group::<_, ()>::new(executor);
        let shielded = Rc::new(Cell::new(false));
        for _ in 0..20 {
            let kept = drops.value();
            group.spawn(async move {
                let _kept = kept;
                pending().await
            });
        }
        let value = drops.value();
        group.spawn_eager(async move { Ok(Some(value)) });
        let set = shielded.clone();
        group.spawn_shielded(async move {
            for _ in 0..5 {
                yield_now().await;
            }
            set.set(true);
            Ok(None)
        });
        yield_now().await;
        group.cancel().await;
        assert!(shielded.get());
        assert_eq!(drops.count(), 21);
        assert!(group.is_empty());
        group.cancel().await;
        group.spawn_eager(async { Ok(None) });
        assert_eq!(group.join_all().await.map(|values| values.len()), Ok(1));
    });
}

/// A `cancel` that is dropped in the middle goes on: `join_all` returns what was done.
#[test]
fn a_dropped_cancel_goes_on() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let drops = Drops::new();
    let mut group = Group::<u32, ()>::new(&executor);
    let kept = drops.value();
    group.spawn_eager(async move {
        let _kept = kept;
        pending().await
    });
    group.spawn_eager(ready(Ok(3)));
    assert_eq!(
        poll_with(pin!(group.cancel()), Waker::noop()),
        Poll::Pending
    );
    assert_eq!(block_on(executor.run(group.join_all())), Ok(vec![3]));
    assert_eq!(drops.count(), 1);
}

/// A group that is dropped in the middle: no poll of a child begins, but for shielded ones.
#[test]
fn a_dropped_group_cancels_its_children() {
    let _watchdog = watchdog();
    for polled in [false, true] {
        let executor = LocalExecutor::new();
        let (drops, polls) = (Drops::new(), Rc::new(Cell::new(0)));
        let child = || {
            let (kept, polls) = (drops.value(), polls.clone());
            async move {
                let _kept = kept;
                loop {
                    polls.set(polls.get() + 1);
                    yield_now().await;
                }
            }
        };
        let mut group = Group::<(), ()>::new(&executor);
        group.spawn(child());
        group.spawn_eager(child());
        let shielded = Rc::new(Cell::new(false));
        let set = shielded.clone();
        group.spawn_shielded(async move {
            yield_now().await;
            set.set(true);
            Ok(())
        });
        if polled {
            let wakes = Wakes::new();
            assert!(poll_with(pin!(group.join_all()), &wakes.waker()).is_pending());
        }
        assert_eq!(polls.get(), 1);
        drop(group);
        executor.run_until_stalled();
        assert_eq!((polls.get(), drops.count()), (1, 2));
        assert!(shielded.get() && executor.is_empty());
    }
}

/// A forgotten group: its children run on, and the executor's drop ends them.
#[test]
fn a_forgotten_group_is_sound() {
    let _watchdog = watchdog();
    let word = String::from("borrowed");
    let drops = Drops::new();
    let polls = Cell::new(0);
    {
        let executor = LocalExecutor::new();
        let mut group = TaskGroup::<_, usize, ()>::new(&executor);
        let (word, polls) = (&word, &polls);
        for _ in 0..3 {
            let kept = drops.value();
            group.spawn(async move {
                let _kept = kept;
                loop {
                    polls.set(polls.get() + word.len());
                    yield_now().await;
                }
            });
        }
        assert!(poll_with(pin!(group.join_all()), Waker::noop()).is_pending());
        std::mem::forget(group);
        for _ in 0..6 {
            assert!(executor.try_tick());
        }
    }
    assert_eq!((polls.get(), drops.count()), (6 * 8, 3));
}

/// The executor goes before the group: the group says so.
#[test]
fn the_executor_is_dropped_first() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let mut group = TaskGroup::<_, (), ()>::new(executor.spawner());
    group.spawn(pending());
    group.spawn_eager(pending());
    drop(executor);
    group.spawn(pending());
    let text = text_of(|| block_on(group.join_all()));
    assert!(text.contains("its executor dropped it"), "{text}");
    assert!(group.is_empty());
}

/// A tree of groups, each in a child of another: a failure at the bottom ends them all, and a drop of the top does.
#[test]
fn nested_groups() {
    fn tree(
        executor: &'static LocalExecutor<'static>,
        depth: u32,
        fails: bool,
        drops: Drops,
    ) -> Pin<Box<dyn Future<Output = Result<u32, u32>>>> {
        Box::pin(async move {
            let _kept = drops.value();
            if depth == 0 {
                yield_now().await;
                return if fails { Err(9) } else { Ok(1) };
            }
            let mut group = Group::<u32, u32>::new(executor);
            for n in 0..3 {
                let fails = fails && n == 2;
                group.spawn_eager(tree(executor, depth - 1, fails, drops.clone()));
            }
            let sums = group.join_all().await?;
            Ok(sums.into_iter().sum())
        })
    }

    let _watchdog = watchdog();
    on_each_kind(async |executor| {
        let all = 1 + 3 + 9 + 27 + 81;
        let drops = Drops::new();
        assert_eq!(tree(executor, 4, false, drops.clone()).await, Ok(81));
        assert_eq!(drops.count(), all);
        let drops = Drops::new();
        assert_eq!(tree(executor, 4, true, drops.clone()).await, Err(9));
        assert_eq!(drops.count(), all);
        let drops = Drops::new();
        let top = executor.spawn_eager(tree(executor, 4, false, drops.clone()));
        drop(top);
        while drops.count() < all {
            yield_now().await;
        }
        assert!(executor.is_empty());
    });
}

/// The group is polled by one task, then by another one; and by none when children end on their way.
#[test]
fn the_last_waker_is_woken() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let slots: Vec<_> = (0..40).map(|_| WakerSlot::default()).collect();
    let mut group = Group::<()>::new(&executor);
    for slot in &slots {
        let slot = slot.clone();
        group.spawn_eager(async move {
            slot.pause().await;
            Ok(())
        });
    }
    let (first, second) = (Wakes::new(), Wakes::new());
    {
        let mut join = pin!(group.join_all());
        assert!(poll_with(join.as_mut(), &first.waker()).is_pending());
        assert!(poll_with(join.as_mut(), &second.waker()).is_pending());
        slots[0].waker().wake();
        slots[39].waker().wake();
        executor.run_until_stalled();
        assert_eq!((first.count(), second.count()), (0, 2), "one a block");
        assert!(poll_with(join.as_mut(), &second.waker()).is_pending());
        for slot in &slots[1..39] {
            let waker = slot.waker();
            thread::spawn(|| waker.wake()).join().expect("wakes");
        }
        executor.run_until_stalled();
        assert_eq!(second.count(), 5, "once a block");
    }
    let joined = poll_with(pin!(group.join_all()), Waker::noop());
    assert_eq!(
        joined.map(|values| values.map(|all| all.len())),
        Poll::Ready(Ok(40))
    );
}

/// Destructors of values and errors that panic: the group has ended, and is empty.
#[test]
fn destructors_that_panic() {
    struct Bomb(Rc<Cell<u32>>);

    impl Drop for Bomb {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
            if !thread::panicking() {
                panic_any("destructor");
            }
        }
    }

    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let count = Rc::new(Cell::new(0));
    let mut group = TaskGroup::<_, Bomb, Bomb>::new(&executor);
    let bomb = || Bomb(count.clone());
    let value = bomb();
    group.spawn_eager(async move { Ok(value) });
    let (first, second) = (bomb(), bomb());
    group.spawn(async move { Err(first) });
    group.spawn(async move { Err(second) });
    let Err(error) = block_on(executor.run(group.join_all())) else {
        panic!("it failed");
    };
    assert_eq!(count.get(), 2, "the value and the second error");
    assert_eq!(text_of(|| drop(error)), "destructor");
    let value = bomb();
    group.spawn_eager(async move { Ok(value) });
    block_on(group.cancel());
    assert_eq!(count.get(), 4);
    let values = [bomb(), bomb()];
    for value in values {
        group.spawn_eager(async move { Ok(value) });
    }
    drop(group);
    assert_eq!(count.get(), 6);
    assert!(executor.is_empty());
}

/// Where a child is spawned eagerly, it is polled before the method returns; else it is not.
#[test]
fn children_are_polled_when_they_say() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let order = Rc::new(RefCell::new(Vec::new()));
    let note = |name: &'static str| {
        let order = order.clone();
        poll_fn(move |_| {
            order.borrow_mut().push(name);
            Poll::Ready(Ok(()))
        })
    };
    let mut group = Group::<()>::new(&executor);
    group.spawn(note("queued"));
    group.spawn_eager(note("eager"));
    assert_eq!(*order.borrow(), ["eager"]);
    let Ok(values) = block_on(executor.run(group.join_all()));
    assert_eq!(values.len(), 2);
    assert_eq!(*order.borrow(), ["eager", "queued"]);
}
