//! Failures, cancellation, and every way to let go of a group.

use std::cell::Cell;
use std::future::{Future, pending, ready};
use std::panic::panic_any;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::thread;

use futures_lite::future::{block_on, yield_now};
use terrace_local::{LocalExecutor, TaskGroup};
use terrace_testing::{Drops, Wakes, text_of, watchdog};

use crate::{Group, on_each_kind, poll_with};

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
    let error = bomb();
    let mut group = TaskGroup::<_, Bomb, Bomb>::new(&executor);
    group.spawn_eager(async move { Err(error) });
    assert!(!group.is_empty(), "nobody has the error yet");
    drop(group);
    assert_eq!(count.get(), 7);
    assert!(executor.is_empty());
}
