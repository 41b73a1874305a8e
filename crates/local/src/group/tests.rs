//! A task that goes on for long keeps no slots of others, and tasks keep their numbers.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::convert::Infallible;
use core::future::pending;
use core::pin::pin;
use core::task::{Context, Poll};

use terrace_testing::{Random, WakerSlot, Wakes, Yields, watchdog};

use super::block::CHILDREN;
use super::{TaskGroup, TaskSet};
use crate::executor::LocalExecutor;

type Set<'e, T> = TaskSet<&'e LocalExecutor<'static>, T>;

/// How many blocks of slots a list keeps, or of wakers.
fn blocks([slots, blocks]: [usize; 2]) -> usize {
    slots.div_ceil(CHILDREN).max(blocks)
}

/// Spawns a task that waits until its slot is woken, and returns its number then.
fn spawn_paused(set: &mut Set<'_, usize>, number: usize) -> (usize, WakerSlot) {
    let slot = WakerSlot::default();
    let pause = slot.clone();
    let spawned = set.spawn(async move {
        pause.pause().await;
        number
    });
    assert_eq!(spawned, number);
    (number, slot)
}

#[test]
fn a_task_that_goes_on_keeps_no_slots_of_others() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let mut set: Set<'_, usize> = TaskSet::new(&executor);
    let wakes = Wakes::new();
    let waker = wakes.waker();
    let context = &mut Context::from_waker(&waker);
    let goes_on = set.spawn(pending());
    for number in 1..=1_000 {
        set.spawn(async move {
            Yields(1).await;
            number
        });
        assert!(set.poll_join_next(context).is_pending());
        executor.run_until_stalled();
        let Poll::Ready(Some((found, Ok(output)))) = set.poll_join_next(context) else {
            panic!("task {number} has ended");
        };
        assert_eq!((found, output), (number, number));
        let kept = blocks(set.lengths());
        assert!(kept <= 4, "{number} tasks: {kept}");
    }
    assert!(set.abort(goes_on) && !set.abort(500) && !set.abort(usize::MAX));
    executor.run_until_stalled();
    assert!(set.poll_join_next(context).is_ready() && set.is_empty());
}

#[test]
fn a_child_that_goes_on_keeps_no_slots_of_others() {
    let _watchdog = watchdog();
    let executor = LocalExecutor::new();
    let mut group = TaskGroup::<_, usize, Infallible>::new(&executor);
    let wakes = Wakes::new();
    group.spawn(pending());
    for number in 1..=1_000 {
        group.spawn(async move {
            Yields(2).await;
            Ok(number)
        });
        let value = {
            let mut next = pin!(group.next());
            loop {
                if let Poll::Ready(value) = wakes.poll(next.as_mut()) {
                    break value;
                }
                executor.try_tick();
            }
        };
        assert_eq!(value, Some(Ok((number, number))));
        let kept = blocks(group.lengths());
        assert!(kept <= 3, "{number} children: {kept}");
    }
    drop(group);
    executor.run_until_stalled();
    assert!(executor.is_empty());
}

/// Thousands of tasks live at once, and end in random order.
#[test]
fn the_end_of_each_of_many_tasks_is_seen() {
    let _watchdog = watchdog();
    for seed in 0..6 {
        let mut random = Random::new(seed);
        let executor = LocalExecutor::new();
        let mut set: Set<'_, usize> = TaskSet::new(&executor);
        let wakes = Wakes::new();
        let waker = wakes.waker();
        let context = &mut Context::from_waker(&waker);
        let mut live = Vec::new();
        for number in 0..5_000 {
            live.push(spawn_paused(&mut set, number));
        }
        assert!(set.poll_join_next(context).is_pending());
        executor.run_until_stalled();
        let mut next = live.len();
        while !live.is_empty() {
            let before = wakes.count();
            let mut expected = Vec::new();
            for _ in 0..random.below(5) + 1 {
                if let Some(last) = live.len().checked_sub(1) {
                    live.swap(random.below(last + 1), last);
                    let (number, slot) = live.pop().expect("one is left");
                    slot.waker().wake();
                    expected.push(number);
                }
            }
            executor.run_until_stalled();
            let woken = wakes.count() - before;
            assert!(
                (1..=expected.len()).contains(&woken),
                "seed {seed}: {woken} wakes"
            );
            while let Poll::Ready(Some((number, output))) = set.poll_join_next(context) {
                assert_eq!(output.ok(), Some(number), "seed {seed}");
                expected.retain(|other| *other != number);
            }
            assert!(expected.is_empty(), "seed {seed}: {expected:?} left");
            assert_eq!(set.len(), live.len());
            if random.below(4) == 0 && next < 6_000 {
                live.push(spawn_paused(&mut set, next));
                next += 1;
                assert!(set.poll_join_next(context).is_pending());
                executor.run_until_stalled();
            }
        }
        assert!(blocks(set.lengths()) <= 1, "seed {seed}");
    }
}

#[test]
fn numbers_stay_where_slots_are_used_again() {
    let _watchdog = watchdog();
    for seed in 0..100 {
        let mut random = Random::new(seed);
        let executor = LocalExecutor::new();
        let mut set: Set<'_, usize> = TaskSet::new(&executor);
        let wakes = Wakes::new();
        let waker = wakes.waker();
        let context = &mut Context::from_waker(&waker);
        // Whether each task that has left no result so far was aborted.
        let mut left = BTreeMap::new();
        let mut next = 0;
        for step in 0..600 {
            if step < 400 {
                let life = if random.below(40) == 0 {
                    2_000
                } else {
                    random.below(30)
                };
                let number = next;
                next += 1;
                let future = async move {
                    Yields(life as u32).await;
                    number
                };
                let spawned = match random.below(4) {
                    0 => set.spawn_eager(future),
                    _ => set.spawn(future),
                };
                assert_eq!(spawned, number, "seed {seed}");
                left.insert(number, false);
            }
            if random.below(20) == 0 {
                let number = random.below(next);
                if set.abort(number) {
                    *left.get_mut(&number).expect("it has left no result") = true;
                }
            }
            for _ in 0..random.below(20) {
                executor.try_tick();
            }
            loop {
                let ended = match random.below(3) {
                    0 => set.try_join_next(),
                    _ => match set.poll_join_next(context) {
                        Poll::Ready(ended) => ended,
                        Poll::Pending => None,
                    },
                };
                let Some((number, result)) = ended else { break };
                let aborted = left.remove(&number).expect("each result comes once");
                match result {
                    Ok(output) => assert_eq!(output, number, "seed {seed}"),
                    Err(error) => assert!(aborted && error.is_cancelled(), "seed {seed}"),
                }
            }
            assert_eq!(set.len(), left.len(), "seed {seed}");
            if set.poll_join_next(context).is_pending() {
                assert!(blocks(set.lengths()) <= left.len() + 3, "seed {seed}");
            }
        }
        set.abort_all();
        executor.run_until_stalled();
        while set
            .try_join_next()
            .is_some_and(|(number, _)| left.remove(&number).is_some())
        {}
        assert!(set.is_empty() && left.is_empty(), "seed {seed}");
    }
}
