//! Groups of tasks: results, failures, cancellation, and every way to let go of one.

mod ends;

use std::cell::RefCell;
use std::convert::Infallible;
use std::future::{Future, pending, poll_fn, ready};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::thread;

use futures_lite::future::{block_on, yield_now};
use terrace_local::{LocalExecutor, TaskGroup};
use terrace_testing::{Drops, WakerSlot, Wakes, watchdog};

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

/// A task that has waited spawns another child in the same poll: it is woken for that one's value, too.
#[test]
fn a_spawn_behind_a_pending_poll_wakes() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let mut group = Group::<u32>::new(&executor);
    group.spawn_eager(pending());
    for eager in [false, true] {
        let wakes = Wakes::new();
        assert!(poll_with(pin!(group.next()), &wakes.waker()).is_pending());
        let number = match eager {
            true => group.spawn_eager(ready(Ok(7))),
            false => group.spawn(ready(Ok(7))),
        };
        executor.run_until_stalled();
        assert_eq!(wakes.count(), 1);
        let next = poll_with(pin!(group.next()), &wakes.waker());
        assert_eq!(next, Poll::Ready(Some(Ok((number, 7)))));
    }
    let wakes = Wakes::new();
    group.spawn_eager(ready(Ok(8)));
    let next = poll_with(pin!(group.next()), &wakes.waker());
    assert_eq!(next, Poll::Ready(Some(Ok((3, 8)))));
    group.spawn(ready(Ok(9)));
    assert_eq!(wakes.count(), 0, "nothing waits");
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
        assert_eq!((first.count(), second.count()), (0, 1), "one for both");
        assert!(poll_with(join.as_mut(), &second.waker()).is_pending());
        for slot in &slots[1..39] {
            let waker = slot.waker();
            thread::spawn(|| waker.wake()).join().expect("wakes");
        }
        executor.run_until_stalled();
        assert_eq!(second.count(), 2, "one for all");
    }
    let joined = poll_with(pin!(group.join_all()), Waker::noop());
    assert_eq!(
        joined.map(|values| values.map(|all| all.len())),
        Poll::Ready(Ok(40))
    );
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
